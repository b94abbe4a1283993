package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// count counts a run that is done, with its trials that did not come to a verdict by
// a record: those that nobody began, and those that waited for a judge in vain.
func (s *Scheduler) count(ctx context.Context, r *running) {
	m, sum := s.opts.Metrics, r.summary
	if m == nil || r.run.Parent != "" {
		return
	}
	if r.run.Confirms == "" {
		m.Run(ctx, r.run.Outcome)
	}
	why := eval.ReasonBudget
	if r.run.Outcome == eval.OutcomeRunCancelled {
		why = eval.ReasonCancelled
	}
	m.Trials(ctx, eval.Unfinished, why, sum.Counts.Unfinished)
	for _, c := range sum.Causes {
		if c.Verdict == eval.Unjudged && c.Reason == eval.ReasonAwaitingJudge {
			m.Trials(ctx, c.Verdict, c.Reason, c.N)
		}
	}
}

// A Standing is how the runs under way stand.
type Standing struct {
	// Runs without gradings and without those that confirm others.
	Runs int
	// Trials and Judging are how many trials are dispatched and have no result.
	Trials, Judging int
	// Budgets of the runs that have a cap of money: what they may still spend, in
	// micro-dollars.
	Budgets map[string]int64
	// Day is what the tightest of the day's caps leaves; nil without one.
	Day *int64
	// Results that stand, and how many of them their judges left undecided.
	Results, Undecided int
}

// note keeps for Standing what only a round may look at, at most once a second.
func (s *Scheduler) note(runs []*running) {
	if s.opts.Metrics == nil || time.Since(s.noted) < time.Second {
		return
	}
	s.noted = time.Now()
	now := &noted{}
	for _, r := range runs {
		if out := len(r.dispatched()); r.run.Parent == "" {
			now.trials += out
			now.runs = append(now.runs, r.run)
		} else {
			now.judging += out
		}
	}
	s.last.Store(now)
}

// noted is how things stood after a round.
type noted struct {
	runs            []eval.Run // under way, without gradings
	trials, judging int        // that are dispatched
}

// Standing tells how the runs under way stand. It reads the store, and does not wait
// for a round.
func (s *Scheduler) Standing(ctx context.Context) (Standing, error) {
	last := s.last.Load()
	if last == nil {
		return Standing{}, nil
	}
	out := Standing{Trials: last.trials, Judging: last.judging, Budgets: map[string]int64{}}
	var most int64 // of the day
	for _, r := range last.runs {
		counts, err := s.store.Counts(ctx, r.ID)
		if err != nil {
			return out, fmt.Errorf("see how run %s stands: %w", r.ID, err)
		}
		out.Results += counts.Total()
		if r.Grading != "" {
			judged, err := s.store.Counts(ctx, r.Grading)
			if err != nil {
				return out, fmt.Errorf("see how grading %s stands: %w", r.Grading, err)
			}
			out.Undecided += judged.Unjudged
		}
		if r.Confirms != "" {
			continue // it is under the caps of the run that it confirms
		}
		out.Runs++
		if r.Budget.MicroUSD > 0 {
			ledger, err := s.store.Ledger(ctx, r.ID)
			if err != nil {
				return out, fmt.Errorf("see what run %s has left: %w", r.ID, err)
			}
			out.Budgets[r.ID] = max(0, r.Budget.MicroUSD-ledger.Total().MicroUSD)
		}
		if r.DayMicroUSD > 0 {
			most = min(cmp.Or(most, r.DayMicroUSD), r.DayMicroUSD)
		}
	}
	if most > 0 {
		day, err := s.store.Day(ctx)
		if err != nil {
			return out, fmt.Errorf("see what the day has left: %w", err)
		}
		out.Day = new(day.Left(most))
	}
	return out, nil
}

// Tell tells gauges of it.
func (s Standing) Tell(g *telemetry.Gauges) {
	g.Live(s.Runs)
	g.InFlight(telemetry.Trials, s.Trials)
	g.InFlight(telemetry.Judging, s.Judging)
	for run, left := range s.Budgets {
		g.Budget(run, left)
	}
	if s.Day != nil {
		g.Day(*s.Day)
	}
	share := 0.0
	if s.Results > 0 {
		share = float64(s.Undecided) / float64(s.Results)
	}
	g.Unjudged(share)
}
