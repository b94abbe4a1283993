package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A BudgetError says why a budget, or the cost limit of a trial, cannot be kept, so
// that nothing is begun.
type BudgetError struct{ Problems []string }

func (e *BudgetError) Error() string {
	return "budgets and limits cannot be kept: " + strings.Join(e.Problems, "; ")
}

// holdsOf works out, for each cell of a plan, which models its trials ask, and what one
// attempt may take at most. A
// trial's cost limit says so, or else its token limit at the dearest price of its
// models. What neither says stays zero, and money of those who ask free models only.
func holdsOf(snap eval.Snapshot, cases []eval.Case) {
	for i := range snap.Plan.Cells {
		cell := &snap.Plan.Cells[i]
		c := cases[cell.Case]
		if c.Kind != eval.KindAgent {
			continue
		}
		cell.Hold.Tokens = int64(c.Limits.Tokens)
		var models []eval.Model
		for _, name := range askedNames(snap, c, snap.Variants[cell.Variant]) {
			models = append(models, snap.Models[name])
			cell.Models = append(cell.Models, name)
		}
		if !slices.ContainsFunc(models, func(m eval.Model) bool { return !m.Free() }) {
			continue
		}
		cell.Hold.MicroUSD = c.Limits.CostMicroUSD
		if cell.Hold.MicroUSD == 0 && c.Limits.Tokens > 0 {
			for _, m := range models {
				if m.Price != nil {
					n := c.Limits.Tokens
					cell.Hold.MicroUSD = max(cell.Hold.MicroUSD, m.Price.Bound(n, 0), m.Price.Bound(0, n))
				}
			}
		}
	}
}

// asked lists the models that a trial of an agent case asks, without judges.
func asked(snap eval.Snapshot, c eval.Case, v eval.Variant) []eval.Model {
	var models []eval.Model
	for _, name := range askedNames(snap, c, v) {
		models = append(models, snap.Models[name])
	}
	return models
}

// askedNames lists them by their names, each once.
func askedNames(snap eval.Snapshot, c eval.Case, v eval.Variant) []string {
	names := slices.DeleteFunc(c.Models(v), func(name string) bool {
		_, there := snap.Models[name]
		return !there
	})
	return slices.Compact(names)
}

// checkBudget finds what keeps the caps of a run, or the cost limits of its trials,
// from being kept: models that nobody knows the price of, and trials that nothing
// bounds. Of a grading, only judges cost something.
func checkBudget(run eval.Run, snap eval.Snapshot, cases []eval.Case) error {
	money, own := run.CapsMoney(), run.Own()
	var problems []string
	seen := map[string]bool{}
	report := func(problem string) {
		if !seen[problem] {
			seen[problem] = true
			problems = append(problems, problem)
		}
	}
	price := func(m eval.Model, needed bool) {
		if needed && !m.Free() && m.Price == nil {
			report(cmp.Or(m.PriceHint, "nobody knows the price of the model "+m.Model))
		}
	}
	for _, cell := range snap.Plan.Cells {
		c := cases[cell.Case]
		if c.Kind != eval.KindAgent {
			continue
		}
		for _, check := range cmp.Or(snap.Grading, &eval.Grading{}).Checks(c) {
			price(snap.Models[check.Judge.Model], money)
		}
		if snap.Grading != nil {
			continue // its agents have run already
		}
		paid := false
		for _, m := range asked(snap, c, snap.Variants[cell.Variant]) {
			price(m, money || c.Limits.CostMicroUSD > 0)
			paid = paid || !m.Free()
		}
		hold := run.Hold(cell.Hold)
		switch {
		case paid && money && hold.MicroUSD == 0:
			report(fmt.Sprintf("nothing bounds what a trial of %s may cost; give it limits: {cost_usd: 0.10}, or {tokens: 50000}", c.ID))
		case own.Tokens > 0 && hold.Tokens == 0:
			report(fmt.Sprintf("nothing bounds how many tokens a trial of %s may take; give it limits: {tokens: 50000}", c.ID))
		case own.MicroUSD > 0 && hold.MicroUSD > own.MicroUSD:
			report(fmt.Sprintf("a trial of %s may cost %s, which is more than the whole budget of %s; lower its limits.cost_usd", c.ID, eval.USD(hold.MicroUSD), eval.USD(own.MicroUSD)))
		case run.DayMicroUSD > 0 && hold.MicroUSD > run.DayMicroUSD:
			report(fmt.Sprintf("a trial of %s may cost %s, which is more than all runs of a day may, %s; lower its limits.cost_usd", c.ID, eval.USD(hold.MicroUSD), eval.USD(run.DayMicroUSD)))
		case run.ScheduleMicroUSD > 0 && hold.MicroUSD > run.ScheduleMicroUSD:
			report(fmt.Sprintf("a trial of %s may cost %s, which is more than the schedule's whole budget of %s; lower its limits.cost_usd", c.ID, eval.USD(hold.MicroUSD), eval.USD(run.ScheduleMicroUSD)))
		case own.Tokens > 0 && hold.Tokens > own.Tokens:
			report(fmt.Sprintf("a trial of %s may take %d tokens, which is more than the whole budget of %d", c.ID, hold.Tokens, own.Tokens))
		}
	}
	if len(problems) > 0 {
		const most = 5
		if more := len(problems) - most; more > 0 {
			problems = append(problems[:most], fmt.Sprintf("and %d more", more))
		}
		return &BudgetError{problems}
	}
	return nil
}

// holdOf is what has to be held for an attempt before it begins.
func (s *Scheduler) holdOf(ctx context.Context, r *running, ordinal int, subject string) (eval.Amount, error) {
	if r.run.Hold(eval.Amount{MicroUSD: 1, Tokens: 1}) == (eval.Amount{}) {
		return eval.Amount{}, nil
	}
	cell, _, err := r.order.At(ordinal)
	if err != nil {
		return eval.Amount{}, err
	}
	at := r.snapshot.Plan.Cells[cell]
	if r.run.Parent == "" {
		return r.run.Hold(at.Hold), nil
	}
	hold, err := s.judgeHold(ctx, r.snapshot, r.snapshot.Cases[at.Case], subject)
	return r.run.Hold(hold), err
}

// judgePrompt bounds, in bytes, what stands around a rubric and a trajectory in the
// request to a judge.
const judgePrompt = 8 << 10

// judgeHold is the most that judging one trajectory can take: every vote reads all
// of it and says as much as it may.
func (s *Scheduler) judgeHold(ctx context.Context, snap eval.Snapshot, ref eval.CaseRef, subject string) (eval.Amount, error) {
	var c eval.Case
	if err := blob.LoadJSON(ctx, s.store, ref.Blob, &c); err != nil {
		return eval.Amount{}, fmt.Errorf("read case %s: %w", ref.ID, err)
	}
	var hold eval.Amount
	checks := snap.Grading.Checks(c)
	if len(checks) == 0 {
		return hold, nil
	}
	var tr eval.Trajectory
	switch err := blob.LoadJSON(ctx, s.store, subject, &tr); {
	case errors.Is(err, store.ErrNotFound): // nor will the worker find it
		return hold, nil
	case err != nil:
		return hold, fmt.Errorf("read the trajectory of a trial of %s: %w", ref.ID, err)
	}
	size := len(eval.Encode(tr))
	for _, check := range checks {
		j := check.Judge
		m := snap.Models[j.Model]
		calls, bytes := max(1, j.Votes), judgePrompt+size+len(j.Rubric)
		if j.Reference != "" {
			calls, bytes = 2*calls, bytes+2*len(j.Reference)
		}
		output := llm.Request{Sampling: m.Sampling}.MaxOutput()
		if m.Price != nil {
			hold.MicroUSD += int64(calls) * m.Price.Bound(bytes, output)
		}
		hold.Tokens += int64(calls) * int64(bytes+output)
	}
	return hold, nil
}
