package chaos_test

import (
	"slices"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/chaos"
)

// A seed repeats a plan, and a fault alone what it did among others.
func TestPlan(t *testing.T) {
	lines := func(seed uint64, faults ...chaos.Fault) (all []string) {
		for _, s := range chaos.Plan(seed, 3, time.Second, faults...) {
			if s.At < 0.05 || s.At > 0.7 {
				t.Errorf("%s is not between 5 and 70 %%", s)
			}
			all = append(all, s.String())
		}
		return all
	}
	all := lines(1, chaos.Faults()...)
	if len(all) != 3*len(chaos.Faults()) {
		t.Errorf("%d steps, want 3 for each of %d faults", len(all), len(chaos.Faults()))
	}
	if again := lines(1, chaos.Faults()...); !slices.Equal(again, all) {
		t.Errorf("got %q and %q with one seed, want the same", all, again)
	}
	if other := lines(2, chaos.Faults()...); slices.Equal(other, all) {
		t.Errorf("two seeds make the same plan: %q", all)
	}
	for _, fault := range chaos.Faults() {
		for _, line := range lines(1, fault) {
			if !slices.Contains(all, line) {
				t.Errorf("alone there is %s, which is not among %q", line, all)
			}
		}
	}
}
