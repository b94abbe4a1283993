package stats

import "gonum.org/v1/gonum/stat/distuv"

// Jeffreys estimates a proportion from c successes in n trials, with the
// equal-tailed interval of Jeffreys' posterior Beta(c+½, n-c+½), and the bounds 0
// at c = 0 and 1 at c = n (Brown, Cai and DasGupta 2001). With n = 0 the point is
// NaN and the interval is [0, 1].
func Jeffreys(c, n int, confidence float64) Interval {
	b := posterior(c, n)
	ci := Interval{Point: float64(c) / float64(n), Low: 0, High: 1}
	if c > 0 {
		ci.Low = b.Quantile((1 - confidence) / 2)
	}
	if c < n {
		ci.High = b.Quantile((1 + confidence) / 2)
	}
	return ci
}

// A Belief says how likely each kind of case is, after what was seen. The three
// add up to 1.
type Belief struct {
	StablePass, StableFail, Flaky float64
}

// Posterior is the mass that Jeffreys' posterior after c passes in n repeats has
// at pass rates of 1-tolerance and more, of tolerance and less, and in between.
// It is a way to speak; [Classify] is the one to decide.
func Posterior(c, n int, tolerance float64) Belief {
	b := posterior(c, n)
	belief := Belief{StablePass: 1 - b.CDF(1-tolerance), StableFail: b.CDF(tolerance)}
	belief.Flaky = 1 - belief.StablePass - belief.StableFail
	return belief
}

func posterior(c, n int) distuv.Beta {
	return distuv.Beta{Alpha: float64(c) + 0.5, Beta: float64(n-c) + 0.5}
}
