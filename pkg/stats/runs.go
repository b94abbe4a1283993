package stats

import "math"

// Runs tells a flaky case from one that changed, by the order in which its
// repeats passed and failed.
type Runs struct {
	// FlipRate is how often a repeat came out other than the one before, in [0, 1];
	// NaN with fewer than two.
	FlipRate float64
	// Runs is the number of stretches of the same outcome.
	Runs int
	// Few is the chance of so few stretches or fewer, if the order were one of
	// chance: small means that the case changed. Many is the chance of so many or
	// more. Both are 1 when all outcomes are the same.
	Few, Many float64
}

// RunsTest is the exact test of Wald and Wolfowitz (1940): given how many passed and
// how many failed, every order is as likely. PPPFFF and PFPFPF have the same rate;
// the first has few runs.
func RunsTest(outcomes []bool) Runs {
	r := Runs{FlipRate: math.NaN(), Few: 1, Many: 1}
	var passed, failed int
	for i, pass := range outcomes {
		if pass {
			passed++
		} else {
			failed++
		}
		if i == 0 || pass != outcomes[i-1] {
			r.Runs++
		}
	}
	n := passed + failed
	if n > 1 {
		r.FlipRate = float64(r.Runs-1) / float64(n-1)
	}
	if passed == 0 || failed == 0 {
		return r
	}
	// What lies between the first and the last outcome decides. Ends that differ make
	// an even number of runs, ends that both fail or both pass an odd one, and the
	// passes at which a stretch begins are drawn from all of them.
	pairs := float64(n) * float64(n-1)
	differ := 2 * float64(passed) * float64(failed) / pairs
	bothFail := float64(failed) * float64(failed-1) / pairs
	bothPass := float64(passed) * float64(passed-1) / pairs
	var fewer, more []float64
	for runs := 2; runs <= 2*min(passed, failed)+1; runs++ {
		k := runs / 2
		var chance float64
		if runs%2 == 0 {
			chance = differ * draw(n-2, passed-1, failed-1).at(k-1)
		} else {
			if failed > 1 {
				chance += bothFail * draw(n-2, passed-1, failed-2).at(k-1)
			}
			if passed > 1 {
				chance += bothPass * draw(n-2, passed-1, failed).at(k)
			}
		}
		if runs <= r.Runs {
			fewer = append(fewer, chance)
		}
		if runs >= r.Runs {
			more = append(more, chance)
		}
	}
	r.Few, r.Many = min(1, total(fewer)), min(1, total(more))
	return r
}
