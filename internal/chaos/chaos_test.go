package chaos_test

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/chaos"
	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/pgtest"
	"github.com/evalfarm/evalfarm/pkg/cli"
)

var seedFlag = flag.Uint64("seed", 0, "repeat the plan of a test with this seed; 0 leaves it to the test")

// TestMain makes this binary the evalfarm command when it runs under that name.
func TestMain(m *testing.M) {
	if self, err := os.Executable(); err == nil && filepath.Base(self) == commandtest.Name {
		commandtest.Exit(cli.Main(cli.World()))
	}
	os.Exit(m.Run())
}

// seed of a test, which it prints: its own, unless another is asked for.
func seed(tb testing.TB, own uint64) uint64 {
	tb.Helper()
	s := cmp.Or(*seedFlag, own)
	tb.Logf("again with: go test ./internal/chaos -run '^%s$' -seed %d", tb.Name(), s)
	return s
}

// possible are the faults that a farm can have here; of the others it says why not.
func possible(tb testing.TB, f *chaos.Farm, faults []chaos.Fault) []chaos.Fault {
	tb.Helper()
	var can []chaos.Fault
	for _, fault := range faults {
		if lacks := f.Lacks(fault); lacks != "" {
			tb.Logf("not here: %s: %s", fault.Name, lacks)
			continue
		}
		can = append(can, fault)
	}
	return can
}

// Every fault that this machine can have, once and amid each other.
func TestChaos(t *testing.T) {
	const lease = 2 * time.Second
	trials := 240
	if underRace {
		trials = 120
	}
	plan := seed(t, 1) // the soak test draws one
	self := commandtest.Link(t)
	want := chaos.Undisturbed(t, self, trials)
	for _, tt := range []struct {
		name  string
		store func(testing.TB, ...string) *pgtest.Server
	}{
		{"sqlite", func(testing.TB, ...string) *pgtest.Server { return nil }},
		{"postgres", pgtest.Start},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits most of its time
			f := chaos.Start(t, chaos.Options{Command: self, Postgres: tt.store(t), Workers: 3, Slots: 4, Schedulers: 2, Lease: lease, Term: lease})
			f.Enqueue(trials)
			f.Disturb(trials, 10*time.Minute, chaos.Plan(plan, 1, lease, possible(t, f, chaos.Faults())...)...)
			f.Check(want)
		})
	}
}
