package stats

// A Preference is which of two answers a judge finds better.
type Preference string

const (
	PreferA   Preference = "A"
	PreferB   Preference = "B"
	PreferTie Preference = "tie"
)

// PositionSwap makes one preference of two, asked for in both orders. An answer
// wins only when it wins in both; whatever else is said is a tie, and
// inconsistent unless both said tie (Zheng et al. 2023). Both preferences name
// the answer, not its place.
func PositionSwap(ab, ba Preference) (winner Preference, consistent bool) {
	if ab != ba {
		return PreferTie, false
	}
	return ab, true
}

// PositionBiasSign is the p-value of the two-sided sign test for a judge that
// prefers a place: of the pairs whose preference changed with the order, how
// many went to the answer shown first and how many to the one shown second. It
// is twice the smaller tail of Binomial(n, 1/2), at most 1; without such pairs
// it is 1.
func PositionBiasSign(firstWins, secondWins int) float64 {
	return min(1, 2*signTail(min(firstWins, secondWins), firstWins+secondWins))
}
