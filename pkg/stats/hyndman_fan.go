package stats

import "math"

// HyndmanFan is the percentile num/den of sorted values by any of the nine
// definitions of Hyndman and Fan (1996), of which other programs use this or that:
// NumPy and R the 7th, unless told otherwise. It is for comparing with them; what
// is reported here is the first, [Percentile].
//
// NaNs are left out. Without values, or for another type, it is NaN.
func HyndmanFan(sorted []float64, num, den, kind int) float64 {
	sorted = withoutNaN(sorted)
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	at := func(rank int) float64 { return sorted[min(max(rank, 1), n)-1] }
	// The continuous definitions differ in where they put the percentile among the
	// ranks, and go in a straight line from one value to the next.
	p := float64(num) / float64(den)
	between := func(position float64) float64 {
		whole, part := math.Modf(position)
		return (1-part)*at(int(whole)) + part*at(int(whole)+1)
	}
	np := float64(n) * p
	switch kind {
	case 1:
		return Percentile(sorted, num, den)
	case 2: // as 1, but the mean of both values where the share is met exactly
		if num*n%den == 0 {
			return (at(num*n/den) + at(num*n/den+1)) / 2
		}
		return Percentile(sorted, num, den)
	case 3: // the nearest rank, and the even one of two that are as near
		rank := (2*num*n + den) / (2 * den)
		if (2*num*n+den)%(2*den) == 0 && rank%2 == 1 {
			rank--
		}
		return at(rank)
	case 4:
		return between(np)
	case 5:
		return between(np + 0.5)
	case 6:
		return between(np + p)
	case 7:
		return between(np + 1 - p)
	case 8:
		return between(np + (p+1)/3)
	case 9:
		return between(np + p/4 + 3.0/8)
	default:
		return math.NaN()
	}
}
