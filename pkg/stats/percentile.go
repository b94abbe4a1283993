package stats

import (
	"math"
	"sort"
)

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
	sorted = withoutNaN(sorted)
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[PercentileRank(len(sorted), num, den)-1]
}

// PercentileRank is the rank, counted from 1, of the percentile num/den among n
// values: ⌈num·n/den⌉, and no less than 1.
func PercentileRank(n, num, den int) int {
	return min(max((num*n+den-1)/den, 1), n)
}

// PercentileInterval is [Percentile] with bounds that hold for any distribution:
// the values at the ranks of [PercentileRanks]. A bound for which there are too
// few values is infinite.
func PercentileInterval(sorted []float64, num, den int, confidence float64) Interval {
	sorted = withoutNaN(sorted)
	low, high, _ := PercentileRanks(len(sorted), num, den, confidence)
	ci := Interval{Point: Percentile(sorted, num, den), Low: math.Inf(-1), High: math.Inf(1)}
	if low >= 1 {
		ci.Low = sorted[low-1]
	}
	if high <= len(sorted) {
		ci.High = sorted[high-1]
	}
	return ci
}

// PercentileRanks are the ranks, counted from 1, of the two values out of n that
// hold the percentile num/den between them, and the chance with which they do:
// with B of Binomial(n, num/den), low is the largest rank with P(B < low) ≤ α/2 and
// high the smallest with P(B < high) ≥ 1-α/2, α being 1-confidence. A low of 0 or a
// high of n+1 means that n is too small for that bound.
func PercentileRanks(n, num, den int, confidence float64) (low, high int, coverage float64) {
	p := float64(num) / float64(den)
	below := func(rank int) float64 { return binomialAtMost(rank-1, n, p) }
	low = sort.Search(n+1, func(rank int) bool { return below(rank) > (1-confidence)/2 }) - 1
	high = sort.Search(n+1, func(rank int) bool { return below(rank) >= (1+confidence)/2 })
	return low, high, below(high) - below(low)
}

// ValuesForPercentile is how many values it takes until the largest of them is an
// upper bound of the percentile num/den, one-sided: ⌈ln(1-confidence)/ln(num/den)⌉,
// 59 for the 95th and 299 for the 99th at 0.95. The percentile of fewer values is
// hardly more than their maximum.
func ValuesForPercentile(num, den int, confidence float64) int {
	return int(math.Ceil(math.Log(1-confidence)/math.Log(float64(num)/float64(den)) - 1e-9))
}

func withoutNaN(sorted []float64) []float64 {
	for len(sorted) > 0 && math.IsNaN(sorted[0]) {
		sorted = sorted[1:]
	}
	return sorted
}
