package stats

import "math"

// A CUPED is a mean with less noise in it.
type CUPED struct {
	Mean float64
	// Theta is how much of the covariate was taken away.
	Theta float64
	// VarianceRatio is the variance that is left over that without the covariate, in
	// [0, 1]; NaN where nothing varied.
	VarianceRatio float64
}

// Adjust takes out of each case's value what was known of it before, such as its pass
// rate in the past, whose mean over all cases is known: y - θ(x - μ), with
// θ = Cov(x, y)/Var(x) (Deng, Xu, Kohavi and Walker 2013). It helps where cases are a
// sample; on a fixed suite, pairing the cases does the same. Without variation of the
// covariate θ is 0; with fewer than two cases, or lists of unequal length, all is NaN.
func Adjust(values, covariate []float64, covariateMean float64) CUPED {
	nan := math.NaN()
	if len(values) < 2 || len(values) != len(covariate) {
		return CUPED{Mean: nan, Theta: nan, VarianceRatio: nan}
	}
	var theta float64
	if v := withoutResidue(variance(covariate)); v > 0 {
		theta = covariance(covariate, values) / v
	}
	adjusted := make([]float64, len(values))
	for i := range values {
		adjusted[i] = values[i] - theta*(covariate[i]-covariateMean)
	}
	return CUPED{Mean: mean(adjusted), Theta: theta, VarianceRatio: variance(adjusted) / variance(values)}
}
