//go:build soak

package chaos_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/chaos"
	"github.com/evalfarm/evalfarm/internal/pgtest"
)

// The promise at its full size, under each fault alone and under all of them together:
// 3,000 trials of agents, three workers, two schedulers, PostgreSQL, a real Redis.
func TestSoakChaos(t *testing.T) {
	const trials, lease = 3000, 5 * time.Second
	plan := seed(t, rand.Uint64())
	self := chaos.BuildSkewed(t, "github.com/evalfarm/evalfarm/cmd/evalfarm")
	postgres := pgtest.Start(t)
	want := chaos.Undisturbed(t, self, trials)
	disturb := func(t *testing.T, times int, faults ...chaos.Fault) {
		f := chaos.Start(t, chaos.Options{
			Command: self, Skewable: true, Postgres: postgres, Workers: 3, Slots: 8, Schedulers: 2, Lease: lease, Term: 5 * time.Second, Outage: 40 * time.Second,
		})
		can := possible(t, f, faults)
		if len(can) == 0 {
			t.Skip("this machine cannot have it, as said above")
		}
		f.Enqueue(trials)
		f.Disturb(trials, 20*time.Minute, chaos.Plan(plan, times, lease, can...)...)
		f.Check(want)
		if len(faults) == 1 {
			f.Felt(faults[0])
		}
	}
	for _, fault := range chaos.Faults() {
		t.Run(fault.Name, func(t *testing.T) { disturb(t, 3, fault) })
	}
	t.Run("all of them together", func(t *testing.T) { disturb(t, 2, chaos.Faults()...) })
}
