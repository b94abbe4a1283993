package gate

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Suspects are the indexes of the cells that look worse than the baseline by two
// thirds of their repeats or more, as far as a rule on regressions is about them and
// they are in the gate. It is no verdict: with few repeats nothing can be told of one
// cell among many, so they are worth fresh repeats. Without a history to compare those
// with, there are none.
func Suspects(s eval.Summary, snap eval.Snapshot, arms Arms) []int {
	return newSitting(s, snap, arms).suspects()
}

func (g *sitting) suspects() []int {
	if g.arms.Base == nil || g.arms.History == nil {
		return nil
	}
	covered := map[string]int{}
	for _, c := range claims(g.snap, 0) {
		if c.Metric != eval.MetricRegressions {
			continue
		}
		for _, i := range g.cells(c) {
			covered[keyOf(g.s.Cells[i])] = i
		}
	}
	matched := g.matched().Where(func(p compare.Pair) bool {
		_, ok := covered[p.Head.Key()]
		return ok
	})
	var suspects []int
	for _, i := range stats.Screen(matched.Counts(), 2, 3) {
		suspects = append(suspects, covered[matched.Pairs[i].Head.Key()])
	}
	slices.Sort(suspects)
	return suspects
}

func keyOf(c eval.CellStats) string {
	return eval.ArmCell{Case: c.Case, Variant: c.Variant}.Key()
}
