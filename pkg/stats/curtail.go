package stats

import "math"

// Curtail decides a rule of "needed of planned repeats pass" as soon as what is left
// cannot change the answer, after c passes in n: it says exactly what all repeats
// would. The rate of the repeats that were made is biased; see [Curtailed].
func Curtail(c, n, needed, planned int) Decision {
	switch {
	case c >= needed:
		return Pass
	case n-c > planned-needed:
		return Fail
	default:
		return Inconclusive
	}
}

// Curtailed is the unbiased pass rate of a case that was stopped by [Curtail], at the
// repeat that decided (Girshick, Mosteller and Savage 1946): the share of the ways to
// get there that begin with a pass, (needed-1)/(n-1) after a pass and c/(n-1) after a
// failure. It knows little: when all must pass it is the outcome of the first repeat.
// A case that is undecided is NaN.
func Curtailed(c, n, needed, planned int) float64 {
	switch Curtail(c, n, needed, planned) {
	case Pass:
		if n == 1 {
			return 1
		}
		return float64(needed-1) / float64(n-1)
	case Fail:
		if n == 1 {
			return 0
		}
		return float64(c) / float64(n-1)
	default:
		return math.NaN()
	}
}
