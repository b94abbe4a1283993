package stats

import "math"

// Percentile is the value at percentile num/den (95/100, 999/1000) of sorted
// values, by nearest rank: the smallest value that at least that share of the
// values does not exceed (Hyndman and Fan's type 1). It is always a value that
// was observed.
//
// The rank is computed in integers, because math.Ceil(0.55*100) is 56.
//
// The values must be in the order of [slices.Sort], which puts NaNs first; they
// are left out. With no values the percentile is NaN.
func Percentile(sorted []float64, num, den int) float64 {
	for len(sorted) > 0 && math.IsNaN(sorted[0]) {
		sorted = sorted[1:]
	}
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	rank := (num*n + den - 1) / den
	return sorted[min(max(rank, 1), n)-1]
}
