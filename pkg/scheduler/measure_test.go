package scheduler_test

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// TestTrialsAreCountedAsTheSummaryDoes has trials that pass, that nobody begins, and
// that wait for a judge in vain, over two schedulers, of which the second is handed
// again what the first has stored.
func TestTrialsAreCountedAsTheSummaryDoes(t *testing.T) {
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	metrics, before := telemetrytest.NewMeter(t)
	var run eval.Run
	var js []jobs.Job
	t.Run("first", func(t *testing.T) { // its scheduler ends with it
		b := setupOver(t, s, scheduler.Options{Metrics: metrics})
		run = b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 20, agentCase("a", "paid", dollars(2000), judged("paid")))
		b.adopt(run)
		js = b.out(b.queue, run.ID, 6)
		b.opens(js[0], 2000)
		b.passes(js[1], 500)
		b.passes(js[1], 500) // it came again
		b.eventually("the standing shows what is left", func() bool {
			s, err := b.sched.Standing(t.Context())
			return err == nil && s.Runs == 1 && s.Results == 2 && s.Undecided == 0 && s.Budgets[run.ID] == 12_000-2000-500-4*2000
		})
	})
	metrics, after := telemetrytest.NewMeter(t)
	b := setupOver(t, s, scheduler.Options{Metrics: metrics})
	b.passes(js[1], 500)
	b.adopt(run)
	b.opens(js[2], 2000)
	for _, j := range js[3:] {
		b.passes(j, 500)
	}
	summary := b.exhausted(run, eval.ShortOfMoney)
	if c := summary.Counts; c.Pass != 4 || c.Unjudged != 2 || c.Unfinished != 14 {
		t.Fatalf("got %+v, want 4 pass, 2 unjudged and 14 unfinished", c)
	}
	for _, tt := range []struct {
		name  string
		meter *telemetrytest.Meter
		want  map[string]float64
	}{
		{"evalfarm.trials", before, map[string]float64{"reason=,verdict=pass": 1}},
		{"evalfarm.attempts", before, map[string]float64{"lane=trials,outcome=done": 2}},
		{"evalfarm.trials", after, map[string]float64{"reason=,verdict=pass": 3, "reason=awaiting_judge,verdict=unjudged": 2, "reason=budget,verdict=unfinished": 14}},
		{"evalfarm.attempts", after, map[string]float64{"lane=trials,outcome=done": 4}},
		{"evalfarm.runs", after, map[string]float64{"outcome=budget_exhausted": 1}},
	} {
		if got := tt.meter.Series(tt.name); !maps.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
