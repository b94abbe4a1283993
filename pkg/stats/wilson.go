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
	if n == 0 {
		return Interval{Point: math.NaN(), Low: 0, High: 1}
	}
	z := normal(confidence)
	size := float64(n)
	p := float64(c) / size
	scale := 1 + z*z/size
	centre := (p + z*z/(2*size)) / scale
	half := z / scale * math.Sqrt(p*(1-p)/size+z*z/(4*size*size))
	ci := Interval{Point: p, Low: centre - half, High: centre + half}
	if c == 0 {
		ci.Low = 0
	}
	if c == n {
		ci.High = 1
	}
	return ci
}
