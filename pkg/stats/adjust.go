package stats

import (
	"cmp"
	"math"
	"slices"
)

// Bonferroni, Holm, BenjaminiHochberg and BenjaminiYekutieli adjust the p-values of
// several tests for how many there are, in the order in which they are given: one is
// significant at α when the adjusted one is at most α. A NaN, of what could not be
// tested, stays NaN and does not count. All lie in [0, 1].

// Bonferroni multiplies by the number of tests m. It bounds the chance of any false
// discovery; [Holm] does so too and finds more.
func Bonferroni(p []float64) []float64 {
	return adjust(p, func(m, rank int) float64 { return float64(m) }, upwards)
}

// Holm bounds the chance of any false discovery, for a list that fails a build (Holm
// 1979): the p-value of rank r times m-r+1, and no less than those before it.
func Holm(p []float64) []float64 {
	return adjust(p, func(m, rank int) float64 { return float64(m - rank + 1) }, upwards)
}

// BenjaminiHochberg bounds the expected share of false ones among the discoveries, for
// a list of suspects (Benjamini and Hochberg 1995): the p-value of rank r times m/r,
// and no more than those after it.
func BenjaminiHochberg(p []float64) []float64 {
	return adjust(p, func(m, rank int) float64 { return float64(m) / float64(rank) }, downwards)
}

// BenjaminiYekutieli is [BenjaminiHochberg] for tests that depend on each other in any
// way (Benjamini and Yekutieli 2001): times Σ 1/i more.
func BenjaminiYekutieli(p []float64) []float64 {
	var harmonic, tests float64
	for _, x := range p {
		if !math.IsNaN(x) {
			tests++
			harmonic += 1 / tests
		}
	}
	return adjust(p, func(m, rank int) float64 { return harmonic * float64(m) / float64(rank) }, downwards)
}

// direction is from where adjusted p-values are made to follow each other.
type direction bool

const (
	upwards   direction = true  // none is less than one before it
	downwards direction = false // none is more than one after it
)

// adjust multiplies each p-value by a factor of its rank among the m that there are.
func adjust(p []float64, factor func(m, rank int) float64, from direction) []float64 {
	out := slices.Clone(p)
	var order []int
	for i := range p {
		if !math.IsNaN(p[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	for at, i := range order {
		out[i] = min(1, p[i]*factor(len(order), at+1))
	}
	if from == upwards {
		for at := 1; at < len(order); at++ {
			out[order[at]] = max(out[order[at]], out[order[at-1]])
		}
	} else {
		for at := len(order) - 2; at >= 0; at-- {
			out[order[at]] = min(out[order[at]], out[order[at+1]])
		}
	}
	return out
}
