package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ClopperPearson estimates a proportion from c successes in n trials, with the
// exact interval of Clopper and Pearson (1934), two-sided: it holds the true
// proportion at least as often as it says, whatever that is, and is mostly wider
// than [Wilson]'s for it. Decisions about a single case rest on it.
//
// The bounds are quantiles of Beta(c, n-c+1) and Beta(c+1, n-c), exactly 0 at
// c = 0 and 1 at c = n. With n = 0 the point is NaN and the interval is [0, 1].
func ClopperPearson(c, n int, confidence float64) Interval {
	each := (1 + confidence) / 2
	return Interval{Point: float64(c) / float64(n), Low: LowerBound(c, n, each), High: UpperBound(c, n, each)}
}

// LowerBound is the one-sided lower bound of [ClopperPearson]: a proportion below
// it would give c successes or more in n trials with a chance of less than
// 1-confidence. When all trials succeed it is (1-confidence)^(1/n), 0.37 for 3 of
// 3 at 0.95.
func LowerBound(c, n int, confidence float64) float64 {
	switch c {
	case 0:
		return 0
	case n:
		return math.Pow(1-confidence, 1/float64(n))
	default:
		return distuv.Beta{Alpha: float64(c), Beta: float64(n - c + 1)}.Quantile(1 - confidence)
	}
}

// UpperBound is the mirror of [LowerBound].
func UpperBound(c, n int, confidence float64) float64 { return 1 - LowerBound(n-c, n, confidence) }
