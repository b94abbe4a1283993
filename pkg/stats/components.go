package stats

import "math"

// Components says where the differences between the means of cases come from.
type Components struct {
	// Observed is the variance of the means; Within what chance within cases alone
	// would make of it; Between the rest, at least 0: how far the cases differ.
	Observed, Within, Between float64
	// ShareWithin is Within/Observed. Chance can make it exceed 1. It is NaN where
	// all means are the same.
	ShareWithin float64
	// ICC, the intraclass correlation, is how much of the variance of a single
	// repeat lies between cases: 0 for cases that are all alike, 1 for repeats that
	// always agree. It is NaN where nothing varies.
	ICC float64
}

// Decompose splits the variance of the cases' means (Miller 2024, arXiv
// 2411.00640): with variances σ_i² within a case of n_i repeats, Within is the
// mean of σ_i²/n_i, and ICC is Between/(Between + mean σ_i²). More repeats shrink
// Within and nothing else.
//
// Weights are ignored, and so are cases that were not repeated. With fewer than
// two cases all is NaN.
func Decompose(cases []Case) Components {
	var means, variances, within []float64
	for _, c := range known(cases) {
		if !math.IsNaN(c.Variance) {
			means = append(means, c.Mean)
			variances = append(variances, c.Variance)
			within = append(within, c.Variance/float64(c.Repeats))
		}
	}
	nan := math.NaN()
	if len(means) < 2 {
		return Components{Observed: nan, Within: nan, Between: nan, ShareWithin: nan, ICC: nan}
	}
	c := Components{Observed: withoutResidue(variance(means)), Within: withoutResidue(mean(within)), ShareWithin: nan, ICC: nan}
	c.Between = max(0, withoutResidue(c.Observed-c.Within))
	if c.Observed > 0 {
		c.ShareWithin = c.Within / c.Observed
	}
	if single := c.Between + mean(variances); single > residue {
		c.ICC = c.Between / single
	}
	return c
}
