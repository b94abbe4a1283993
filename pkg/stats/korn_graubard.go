package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// KornGraubard is [ClopperPearson] at an effective number of trials, which need not be
// whole, such as that of [Repeatability] (Korn and Graubard 1998): to decide whether the
// rate of one arm reaches a bound. [Wilson]'s lower bound is too high there: 11 passes
// in 11 seem to show 0.8, which happens to 0.8 itself in 8.6 % of all runs. Without
// trials the interval is [0, 1].
func KornGraubard(rate, n, confidence float64) Interval {
	ci := Interval{Point: rate, Low: 0, High: 1}
	if !(n > 0) {
		return ci
	}
	each := (1 - confidence) / 2
	lower := func(passed float64) float64 {
		if passed == n {
			return math.Pow(each, 1/n)
		}
		return distuv.Beta{Alpha: passed, Beta: n - passed + 1}.Quantile(each)
	}
	if rate > 0 {
		ci.Low = lower(rate * n)
	}
	if rate < 1 {
		ci.High = 1 - lower(n-rate*n)
	}
	return ci
}
