//go:build soak

package cli_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// The promise at its full size: 5,000 trials, killed three times.
func TestSoakKilledRun(t *testing.T) { testKilledRun(t, 100) }

func TestSoakConfiguredRate(t *testing.T) {
	if got := rated(t, 400, 2, ", rate: {requests_per_minute: 600}", false); got.RateLimited != 0 {
		t.Errorf("%d of %d calls were refused, want none", got.RateLimited, got.Calls)
	}
}

// At most one call in fifty is spent on finding out what a provider allows.
func TestSoakUnknownRate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent bool
	}{
		{"told in headers", false},
		{"never told", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rated(t, 1500, 8, "", tt.silent); refusedShare(got) > 0.02 {
				t.Errorf("%d of %d calls were refused, want at most 2 %%", got.RateLimited, got.Calls)
			}
		})
	}
}

func TestSoakPauseInEveryForm(t *testing.T) {
	pausedFarm(t, 250, "30=7s/seconds", "65=7s/float", "100=7s/http-date", "135=7s/ms", "170=7s/reset-headers", "205=7s/retry-info")
}

// Trials that have not begun are given back when they would have to wait for long,
// without an attempt. The run goes on after that.
func TestSoakLongPauseGivesTrialsBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(s *shop, suite string) (run *process, hands []*process)
	}{
		{"embedded", func(s *shop, suite string) (*process, []*process) {
			return s.start("run", suite, "-n", "4", "-j", "8", "--json", "--progress", "none"), nil
		}},
		{"four workers", func(s *shop, suite string) (*process, []*process) {
			return staff(s, redistest.Start(s.t), 4, 2, "-n", "4", suite)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits
			s := newShop(t)
			p := provide(t, stub.Options{Latency: latency(t, "300ms"), Pauses: []stub.Pause{{Call: 12, Wait: 35 * time.Second}}})
			run, hands := tt.start(s, ratesSuite(s, p, 10, openai(", rate: {requests_per_minute: 6000}")))
			eventually(t, "no trial is with a worker", func() bool {
				if run.ended() {
					t.Fatalf("the run ended\n%s", run.errs.String())
				}
				paused := p.Stats().Pauses
				if len(paused) == 0 {
					return false
				}
				live := s.state().Live
				return live != nil && live.At.After(paused[0].At) && len(live.Running) == 0
			})
			conclude(s, run, hands, 0)
			s.atFirst(40)
			heeded(t, p.Stats(), 1, 40)
		})
	}
}

func TestSoakBudgetIsKeptWhateverIsKilled(t *testing.T) { budgetKilled(t, 2_400_000, 800_000) }

// Processes that die over and over spend no more than a cap either.
func TestSoakBudgetIsKeptOverManyKills(t *testing.T) {
	const limit = 2_000_000
	s := newShop(t)
	p := provide(t, stub.Options{Latency: latency(t, "uniform(200ms,800ms)")})
	run := s.start("run", costlySuite(s, paid(p), ""), "-n", "50", "-j", "16", "--lease", "2s", "--budget-usd", fmt.Sprint(limit/1e6), "--json", "--progress", "none")
	for range 6 {
		when := p.spent() + 100_000
		eventually(t, "some of the budget is spent", func() bool { return p.spent() >= when || run.ended() })
		run.kill()
		run = s.start("resume", "latest", "-j", "16", "--lease", "2s", "--json", "--progress", "none")
	}
	conclude(s, run, nil, 4)
	s.within(p, limit)
	l := s.state().Ledger
	t.Logf("the provider wants $%.3f; %+v", float64(p.spent())/1e6, l)
	if l.Charged.MicroUSD == 0 {
		t.Error("nothing was charged for what the kills cut off")
	}
}
