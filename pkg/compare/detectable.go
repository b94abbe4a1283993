package compare

import (
	"math"

	"github.com/evalfarm/evalfarm/pkg/stats"
)

// detectable says which drop the repeats of two arms would find with the power of 0.8,
// and how many repeats it takes to find one of the margin. Where no two repeats
// disagreed, or nothing was repeated, nobody can tell.
func detectable(base, head []stats.Case, o Options) (mde *float64, repeats int) {
	a, b := variance(base), variance(head)
	if math.IsNaN(a) { // an arm that was not repeated is taken to be like the other
		a = b
	}
	if math.IsNaN(b) {
		b = a
	}
	if !(a+b > 0) {
		return nil, 0
	}
	design := stats.Design{Cases: len(base), Alpha: o.Alpha, Power: power}
	// The variance of a cell's mean is that of one repeat, spread over its repeats.
	mde = known(design.MDE(a*spread(base), b*spread(head), 1))
	return mde, max(2, int(math.Ceil(design.RequiredRepeats((a+b)/2, o.Margin))))
}

// variance of one repeat, on average over the cells that were repeated; NaN without any.
func variance(cases []stats.Case) float64 {
	return average(cases, func(c stats.Case) float64 { return c.Variance })
}

// spread is the part of the variance that is left over in a cell's mean.
func spread(cases []stats.Case) float64 {
	return average(cases, func(c stats.Case) float64 { return 1 / float64(c.Repeats) })
}

func average(cases []stats.Case, of func(stats.Case) float64) float64 {
	values := make([]stats.Case, len(cases))
	for i, c := range cases {
		values[i] = stats.Case{Repeats: c.Repeats, Mean: of(c)}
	}
	return stats.Macro(values)
}
