package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// normal is the two-sided standard normal quantile of a confidence: 1.96 of
// 0.95.
func normal(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

// normalTail is the chance that a standard normal value exceeds z.
func normalTail(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// student is the two-sided quantile of Student's t.
func student(confidence float64, degrees int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.Quantile((1 + confidence) / 2)
}

// binomialAtMost is the chance of at most k successes in n trials.
func binomialAtMost(k, n int, p float64) float64 {
	switch {
	case k < 0:
		return 0
	case k >= n:
		return 1
	default:
		return distuv.Binomial{N: float64(n), P: p}.CDF(float64(k))
	}
}

// around is the interval of a point with a standard error, cut to what the
// quantity can be.
func around(point, se, confidence, low, high float64) Interval {
	half := normal(confidence) * se
	return Interval{Point: point, Low: min(max(point-half, low), high), High: max(min(point+half, high), low)}
}
