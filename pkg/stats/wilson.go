package stats

import "math"

// An Interval is a point estimate with its bounds.
type Interval struct {
	Point, Low, High float64
}

// Wilson estimates a proportion from c successes in n trials, with the score
// interval of Wilson (1927), two-sided at a confidence such as 0.95 and without
// continuity correction. Unlike the textbook interval it keeps a width when all
// trials agree, which is what small runs usually look like.
//
// The bound at c = 0 is exactly 0 and at c = n exactly 1: they are set, because
// computing them leaves residues. With n = 0 the point is NaN and the interval
// is [0, 1].
func Wilson(c, n int, confidence float64) Interval {
	return wilson(float64(c)/float64(n), float64(n), confidence)
}

// wilson takes an effective number of trials, which need not be whole.
func wilson(p, size, confidence float64) Interval {
	if size == 0 {
		return Interval{Point: math.NaN(), Low: 0, High: 1}
	}
	z := normal(confidence)
	scale := 1 + z*z/size
	centre := (p + z*z/(2*size)) / scale
	half := z / scale * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	ci := Interval{Point: p, Low: max(0, centre-half), High: min(1, centre+half)}
	if p == 0 {
		ci.Low = 0
	}
	if p == 1 {
		ci.High = 1
	}
	return ci
}
