package stats

import "math"

// normal is the two-sided standard normal quantile of a confidence: 1.96 of
// 0.95.
func normal(confidence float64) float64 { return math.Sqrt2 * math.Erfinv(confidence) }

// around is the interval of a point with a standard error, cut to what the
// quantity can be.
func around(point, se, confidence, low, high float64) Interval {
	half := normal(confidence) * se
	return Interval{Point: point, Low: min(max(point-half, low), high), High: max(min(point+half, high), low)}
}
