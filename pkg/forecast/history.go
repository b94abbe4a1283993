package forecast

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A Row is what one trial of the past took.
type Row struct {
	Run, Case, Variant string
	Verdict            eval.Verdict
	// Agent and User are the calls of their models. Those of a user are at most as
	// many as it says.
	Agent, User Took
	// MicroUSD of both, at the prices of the plan; nil when one is unknown.
	MicroUSD *int64
	// BusyMS is how long it kept a slot, without waits for providers.
	BusyMS float64
	// Judge is what judging it took; nil when no judge has spoken, or other ones than
	// the plan asks.
	Judge *Judged
}

// A Judged is what judging one trial took.
type Judged struct {
	Took
	MicroUSD *int64
	BusyMS   float64
}

// Took is what calls of a model took.
type Took struct {
	Calls, Input, Output int64
	ModelMS              float64
}

func (t Took) tokens() int64 { return t.Input + t.Output }

func took(calls int, u eval.Usage, ms float64) Took {
	return Took{Calls: int64(calls), Input: int64(u.Input), Output: int64(u.Output), ModelMS: ms}
}

// Source is the part of a store that history is read from.
type Source interface {
	store.Blobs
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
	Gradings(ctx context.Context, run string) ([]eval.Run, error)
	EachResult(ctx context.Context, run string, fn func(store.Row) error) error
}

const (
	// mostRuns and mostResults bound what is read of the past. Results come round by
	// round, so what is left out is left out of all cells alike.
	mostRuns    = 5
	mostResults = 20_000
)

// Read returns what trials of the same cells took in the last done runs of the
// suite, newest run first. Cells are the same when case, variant and the model that
// is asked have the same names; what judging took counts if the judges do.
func Read(ctx context.Context, s Source, snap eval.Snapshot, cases []eval.Case) ([]Row, error) {
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: snap.Suite})
	if err != nil {
		return nil, fmt.Errorf("read the history of suite %s: %w", snap.Suite, err)
	}
	r := reader{source: s, snap: snap, cases: cases, left: mostResults, wanted: map[[2]string]*cell{}}
	cells := cellsOf(snap, cases)
	for i, c := range cells {
		r.wanted[[2]string{c.kase.ID, c.variant.ID}] = &cells[i]
	}
	done := 0
	for _, run := range runs {
		if run.State != eval.RunDone || done == mostRuns || r.left == 0 {
			continue
		}
		done++
		if err := r.read(ctx, run); err != nil {
			return nil, fmt.Errorf("read the history of suite %s: run %s: %w", snap.Suite, run.ID, err)
		}
	}
	return r.rows, nil
}

// A reader gathers the rows of the past.
type reader struct {
	source Source
	snap   eval.Snapshot
	cases  []eval.Case
	// wanted are the cells of the plan, by case and variant.
	wanted map[[2]string]*cell
	rows   []Row
	left   int // results that may still be read
}

// errEnough ends the reading of results.
var errEnough = errors.New("enough results")

func (r *reader) read(ctx context.Context, run eval.Run) error {
	var then eval.Snapshot
	if err := blob.LoadJSON(ctx, r.source, run.Header, &then); err != nil {
		return err
	}
	past, err := r.same(ctx, then)
	if err != nil || len(past) == 0 {
		return err
	}
	order := eval.NewOrder(then.Plan)
	at := map[int]int{} // rows by ordinal
	err = r.source.EachResult(ctx, run.ID, func(row store.Row) error {
		if r.left == 0 {
			return errEnough
		}
		r.left--
		i, _, err := order.At(row.Ordinal)
		if err != nil {
			return err
		}
		c, known := past[i]
		if v := row.Result.Verdict; !known || v != eval.Pass && v != eval.Fail && v != eval.Unjudged {
			return nil // another cell, or cut short by the farm
		}
		at[row.Ordinal] = len(r.rows)
		r.rows = append(r.rows, c.row(run.ID, row.Result))
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return r.judged(ctx, run, past, order, at)
}

// judged adds what the run's own judges took. Later gradings may ask others, and
// are none of what a new run will do.
func (r *reader) judged(ctx context.Context, run eval.Run, past map[int]pastCell, order *eval.Order, at map[int]int) error {
	gradings, err := r.source.Gradings(ctx, run.ID)
	if err != nil || len(gradings) == 0 {
		return err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, r.source, gradings[0].Header, &snap); err != nil {
		return err
	}
	if g := snap.Grading; g == nil || *g != (eval.Grading{Run: run.ID}) {
		return nil
	}
	return r.source.EachResult(ctx, gradings[0].ID, func(row store.Row) error {
		i, there := at[row.Ordinal]
		if !there {
			return nil
		}
		cell, _, err := order.At(row.Ordinal)
		if err != nil {
			return err
		}
		r.rows[i].Judge = past[cell].judged(row.Result)
		return nil
	})
}

// A pastCell is a cell of a past run that the plan has too.
type pastCell struct {
	now, then cell
}

// same finds the cells of a past run that the plan has, by their index there.
func (r *reader) same(ctx context.Context, then eval.Snapshot) (map[int]pastCell, error) {
	known := map[string]int{} // cases of the plan by the sha256 of their blobs
	for i, ref := range r.snap.Cases {
		known[ref.Blob] = i
	}
	past := map[int]pastCell{}
	read := map[int]eval.Case{}
	for i, at := range then.Plan.Cells {
		ref, variant := then.Cases[at.Case], then.Variants[at.Variant]
		now := r.wanted[[2]string{ref.ID, variant.ID}]
		if now == nil || now.kase.Kind != ref.Kind {
			continue
		}
		c, there := read[at.Case]
		if n, same := known[ref.Blob]; !there && same {
			c = r.cases[n]
		} else if !there {
			if err := blob.LoadJSON(ctx, r.source, ref.Blob, &c); err != nil {
				return nil, err
			}
		}
		read[at.Case] = c
		if was := newCell(then, c, variant, at); was.agents() == now.agents() {
			past[i] = pastCell{now: *now, then: was}
		}
	}
	return past, nil
}

// row is what a result of the past took.
func (p pastCell) row(run string, r eval.Result) Row {
	row := Row{Run: run, Case: p.now.kase.ID, Variant: p.now.variant.ID, Verdict: r.Verdict, BusyMS: busy(r.Times)}
	if p.now.kase.Kind != eval.KindAgent {
		return row
	}
	row.Agent = took(r.Counts.Turns, r.Usage, r.Times.ModelMS)
	if len(p.now.asked) > 1 {
		row.User = took(min(r.Counts.Turns, p.now.userTurns()), r.UserUsage, r.Times.UserMS)
	}
	row.MicroUSD = r.CostMicroUSD
	if !slices.EqualFunc(p.then.asked, p.now.asked, samePrice) {
		row.MicroUSD = nil
		agent, known := priced(p.now.asked[0], r.Usage, row.Agent.Calls)
		user := int64(0)
		if known && len(p.now.asked) > 1 {
			user, known = priced(p.now.asked[1], r.UserUsage, row.User.Calls)
		}
		if known {
			row.MicroUSD = new(agent + user)
		}
	}
	return row
}

// judged is what judging a trial of the past took; nil when no judge has spoken, or
// others than the plan asks.
func (p pastCell) judged(r eval.Result) *Judged {
	if r.JudgeUsage.Total() == 0 || p.then.judgeNames() != p.now.judgeNames() {
		return nil
	}
	calls := 0
	for _, j := range p.now.judges {
		calls += j.calls
	}
	j := &Judged{Took: took(calls, r.JudgeUsage, r.Times.JudgeMS), MicroUSD: r.JudgeCostMicroUSD, BusyMS: busy(r.Times)}
	changed := func(now judging) bool {
		return slices.ContainsFunc(p.then.judges, func(was judging) bool {
			return nameOf(was.model) == nameOf(now.model) && !samePrice(was.model, now.model)
		})
	}
	if slices.ContainsFunc(p.now.judges, changed) {
		j.MicroUSD = nil
		first := p.now.judges[0].model
		// The tokens of different judges are one number, so nobody can price them apart.
		if cost, known := priced(first, r.JudgeUsage, j.Calls); known && p.now.oneJudge() {
			j.MicroUSD = &cost
		}
	}
	return j
}

// busy is how long a result kept a slot, without waits for providers.
func busy(t eval.Times) float64 { return max(0, t.TotalMS-t.LimiterMS-t.BackoffMS) }

// samePrice says whether what a model did cost is what it costs now. That is exact,
// which tokens priced anew are not.
func samePrice(then, now eval.Model) bool {
	return then.Free() == now.Free() && reflect.DeepEqual(then.Price, now.Price)
}

// priced is what calls of a model cost now, as if all had been alike.
func priced(m eval.Model, u eval.Usage, calls int64) (micro int64, known bool) {
	switch {
	case m.Free() || calls == 0:
		return 0, true
	case m.Price == nil:
		return 0, false
	}
	each := func(tokens int) int { return (tokens + int(calls) - 1) / int(calls) }
	return calls * m.Price.Cost(eval.Usage{
		Input: each(u.Input), CacheRead: each(u.CacheRead), CacheWrite: each(u.CacheWrite), CacheWrite1H: each(u.CacheWrite1H),
		Output: each(u.Output), Reasoning: each(u.Reasoning),
	}), true
}
