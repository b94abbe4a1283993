package stats

// Screen names the cases that dropped by at least num/den of their pass rate, from
// base to head: those that are worth fresh repeats. It is no test, since with a few
// repeats no test can find a single case among many ([FisherLimit]). The shares are
// compared in integers, because 1-1/3 is not 2/3.
func Screen(pairs []Pair, num, den int) []int {
	var suspects []int
	for i, p := range pairs {
		drop := p.Base.Passed*p.Head.Trials - p.Head.Passed*p.Base.Trials
		if p.tested() && drop*den >= num*p.Base.Trials*p.Head.Trials {
			suspects = append(suspects, i)
		}
	}
	return suspects
}

// Confirm tests the cases that were screened, one-sided for harm by [Fisher] and
// adjusted by [Holm] for how many they are: a case regressed where the answer is at
// most α. Nothing that [Screen] saw may be among the trials of the head. Fresh ones
// are free of the luck that made a case suspect, and of the number of cases that
// were looked at. The base may be history, but without the run that was screened. A
// case that was not tried in both arms is NaN.
func Confirm(fresh []Pair) []float64 {
	p := make([]float64, len(fresh))
	for i, pair := range fresh {
		p[i], _ = Fisher(pair)
	}
	return Holm(p)
}
