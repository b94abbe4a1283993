package stats

import "math"

// McNemar is the exact test of McNemar (1947) on cases with one trial in each arm:
// how many went from pass to fail and how many from fail to pass. The others say
// nothing. If the arms were alike, each of these would go either way as often:
// Binomial(regressions+improvements, ½). Without any all p-values are 1.
func McNemar(regressions, improvements int) PValue {
	n := regressions + improvements
	if n == 0 {
		return PValue{Harm: 1, HarmMid: 1, Improve: 1, Two: 1}
	}
	atMost, fewer := signTail(improvements, n), signTail(improvements-1, n)
	return pValue(atMost, 1-fewer, atMost-fewer)
}

// signTail is the chance of at most k heads when a coin is thrown n times.
func signTail(k, n int) float64 {
	switch {
	case k < 0:
		return 0
	case 2*k >= n:
		return 1 - signTail(n-k-1, n)
	}
	// From the term at k downwards, each is a known multiple of the one before.
	all, _ := math.Lgamma(float64(n + 1))
	in, _ := math.Lgamma(float64(k + 1))
	out, _ := math.Lgamma(float64(n - k + 1))
	var tail float64
	term := 1.0
	for i := k; i >= 0 && term > 0; i-- {
		tail += term
		term *= float64(i) / float64(n-i+1)
	}
	return tail * math.Exp(all-in-out-float64(n)*math.Ln2)
}
