package aggregate

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Agreement is Gwet's AC1 of a judge with humans, with the interval that [Calibrate]
// gives it. It is null of no items.
func Agreement(items []Labelled) eval.Estimate {
	return interval(agree(confusion(items)).AC1)
}

// A table has what humans said in rows and what the judge did in columns: fail, pass.
type table [2][2]int

func confusion(items []Labelled) (t table) {
	for _, item := range items {
		t[index(item.Human)][index(item.Judge)]++
	}
	return t
}

func agree(t table) stats.Agreement {
	return stats.Agree([][]int{t[0][:], t[1][:]}, confidence)
}
