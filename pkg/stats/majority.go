package stats

// A Majority is what a panel of judges came to.
type Majority string

const (
	// MajorityPass and MajorityFail: more than half of the votes cast.
	MajorityPass Majority = "pass"
	MajorityFail Majority = "fail"
	// MajorityTie: as many for as against. It is for people to look at.
	MajorityTie Majority = "tie"
	// MajorityNone: nobody gave a verdict.
	MajorityNone Majority = "no_verdict"
)

// JudgeMajority is the verdict of more than half of those who gave one. A nil
// vote, of a judge that abstained or failed, does not count.
func JudgeMajority(votes []*bool) Majority {
	var pass, fail int
	for _, v := range votes {
		switch {
		case v == nil:
		case *v:
			pass++
		default:
			fail++
		}
	}
	switch {
	case pass+fail == 0:
		return MajorityNone
	case pass > fail:
		return MajorityPass
	case fail > pass:
		return MajorityFail
	default:
		return MajorityTie
	}
}

// Condorcet is the chance that more than half of some independent judges are
// right, each being right with the given chance, and the chance that they tie
// (Condorcet 1785). Judges share errors, so a real panel gains less.
func Condorcet(judges int, accuracy float64) (majority, tie float64) {
	for k, p := range binomials(judges, accuracy) {
		switch {
		case 2*k > judges:
			majority += p
		case 2*k == judges:
			tie += p
		}
	}
	return majority, tie
}
