package stats

import "math"

// Entropy is how unlike each other outcomes are, in bits, from how often each was
// seen: -Σ p·log2 p, at least 0 and too small for few repeats. Corrected adds
// (kinds-1)/(2n·ln 2) for the kinds that were seen (Miller 1955). [Disagreement]
// needs no such correction. Without outcomes both are NaN.
func Entropy(counts []int) (plain, corrected float64) {
	n := sum(counts)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	var terms []float64
	for _, count := range counts {
		if count > 0 {
			p := float64(count) / float64(n)
			terms = append(terms, p*math.Log2(1/p))
		}
	}
	plain = total(terms)
	return plain, plain + float64(len(terms)-1)/(2*float64(n)*math.Ln2)
}
