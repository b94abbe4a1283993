package stats

import "slices"

// Bets is the wealth of two who bet, round by round, against what is to be shown
// wrong: that the head is no worse, and that it is worse by the margin.
type Bets struct {
	// Fail and Pass are what a stake of 1 has become. While the bet is unfair, it
	// reaches 1/α with a chance of at most α, however often one looks.
	Fail, Pass float64
	// Decision is that of the first round in which either reached 1/α.
	Decision Decision
}

// Bet compares two arms after each complete round of paired cases, whose differences,
// head less base, lie in [-1, 1]: an e-process that holds under any stopping, planned
// or not (Waudby-Smith and Ramdas 2024; Ville 1939). It needs more rounds than
// [WangTsiatis] and finds less, so it is for looks that nobody planned.
//
// The wealths are Π(1-γd) and Π(1+γ(d+margin)/(1-margin)), each the mean over several
// γ. In a suite of fixed cases that differ, the mean of such products is at most that
// of equal cases, so that only their mean difference matters. The cases of a round must
// be independent: an outage of a provider is no failure of theirs.
func Bet(rounds [][]float64, margin, alpha float64) Bets {
	stakes := []float64{0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9}
	fail, pass := make([]float64, len(stakes)), make([]float64, len(stakes))
	for i := range stakes {
		fail[i], pass[i] = 1, 1
	}
	b := Bets{Fail: 1, Pass: 1, Decision: Inconclusive}
	for _, round := range rounds {
		for _, d := range slices.Sorted(slices.Values(round)) {
			for i, stake := range stakes {
				fail[i] *= 1 - stake*d
				pass[i] *= 1 + stake*(d+margin)/(1-margin)
			}
		}
		b.Fail, b.Pass = mean(fail), mean(pass)
		if b.Decision == Inconclusive {
			switch {
			case b.Pass >= 1/alpha:
				b.Decision = Pass
			case b.Fail >= 1/alpha:
				b.Decision = Fail
			}
		}
	}
	return b
}
