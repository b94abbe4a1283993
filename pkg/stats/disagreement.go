package stats

import (
	"maps"
	"math"
	"slices"
)

// Disagreement is the share of pairs of repeats of which one passed and one
// failed, for c passes in n: 2c(n-c)/(n(n-1)). It is the unbiased estimate of
// 2p(1-p), in [0, 1] and 0 when all repeats agree. With fewer than two repeats
// it is NaN.
func Disagreement(c, n int) float64 {
	if n < 2 {
		return math.NaN()
	}
	return 2 * float64(c) * float64(n-c) / (float64(n) * float64(n-1))
}

// TARAtK is the total agreement rate at k: the chance that k of the repeats,
// drawn without putting any back, all have the same label, Σ C(n_v, k)/C(n, k)
// over the labels v. At k = n it is the all-or-nothing rate of Atil et al.
// (2024). It lies in [0, 1]; with fewer than k repeats, or k < 1, it is NaN.
func TARAtK[Label comparable](labels []Label, k int) float64 {
	if k < 1 || len(labels) < k {
		return math.NaN()
	}
	counts := map[Label]int{}
	for _, label := range labels {
		counts[label]++
	}
	var sum float64
	for _, n := range slices.Sorted(maps.Values(counts)) {
		chance := 1.0
		for i := range k {
			chance *= float64(max(0, n-i)) / float64(len(labels)-i)
		}
		sum += chance
	}
	return sum
}
