package stats

import "math"

// ConfidenceSequence estimates a proportion from c successes in n trials so far, with
// bounds that hold at every n at once: for a case that is watched while it runs. It
// keeps the rates p at which the mixture over Beta(½, ½) of the likelihood is less than
// 1/(1-confidence) times that of p (Robbins 1970). With n = 0 the point is NaN and the
// interval [0, 1].
func ConfidenceSequence(c, n int, confidence float64) Interval {
	ci := Interval{Point: float64(c) / float64(n), Low: 0, High: 1}
	if n == 0 {
		return ci
	}
	passed, failed := float64(c), float64(n-c)
	mixture := logBeta(0.5+passed, 0.5+failed) - logBeta(0.5, 0.5)
	// excess is above 0 for the rates that are left out.
	excess := func(p float64) float64 {
		e := mixture + math.Log(1-confidence)
		if c > 0 {
			e -= passed * math.Log(p)
		}
		if c < n {
			e -= failed * math.Log1p(-p)
		}
		return e
	}
	if c > 0 {
		ci.Low = halve(ci.Point, 0, excess)
	}
	if c < n {
		ci.High = halve(ci.Point, 1, excess)
	}
	return ci
}

// halve finds where f becomes positive on the way from one place to another.
func halve(from, to float64, f func(float64) float64) float64 {
	for range 200 {
		if middle := (from + to) / 2; f(middle) > 0 {
			to = middle
		} else {
			from = middle
		}
	}
	return from
}

func logBeta(a, b float64) float64 {
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return la + lb - lab
}
