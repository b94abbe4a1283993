package stats

import "math"

// A Design is how two arms are compared on a fixed suite: the same cases, each
// repeated in both arms, and the question whether one arm passes less often.
type Design struct {
	// Cases of the suite. Where a case runs in several variants, each counts.
	Cases int
	// Alpha is the one-sided error with which a drop may be claimed that is none;
	// Power the chance to find one that is there. 0.05 and 0.8 are usual.
	Alpha, Power float64
}

// factor is how many standard errors a drop must be to be found.
func (d Design) factor() float64 { return normal(1-2*d.Alpha) + normal(2*d.Power-1) }

// MDE is the minimum detectable effect: the smallest drop of the pass rate that so
// many repeats in each arm show, (z_{1-α}+z_{power})·√((a+b)/(repeats·cases)). a and
// b are the mean variances p(1-p) within a case, half of the disagreement of
// repeats. Only chance within cases counts: the answer is about these cases and
// no others. Without cases or repeats it is +Inf.
func (d Design) MDE(a, b float64, repeats int) float64 {
	if d.Cases < 1 || repeats < 1 {
		return math.Inf(1)
	}
	return d.factor() * math.Sqrt((a+b)/(float64(repeats)*float64(d.Cases)))
}

// RequiredRepeats is how many repeats of each case both arms need to show a drop,
// when the mean variance within a case is the same in both: the inverse of
// [Design.MDE], before it is rounded up. At least 2 are needed in practice, because
// fewer do not tell how far repeats disagree. Without cases, or for a drop that is
// not above 0, it is +Inf.
func (d Design) RequiredRepeats(variance, drop float64) float64 {
	if d.Cases < 1 || !(drop > 0) {
		return math.Inf(1)
	}
	z := d.factor() / drop
	return z * z * 2 * variance / float64(d.Cases)
}

// A Population is what two arms differ by when cases are a sample of others like
// them.
type Population struct {
	// Between is the variance of the true difference over cases.
	Between float64
	// Base and Head are the mean variances within a case of the arms' means: those
	// of a single repeat, divided by the number of repeats.
	Base, Head float64
}

// RequiredCases is how many cases it takes to find a difference with a chance of
// power, two-sided at α: (z_{1-α/2}+z_{power})²·(Between+Base+Head)/difference²
// (Miller 2024, arXiv 2411.00640, section 5), before it is rounded up. About 1,000
// cases show 3 points. It is the question for new cases; for these see [Design]. For
// a difference of 0 it is +Inf.
func (p Population) RequiredCases(difference, alpha, power float64) float64 {
	if difference == 0 {
		return math.Inf(1)
	}
	z := (normal(1-alpha) + normal(2*power-1)) / difference
	return z * z * (p.Between + p.Base + p.Head)
}
