package forecast

import (
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

const (
	// alpha and power are those of a gate.
	alpha, power = 0.05, 0.8
	// assumed is the mean variance within a case of a suite like tau-bench, which is
	// taken where no history tells another one.
	assumed = 0.119
)

// shows is what difference so many repeats of every agent's cell show; nil for none.
func (f *forecast) shows(repeats int) *eval.Detectable {
	all := f.agents()
	if all == 0 || repeats < 1 {
		return nil
	}
	variance, told := f.variance()
	d := eval.Detectable{Repeats: repeats, Alpha: alpha, Power: power, Disagreement: 2 * variance, Cells: told}
	between := func(cells int) float64 {
		return min(1, stats.Design{Cases: cells, Alpha: alpha, Power: power}.MDE(variance, variance, repeats))
	}
	d.Runs = between(all)
	// The smaller of two variants says what they can show.
	by := map[string]int{}
	for _, c := range f.cells {
		if c.kase.Kind == eval.KindAgent {
			by[c.variant.ID]++
		}
	}
	if len(by) > 1 {
		fewest := all
		for _, n := range by {
			fewest = min(fewest, n)
		}
		d.Variants = new(between(fewest))
	}
	return &d
}

// variance is the mean of p(1-p) over cells, half of the disagreement of their
// repeats, and how many cells have told it. Where no two repeats ever disagreed it
// would be nothing, and any difference could be shown; but few repeats cannot tell
// that, so it is assumed then too.
func (f *forecast) variance() (variance float64, told int) {
	var sum float64
	for i, c := range f.cells {
		if c.kase.Kind != eval.KindAgent {
			continue
		}
		passed, n := 0, 0
		for _, row := range f.rows[i] {
			switch row.Verdict {
			case eval.Pass:
				passed++
				n++
			case eval.Fail:
				n++
			case eval.Error, eval.Unjudged, eval.Unfinished, eval.Skipped:
			}
		}
		if d := stats.Disagreement(passed, n); !math.IsNaN(d) {
			sum += d / 2
			told++
		}
	}
	if sum == 0 {
		return assumed, 0
	}
	return sum / float64(told), told
}
