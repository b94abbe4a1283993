package gate

import (
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// agreement decides how far the judge must agree with people, by the reviews of the run
// or of an earlier one that was judged alike.
func (g *sitting) agreement(c claim, r *eval.RuleResult) {
	judged := func(cell eval.Cell) bool { return len(g.snap.Cases[cell.Case].Judges) > 0 }
	if !slices.ContainsFunc(g.snap.Plan.Cells, judged) {
		r.Decision, r.Message = eval.DecisionNone, r.Title+": the run has no case that a judge decides"
		return
	}
	r.Details = append(r.Details, "Gwet's AC1 with its 95 % interval, that of judge calibrate; alpha does not change it")
	a := g.snap.Agreement
	if a == nil || a.AC1.Value == nil || a.AC1.Low == nil || a.AC1.High == nil {
		g.unknown(r, fmt.Sprintf("%s: nobody has reviewed it; evalfarm review %s --all --reviewer NAME", r.Title, g.s.Run))
		r.Details = append(r.Details, "no reviews of this run, nor, when it was made, of an earlier one that was judged alike")
		return
	}
	r.N, r.Level = a.N, 0.025
	r.Details = append(r.Details, fmt.Sprintf("%d checks that a person and the judge have decided, in run %s", a.N, a.Run))
	ci := stats.Interval{Point: *a.AC1.Value, Low: *a.AC1.Low, High: *a.AC1.High}
	show(r, ci)
	r.Decision = compareWith(ci, c.Rule)
	r.Message = fmt.Sprintf("%s: %s %s%s, of %s, want %s",
		c.narrowed(), c.Metric, amount(c.Rule, ci.Point), between(r), plural(a.N, "reviewed check"), want(c.Rule))
	if r.Decision == eval.DecisionInconclusive {
		r.Message += ": too little is known"
		r.Details = append(r.Details, fmt.Sprintf("more reviews tell more: evalfarm review %s --all --reviewer NAME", g.s.Run))
	}
}
