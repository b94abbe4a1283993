package stats

import "math"

// tie is how much larger a chance may be and still count as the same: equal chances
// come out apart by a few bits, depending on how they were added up.
const tie = 1e-10

// Fisher is the exact test of Fisher (1935) on one case: whether the head passes
// less often, and two-sided, whether it passes less or more often, which adds up
// whatever is no likelier than what was seen. Both are NaN where an arm was not
// tried.
func Fisher(p Pair) (harm, two float64) {
	if !p.tested() {
		return math.NaN(), math.NaN()
	}
	h := p.heads()
	seen := h.at(p.Head.Passed)
	var unlikely []float64
	for _, chance := range h.chances {
		if chance <= seen*(1+tie) {
			unlikely = append(unlikely, chance)
		}
	}
	return h.atMost(p.Head.Passed), min(1, total(unlikely))
}

// FisherFloor is the smallest one-sided p-value that [Fisher] can come to with so
// many trials in each arm, when all pass in one and none in the other:
// 1/C(base+head, head). A rule that asks for less can never trigger.
func FisherFloor(base, head int) float64 {
	harm, _ := Fisher(Pair{Base: Count{base, base}, Head: Count{0, head}})
	return harm
}

// FisherLimit is the largest number of cases among which a single one can still be
// found by [Fisher] after [Holm], with n trials in each arm: ⌊α/floor⌋, 1 for 3 at
// 0.05, and 12 for 5.
func FisherLimit(n int, alpha float64) int {
	return int(alpha / FisherFloor(n, n) * (1 + tie))
}

// FisherPower is the chance that [Fisher] finds harm at α, when the base passes with
// the chance base and the head with the chance head, n trials each.
func FisherPower(n int, base, head, alpha float64) float64 {
	bases, heads := binomials(n, base), binomials(n, head)
	var found []float64
	for b, pb := range bases {
		for h, ph := range heads {
			if harm, _ := Fisher(Pair{Base: Count{b, n}, Head: Count{h, n}}); harm <= alpha*(1+tie) {
				found = append(found, pb*ph)
			}
		}
	}
	return total(found)
}

// binomials are the chances of 0 to n successes.
func binomials(n int, p float64) []float64 {
	chances := make([]float64, n+1)
	chances[0] = 1
	for i := 1; i <= n; i++ {
		for c := i; c > 0; c-- {
			chances[c] = chances[c]*(1-p) + chances[c-1]*p
		}
		chances[0] *= 1 - p
	}
	return chances
}
