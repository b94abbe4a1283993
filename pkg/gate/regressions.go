package gate

import (
	"fmt"
	"math"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// regressions decides whether the run passes less often than the baseline over the
// same cells, by more than the margin. A cell that fresh repeats have confirmed to be
// worse fails it whatever all cells together say.
func (g *sitting) regressions(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, fmt.Sprintf("difference of two Repeatability arms (MOVER; Bonett-Price for single trials), one-sided level %.4g, margin %g", c.level, c.Margin))
	pairs := g.pairs(c, r)
	if len(pairs) == 0 {
		return
	}
	missing := 0
	var decisions [3]eval.Decision
	var known stats.Interval
	for _, how := range []guess{leftOut, allFail, allPass} {
		var base, head []stats.Case
		for _, p := range pairs {
			b, h := tallyOf(p.Base.Counts).as(leftOut), tallyOf(p.Head.Counts)
			base = append(base, stats.Passed(b.Passed, b.Trials))
			n := h.as(how)
			head = append(head, stats.Passed(n.Passed, n.Trials))
			if how == leftOut {
				missing += h.missing
				r.N += h.judged
			}
		}
		ci := stats.Difference(base, head, c.level)
		if how == leftOut {
			known = ci
			show(r, ci)
		}
		decisions[how] = eval.Decision(stats.Decide(ci, c.Margin))
	}
	var open bool
	r.Decision, open = settled(decisions[leftOut], decisions[allFail], decisions[allPass])
	r.Message = fmt.Sprintf("%s: pass rate %+.3g against run %s%s, want no more than %g below", c.narrowed(), known.Point, g.arms.Base.Run, between(r), c.Margin)
	switch {
	case math.IsNaN(known.Point):
		r.Message = fmt.Sprintf("%s: in no complete round has a cell passed or failed that run %s has too", c.narrowed(), g.arms.Base.Run)
	case open:
		r.Message += fmt.Sprintf(": %d trials without a verdict could decide it either way", missing)
	case r.Decision == eval.DecisionInconclusive:
		r.Message += ": too little is known"
	case r.Decision == eval.DecisionPass && known.High < 0:
		r.Message += ": significantly worse but within tolerance"
	}
	g.confirmed(c, r)
}

// confirmed puts the fresh repeats of suspects to the rule.
func (g *sitting) confirmed(c claim, r *eval.RuleResult) {
	suspects := map[string]string{} // what is shown, by key
	var order []string
	in := map[int]bool{}
	for _, i := range g.cells(c) {
		in[i] = true
	}
	for _, i := range g.suspects() {
		if in[i] {
			key := keyOf(g.s.Cells[i])
			suspects[key] = eval.InVariant(g.s.Cells[i].Case, g.s.Cells[i].Variant)
			order = append(order, key)
		}
	}
	if len(suspects) == 0 {
		return
	}
	var worse []string
	if g.arms.Fresh != nil {
		tried := compare.Match(*g.arms.History, *g.arms.Fresh).Where(func(p compare.Pair) bool { return suspects[p.Head.Key()] != "" })
		for i, p := range stats.Confirm(tried.Counts()) {
			pair := tried.Pairs[i]
			n := pair.Counts()
			r.Details = append(r.Details, fmt.Sprintf("%s: %d/%d fresh repeats pass, %d/%d in the history: p %.3g by Fisher and Holm, at most %.4g confirms it",
				suspects[pair.Head.Key()], n.Head.Passed, n.Head.Trials, n.Base.Passed, n.Base.Trials, p, c.level))
			if p <= c.level {
				worse = append(worse, suspects[pair.Head.Key()])
				delete(suspects, pair.Head.Key())
			}
		}
	}
	if len(worse) > 0 {
		r.Decision = eval.DecisionFail
		r.Message += "; fresh repeats confirm that " + strings.Join(worse, ", ") + " got worse"
	}
	var left []string
	for _, key := range order {
		if suspects[key] != "" {
			left = append(left, suspects[key])
		}
	}
	if len(left) > 0 {
		r.Message += "; not confirmed and no reason to fail: " + strings.Join(left, ", ") + " looked worse"
	}
}
