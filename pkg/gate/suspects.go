package gate

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Suspects are the indexes of the cells that look worse than the baseline by two
// thirds of their repeats or more. It is no verdict: with few repeats nothing can be
// told of one cell among many, so they are worth fresh repeats. Without a history to
// compare those with, there are none.
func Suspects(s eval.Summary, snap eval.Snapshot, arms Arms) []int {
	if arms.Base == nil || arms.History == nil {
		return nil
	}
	base := map[string]eval.ArmCell{}
	for _, c := range arms.Base.Cells {
		base[c.Key()] = c
	}
	var cells []int
	var pairs []stats.Pair
	for i, c := range eval.NewArm(snap, s).Cells {
		if b, ok := base[c.Key()]; ok && c.Kind == eval.KindAgent {
			cells = append(cells, i)
			pairs = append(pairs, stats.Pair{Base: count(b.Counts), Head: count(c.Counts)})
		}
	}
	var suspects []int
	for _, i := range stats.Screen(pairs, 2, 3) {
		suspects = append(suspects, cells[i])
	}
	return suspects
}

// count is what tests are made of: trials without a verdict are not in it.
func count(c eval.VerdictCounts) stats.Count {
	return stats.Count{Passed: c.Pass, Trials: c.Pass + c.Fail}
}
