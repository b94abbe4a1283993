package stats

import "math"

// AtLeast estimates the chance that at least m of k fresh repeats pass, from c
// passes in n: the chance that at least m of k repeats drawn from those n passed,
// Σ_{j≥m} C(c, j)·C(n-c, k-j)/C(n, k). It is unbiased, unlike a function of the
// rate c/n such as (c/n)^k, in [0, 1], and NaN where n < k or k < 1: what was not
// tried often enough cannot be told.
func AtLeast(c, n, k, m int) float64 {
	if k < 1 || n < k || c < 0 || c > n {
		return math.NaN()
	}
	return draw(n, c, k).atLeast(m)
}

// PassAtK is pass@k, the chance that at least one of k repeats passes (Chen et
// al. 2021): [AtLeast] 1.
func PassAtK(c, n, k int) float64 { return AtLeast(c, n, k, 1) }

// PassHatK is pass^k, the chance that all of k repeats pass (Yao et al. 2024,
// τ-bench): [AtLeast] k.
func PassHatK(c, n, k int) float64 { return AtLeast(c, n, k, k) }

// MajorityAtK is the chance that more than half of k repeats pass, and the chance
// of a tie. A vote that breaks ties by a coin passes with majority + tie/2.
func MajorityAtK(c, n, k int) (majority, tie float64) {
	majority = AtLeast(c, n, k, k/2+1)
	if k%2 == 0 {
		tie = AtLeast(c, n, k, k/2) - majority
	}
	return majority, tie
}

// GPassAtK is G-Pass@k_τ, the chance that a share of τ = num/den of k repeats
// passes, and at least one (Liu et al. 2024): [AtLeast] max(1, ⌈τk⌉). The ceiling
// is one of integers, like the rank of [Percentile].
func GPassAtK(c, n, k, num, den int) float64 {
	return AtLeast(c, n, k, max(1, (num*k+den-1)/den))
}

// MGPassAtK is mG-Pass@k, the mean of [GPassAtK] over τ from ½ to 1 (Liu et al.
// 2024): 2/k·Σ [AtLeast] i, for i from ⌈k/2⌉+1 to k.
func MGPassAtK(c, n, k int) float64 {
	if k < 1 || n < k {
		return math.NaN()
	}
	h := draw(n, c, k)
	var sum float64
	for i := (k+1)/2 + 1; i <= k; i++ {
		sum += h.atLeast(i)
	}
	return 2 * sum / float64(k)
}
