package stats

import "math"

// An Estimate is a rate over cases with one of its two error bars.
type Estimate struct {
	Interval
	// SE is the standard error.
	SE float64
	// EffectiveN is how many independent trials would know the rate as well.
	EffectiveN float64
}

// Macro is the weighted mean of the cases' means: each case counts the same,
// however often it was repeated. Without cases it is NaN.
func Macro(cases []Case) float64 {
	cases = known(cases)
	return sumOver(cases, func(c Case) float64 { return c.weight() * c.Mean }) / sumOver(cases, Case.weight)
}

// Micro is the mean over all repeats of all cases, whose weights it ignores. It
// differs from [Macro] where some cases were repeated more often. Without cases
// it is NaN.
func Micro(cases []Case) float64 {
	cases = known(cases)
	repeats := func(c Case) float64 { return float64(c.Repeats) }
	return sumOver(cases, func(c Case) float64 { return repeats(c) * c.Mean }) / sumOver(cases, repeats)
}

// Generalize estimates the rate that other cases like these would have: cases, or
// clusters of them, are the sample. More repeats narrow it only a little.
//
// With G clusters and E_g = Σ W_i(m_i-P) over the cases of one, W being weights
// that add up to 1, the standard error is √(G/(G-1)·ΣE_g²), that of clustered
// errors with the CR1 correction (Miller 2024, arXiv 2411.00640). The interval is
// [Wilson]'s at an effective number of trials, P(1-P)/SE²·(z/t_{G-1})², held
// between 1 and the number of repeats, as Korn and Graubard (1998) do with
// [ClopperPearson]'s. Where P is 0 or 1, or the standard error is 0, that number
// is G: a mean ± t·SE would have no width there.
//
// One cluster says nothing of others: SE and bounds are NaN. Without cases the
// point is NaN and the interval [0, 1].
func Generalize(cases []Case, confidence float64) Estimate {
	cases = known(cases)
	p := Macro(cases)
	nan := math.NaN()
	if len(cases) == 0 {
		return Estimate{Interval: Interval{Point: p, Low: 0, High: 1}, SE: nan, EffectiveN: 0}
	}
	errors := clusterErrors(cases, p)
	clusters := float64(len(errors))
	if clusters < 2 {
		return Estimate{Interval: Interval{Point: p, Low: nan, High: nan}, SE: nan, EffectiveN: nan}
	}
	for i, e := range errors {
		errors[i] = e * e
	}
	e := Estimate{SE: withoutResidue(math.Sqrt(clusters / (clusters - 1) * total(errors))), EffectiveN: clusters}
	if p > 0 && p < 1 && e.SE > 0 {
		widen := normal(confidence) / student(confidence, len(errors)-1)
		e.EffectiveN = p * (1 - p) / (e.SE * e.SE) * widen * widen
		e.EffectiveN = max(1, min(e.EffectiveN, sumOver(cases, func(c Case) float64 { return float64(c.Repeats) })))
	}
	e.Interval = wilson(p, e.EffectiveN, confidence)
	return e
}

// clusterErrors adds up, for each cluster, how far its cases lie from the mean.
func clusterErrors(cases []Case, p float64) []float64 {
	weight := sumOver(cases, Case.weight)
	var errors []float64
	clusters := map[string][]float64{}
	for _, c := range cases {
		e := c.weight() / weight * (c.Mean - p)
		if c.Cluster == "" {
			errors = append(errors, e)
		} else {
			clusters[c.Cluster] = append(clusters[c.Cluster], e)
		}
	}
	for _, es := range clusters {
		errors = append(errors, total(es))
	}
	return errors
}

// Repeatability estimates the rate that these same cases have: what another run of
// them would show. Only chance within cases counts. It is what a gate asks.
//
// The variance is ΣW_i²σ_i²/n_i, with P(1-P) for the σ_i² of a case that was
// repeated once. It is drawn towards that of independent trials, P(1-P)·r with
// r = ΣW_i²/n_i, by λ = 4/(C+4) for C cases, so that a suite in which every case
// passed always or never keeps a width. The interval is [Wilson]'s at
// P(1-P)/variance trials, and no fewer than 1/r: independent trials are the worst
// case, because Σp_i(1-p_i) is at most C·p̄(1-p̄). It is a construction of standard
// parts that simulations bear out, not a theorem; the tests repeat them.
//
// SE is the root of the variance before it is drawn, NaN where a case was repeated
// once. Means must be those of the repeats. Without cases the point is NaN and the
// interval [0, 1].
func Repeatability(cases []Case, confidence float64) Estimate {
	cases = known(cases)
	p := Macro(cases)
	if len(cases) == 0 {
		return Estimate{Interval: Interval{Point: p, Low: 0, High: 1}, SE: math.NaN(), EffectiveN: 0}
	}
	weight := sumOver(cases, Case.weight)
	share := func(c Case) float64 { w := c.weight() / weight; return w * w / float64(c.Repeats) }
	r := sumOver(cases, share)
	raw := sumOver(cases, func(c Case) float64 { return share(c) * c.Variance })
	v := sumOver(cases, func(c Case) float64 {
		if math.IsNaN(c.Variance) {
			return share(c) * p * (1 - p)
		}
		return share(c) * c.Variance
	})
	e := Estimate{SE: withoutResidue(math.Sqrt(raw)), EffectiveN: 1 / r}
	if p > 0 && p < 1 {
		lambda := 4 / (float64(len(cases)) + 4)
		e.EffectiveN = max(e.EffectiveN, p*(1-p)/((1-lambda)*v+lambda*p*(1-p)*r))
	}
	e.Interval = wilson(p, e.EffectiveN, confidence)
	return e
}
