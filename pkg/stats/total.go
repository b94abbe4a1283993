package stats

import (
	"math"
	"slices"
)

// residue is what sums of shares may leave of a zero: a tenth added ten times is
// not 1.
const residue = 1e-15

// total is the sum of the values, the same bits whatever their order, because
// they are added in order of size.
func total(xs []float64) float64 {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	var sum float64
	for _, x := range sorted {
		sum += x
	}
	return sum
}

func mean(xs []float64) float64 { return total(xs) / float64(len(xs)) }

// covariance is the unbiased one of a sample; variance is that with itself.
func covariance(xs, ys []float64) float64 {
	mx, my := mean(xs), mean(ys)
	products := make([]float64, len(xs))
	for i := range xs {
		products[i] = (xs[i] - mx) * (ys[i] - my)
	}
	return total(products) / float64(len(xs)-1)
}

func variance(xs []float64) float64 { return covariance(xs, xs) }

// standardError is that of the mean of a sample: NaN with fewer than two values,
// and 0 where only a residue is left.
func standardError(xs []float64) float64 {
	if len(xs) < 2 {
		return math.NaN()
	}
	return withoutResidue(math.Sqrt(variance(xs) / float64(len(xs))))
}

func withoutResidue(x float64) float64 {
	if math.Abs(x) < residue {
		return 0
	}
	return x
}
