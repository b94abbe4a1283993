package stats

import "math"

// An SPRT is the sequential probability ratio test of Wald (1945) on one case that
// must pass with a chance of Good and not of Bad: for a requirement on that case,
// not for a rate, which it biases.
type SPRT struct {
	// Good and Bad are pass rates, 0 < Bad < Good < 1.
	Good, Bad float64
	// Alpha is the chance of failing a good case, Beta that of passing a bad one.
	Alpha, Beta float64
}

// Bounds of the evidence: at the upper one the case is bad, ln((1-β)/α), at the lower
// one good, ln(β/(1-α)).
func (s SPRT) Bounds() (lower, upper float64) {
	return math.Log(s.Beta / (1 - s.Alpha)), math.Log((1 - s.Beta) / s.Alpha)
}

// Evidence is the logarithm of how much likelier c passes in n are for a bad case than
// for a good one.
func (s SPRT) Evidence(c, n int) float64 {
	return float64(c)*math.Log(s.Bad/s.Good) + float64(n-c)*math.Log((1-s.Bad)/(1-s.Good))
}

// Decide after c passes in n: [Inconclusive] is to go on.
func (s SPRT) Decide(c, n int) Decision {
	lower, upper := s.Bounds()
	switch e := s.Evidence(c, n); {
	case e >= upper:
		return Fail
	case e <= lower:
		return Pass
	default:
		return Inconclusive
	}
}
