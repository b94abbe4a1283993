package gate

import (
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// cost decides what a trial may cost on average, each cell counting the same: as it is
// against an amount, by an interval against the baseline.
func (g *sitting) cost(c claim, r *eval.RuleResult) {
	if c.Relative {
		g.costs(c, r)
		return
	}
	r.Details = append(r.Details, "the mean itself of what the trials of each cell cost")
	cells := g.cells(c)
	var sum float64
	for _, i := range cells {
		mean := g.s.Cells[i].CostMean
		if mean == nil {
			r.Message = fmt.Sprintf("%s: nobody knows what %s cost", r.Title, g.s.Cells[i].Case)
			return
		}
		sum += *mean
	}
	if len(cells) == 0 {
		r.Decision, r.Message = eval.DecisionNone, r.Title+": the run has no such case in the gate"
		return
	}
	mean := sum / float64(len(cells))
	r.N = len(cells)
	r.Value = &mean
	r.Decision = compareWith(stats.Interval{Point: mean, Low: mean, High: mean}, c.Rule)
	r.Message = fmt.Sprintf("%s: a trial cost %s on average, want %s", c.narrowed(), amount(c.Rule, mean), want(c.Rule))
}

// costs compares with the baseline, over the cells whose cost is known in both by the
// same prices.
func (g *sitting) costs(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, fmt.Sprintf("ratio of totals over cells (RatioOfMeans), one-sided level %.4g", c.level))
	pairs := g.pairs(c, r)
	if len(pairs) == 0 {
		return
	}
	var base, head []float64
	for _, p := range pairs {
		if p.CostComparable {
			base, head = append(base, *p.Base.MicroUSD), append(head, *p.Head.MicroUSD)
		}
	}
	if len(base) == 0 {
		g.missing(r, "no cell has a known cost in both runs, by the same prices")
		return
	}
	if !slices.ContainsFunc(base, func(micro float64) bool { return micro > 0 }) { // there is no ratio to nothing
		r.N, r.Decision = len(base), eval.DecisionPass
		r.Message = fmt.Sprintf("%s: cost_usd nothing in run %s and here, over %d cells, want %s", c.narrowed(), g.arms.Base.Run, len(base), want(c.Rule))
		if slices.ContainsFunc(head, func(micro float64) bool { return micro > 0 }) {
			r.Decision = eval.DecisionFail
			r.Message = fmt.Sprintf("%s: cost_usd nothing in run %s and something here, over %d cells, want %s", c.narrowed(), g.arms.Base.Run, len(base), want(c.Rule))
		}
		return
	}
	g.ratio(c, r, stats.RatioOfMeans(base, head, 1-2*c.level), len(base))
}
