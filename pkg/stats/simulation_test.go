package stats

import (
	"math/rand/v2"
	"testing"
)

// The simulations repeat what the error rates are claimed of. The seeds are fixed;
// soak tests repeat them more often.
const (
	simulated = 2000 // runs
	alpha     = 0.05
	margin    = 0.05
)

// high is a suite of which most cases nearly always pass, some are flaky and some
// mostly fail.
func high(cases int) []float64 {
	rates := make([]float64, cases)
	for i := range rates {
		switch at := float64(i) / float64(cases); {
		case at < 0.6:
			rates[i] = 0.99
		case at < 0.9:
			rates[i] = 0.6 + 0.35*(at-0.6)/0.3
		default:
			rates[i] = 0.1
		}
	}
	return rates
}

// hard is a suite whose cases are of all kinds, like τ-bench's airline.
func hard(cases int) []float64 {
	rates := make([]float64, cases)
	for i := range rates {
		rates[i] = []float64{0.1, 0.25, 0.25, 0.5, 0.5, 0.85, 0.95, 0.05, 0.25, 0.5}[i%10]
	}
	return rates
}

func perfect(cases int) []float64 { return less(high(cases), -1) }

// less is a suite in which each case passes less often by as much.
func less(rates []float64, by float64) []float64 {
	out := make([]float64, len(rates))
	for i, p := range rates {
		out[i] = unit(p - by)
	}
	return out
}

// broken is a suite of which every so manieth case always fails.
func broken(rates []float64, every int) []float64 {
	out := less(rates, 0)
	for i := 0; i < len(out); i += every {
		out[i] = 0
	}
	return out
}

// churned is a suite in which as much was gained as was lost.
func churned(rates []float64) []float64 {
	return append(less(rates[len(rates)/3:], 0), rates[:len(rates)/3]...)
}

// bounds are what the shares of decisions must keep.
type bounds struct{ mostPass, leastPass, mostFail, leastFail float64 }

func (b bounds) check(t *testing.T, decisions map[Decision]int, runs int) {
	t.Helper()
	pass, fail := float64(decisions[Pass])/float64(runs), float64(decisions[Fail])/float64(runs)
	t.Logf("%.3f pass, %.3f fail", pass, fail)
	if pass > b.mostPass || pass < b.leastPass || fail > b.mostFail || fail < b.leastFail {
		t.Errorf("got %.3f pass and %.3f fail, want %+v", pass, fail, b)
	}
}

const (
	wrongly = 0.06 // how often a decision may be wrong
	hardly  = 0.001
)

func TestGateErrors(t *testing.T) { gateErrors(t, simulated) }

func gateErrors(t *testing.T, runs int) {
	for name, row := range map[string]struct {
		base, head []float64
		repeats    int
		want       bounds
	}{
		"no change, 50×5":                {high(50), high(50), 5, bounds{1, 0.6, wrongly, 0}},
		"no change, 20×3":                {high(20), high(20), 3, bounds{1, 0, wrongly, 0}},
		"no change, hard 50×3":           {hard(50), hard(50), 3, bounds{1, 0, wrongly, 0}},
		"no change, five cases":          {hard(5), hard(5), 5, bounds{1, 0, wrongly, 0}},
		"no change, perfect":             {perfect(50), perfect(50), 3, bounds{1, 1, hardly, 0}},
		"gains and losses, 50×5":         {high(50), churned(high(50)), 5, bounds{1, 0.6, wrongly, 0}},
		"each 5 points less, 50×5":       {high(50), less(high(50), 0.05), 5, bounds{wrongly, 0, 1, 0.5}},
		"each 5 points less, hard 50×10": {hard(50), less(hard(50), 0.05), 10, bounds{wrongly, 0, 1, 0.3}},
		"perfect less 5 points, 10×3":    {perfect(10), less(perfect(10), 0.05), 3, bounds{wrongly, 0, 1, 0}},
		"perfect less 5 points, 50×3":    {perfect(50), less(perfect(50), 0.05), 3, bounds{wrongly, 0, 1, 0.5}},
		"3 points less, 50×10":           {high(50), less(high(50), 0.03), 10, bounds{1, 0, 1, 0.2}},
		"each 10 points less, 50×5":      {high(50), less(high(50), 0.1), 5, bounds{hardly, 0, 1, 0.95}},
		"each 20 points less, 20×3":      {high(20), less(high(20), 0.2), 3, bounds{hardly, 0, 1, 0.8}},
		"1 of 20 broken, 20×3":           {perfect(20), broken(perfect(20), 20), 3, bounds{hardly, 0, 1, 1}},
		"2 of 20 broken, 20×3":           {perfect(20), broken(perfect(20), 10), 3, bounds{hardly, 0, 1, 1}},
		"2 of 20 broken, 20×5":           {perfect(20), broken(perfect(20), 10), 5, bounds{hardly, 0, 1, 1}},
		"2 of 20 broken, 20×10":          {perfect(20), broken(perfect(20), 10), 10, bounds{hardly, 0, 1, 1}},
		"a tenth broken, 50×3":           {high(50), broken(high(50), 10), 3, bounds{0.01, 0, 1, 0.85}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(11, 13))
			decisions := map[Decision]int{}
			for range runs {
				decisions[Decide(Difference(repeated(random, row.base, row.repeats), repeated(random, row.head, row.repeats), alpha), margin)]++
			}
			row.want.check(t, decisions, runs)
		})
	}
}

// TestGateErrorsOfScores grades each repeat by four points, each of which is given or
// not.
func TestGateErrorsOfScores(t *testing.T) {
	for name, row := range map[string]struct {
		base, head []float64
		want       bounds
	}{
		"no change":                {high(50), high(50), bounds{1, 0.5, wrongly, 0}},
		"no change, hard":          {hard(50), hard(50), bounds{1, 0, wrongly, 0}},
		"each 5 points less":       {high(50), less(high(50), 0.05), bounds{wrongly, 0, 1, 0.5}},
		"each 5 points less, hard": {hard(50), less(hard(50), 0.05), bounds{wrongly, 0, 1, 0.2}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(47, 53))
			graded := func(rates []float64) []Case {
				cases := make([]Case, len(rates))
				for i, p := range rates {
					scores := make([]float64, 3)
					for r := range scores {
						scores[r] = float64(passes(random, 4, p)) / 4
					}
					cases[i] = Scored(scores)
				}
				return cases
			}
			decisions := map[Decision]int{}
			for range simulated / 2 {
				decisions[Decide(Difference(graded(row.base), graded(row.head), alpha), margin)]++
			}
			row.want.check(t, decisions, simulated/2)
		})
	}
}

// repeated draws the repeats of a suite.
func repeated(random *rand.Rand, rates []float64, repeats int) []Case {
	cases := make([]Case, len(rates))
	for i, p := range rates {
		cases[i] = Passed(passes(random, repeats, p), repeats)
	}
	return cases
}

// TestStratifiedTestErrors: the exact test finds harm where there is none with a chance
// of at most α, and finds cases that broke.
func TestStratifiedTestErrors(t *testing.T) {
	for name, row := range map[string]struct {
		base, head []float64
		want       bounds
	}{
		"no change":      {high(50), high(50), bounds{1, 0, alpha, 0}},
		"no change hard": {hard(50), hard(50), bounds{1, 0, alpha, 0}},
		"a tenth broken": {high(50), broken(high(50), 10), bounds{1, 0, 1, 0.8}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(17, 19))
			decisions := map[Decision]int{}
			for range simulated {
				pairs := make([]Pair, len(row.base))
				for i := range pairs {
					pairs[i] = Pair{Base: Count{passes(random, 3, row.base[i]), 3}, Head: Count{passes(random, 3, row.head[i]), 3}}
				}
				if StratifiedTest(pairs).Harm <= alpha {
					decisions[Fail]++
				}
			}
			row.want.check(t, decisions, simulated)
		})
	}
}

// TestSequentialErrors looks after each round from the second to the tenth. The base
// is repeated along with the head, or it is a run of ten repeats that is not run again.
func TestSequentialErrors(t *testing.T) { sequentialErrors(t, simulated/2) }

func sequentialErrors(t *testing.T, runs int) {
	const rounds = 10
	boundary := WangTsiatis(alpha, rounds, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}, WangTsiatisShape)
	for name, row := range map[string]struct {
		base, head []float64
		fixed      bool
		want       bounds
	}{
		"no change, 50":                           {high(50), high(50), false, bounds{1, 0.8, wrongly, 0}},
		"no change, 20":                           {high(20), high(20), false, bounds{1, 0, wrongly, 0}},
		"no change, hard 50":                      {hard(50), hard(50), false, bounds{1, 0, wrongly, 0}},
		"each 5 points less, 50":                  {high(50), less(high(50), 0.05), false, bounds{wrongly, 0, 1, 0.7}},
		"a tenth broken, 50":                      {high(50), broken(high(50), 10), false, bounds{hardly, 0, 1, 0.99}},
		"no change, 50, fixed base":               {high(50), high(50), true, bounds{1, 0.8, wrongly, 0}},
		"no change, hard 50, fixed base":          {hard(50), hard(50), true, bounds{1, 0, wrongly, 0}},
		"each 5 points less, 50, fixed base":      {high(50), less(high(50), 0.05), true, bounds{wrongly, 0, 1, 0.7}},
		"each 5 points less, hard 50, fixed base": {hard(50), less(hard(50), 0.05), true, bounds{wrongly, 0, 1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(23, 29))
			decisions := map[Decision]int{}
			var roundsRun int
			for range runs {
				decision, round := sequential(random, row.base, row.head, boundary, rounds, row.fixed)
				decisions[decision]++
				roundsRun += round
			}
			t.Logf("%.1f rounds", float64(roundsRun)/float64(runs))
			row.want.check(t, decisions, runs)
			if mean := float64(roundsRun) / float64(runs); mean > 0.9*rounds {
				t.Errorf("got %.1f rounds, want fewer: looking early is for stopping early", mean)
			}
		})
	}
}

// TestRateErrors asks of one arm whether it reaches a bound that is its very rate: a
// pass and a fail are as wrong. One looks once, or after each round from the second.
func TestRateErrors(t *testing.T) {
	const rounds = 10
	boundary := WangTsiatis(alpha, rounds, []int{2, 4, 6, 8, 10}, WangTsiatisShape)
	for name, rates := range map[string][]float64{
		"eleven at 0.8":  less(perfect(11), 0.2),
		"fifty at 0.95":  less(perfect(50), 0.05),
		"ten at 0.5":     less(perfect(10), 0.5),
		"fifty, high":    high(50),
		"fifty, hard":    hard(50),
		"five, hard":     hard(5),
		"twenty at 0.99": less(perfect(20), 0.01),
	} {
		t.Run(name, func(t *testing.T) {
			least := mean(rates)
			decide := func(cases []Case, level float64) Decision {
				e := Repeatability(cases, 1-2*level)
				return DecideRate(KornGraubard(e.Point, e.EffectiveN, 1-2*level), least)
			}
			random := rand.New(rand.NewPCG(59, 61))
			const runs = simulated / 2
			for _, repeats := range []int{1, 3} {
				once := map[Decision]int{}
				for range runs {
					once[decide(repeated(random, rates, repeats), alpha)]++
				}
				bounds{wrongly, 0, wrongly, 0}.check(t, once, runs)
			}
			looks := map[Decision]int{}
			for range runs {
				passed, cases := make([]int, len(rates)), make([]Case, len(rates))
				decision := Inconclusive
				for round := 1; round <= rounds && decision == Inconclusive; round++ {
					for i, p := range rates {
						passed[i] += passes(random, 1, p)
						cases[i] = Passed(passed[i], round)
					}
					if level, planned := boundary.Level(round); planned {
						decision = decide(cases, level)
					}
				}
				looks[decision]++
			}
			bounds{wrongly, 0, wrongly, 0}.check(t, looks, runs)
		})
	}
}

// TestFixedBaseIsConservative: where the base is not repeated, the looks have more in
// common than was planned for, so that a walk crosses less often. With as many repeats
// of the base as there are rounds, a look after round k knows 2k/(k+rounds) of what the
// last one knows, and not k/rounds.
func TestFixedBaseIsConservative(t *testing.T) {
	const rounds = 5
	b := WangTsiatis(alpha, rounds, []int{2, 3, 4, 5}, WangTsiatisShape)
	var times []float64
	for _, look := range b.Looks {
		times = append(times, 2*float64(look)/float64(look+rounds))
	}
	if got := crossing(b.Critical, times); got > alpha-0.002 || got < b.Levels[len(b.Levels)-1] {
		t.Errorf("a walk crosses with a chance of %.4f, want less than %v", got, alpha)
	}
}

func sequential(random *rand.Rand, base, head []float64, boundary Boundary, rounds int, fixed bool) (Decision, int) {
	from, to := make([]Case, len(base)), make([]Case, len(base))
	if fixed {
		from = repeated(random, base, rounds)
	}
	passedFrom, passedTo := make([]int, len(base)), make([]int, len(base))
	for round := 1; round <= rounds; round++ {
		for i := range base {
			passedTo[i] += passes(random, 1, head[i])
			to[i] = Passed(passedTo[i], round)
			if !fixed {
				passedFrom[i] += passes(random, 1, base[i])
				from[i] = Passed(passedFrom[i], round)
			}
		}
		if level, planned := boundary.Level(round); planned {
			if d := Decide(Difference(from, to, level), margin); d != Inconclusive {
				return d, round
			}
		}
	}
	return Inconclusive, rounds
}

// TestBetErrors looks after every round and stops as soon as it likes.
func TestBetErrors(t *testing.T) {
	for name, row := range map[string]struct {
		base, head []float64
		want       bounds
	}{
		"no change":          {high(50), high(50), bounds{1, 0.5, alpha, 0}},
		"each 5 points less": {high(50), less(high(50), 0.05), bounds{alpha, 0, 1, 0.3}},
		"a tenth broken":     {high(50), broken(high(50), 10), bounds{hardly, 0, 1, 0.95}},
	} {
		t.Run(name, func(t *testing.T) {
			const runs = 500
			random := rand.New(rand.NewPCG(31, 37))
			decisions := map[Decision]int{}
			for range runs {
				var rounds [][]float64
				for range 10 {
					differences := make([]float64, len(row.base))
					for i := range differences {
						differences[i] = float64(passes(random, 1, row.head[i]) - passes(random, 1, row.base[i]))
					}
					rounds = append(rounds, differences)
				}
				decisions[Bet(rounds, margin, alpha).Decision]++
			}
			row.want.check(t, decisions, runs)
		})
	}
}

// TestScreenAndConfirmErrors screens 50 cases after three repeats by a drop of two
// thirds, and gives those that are suspect eight fresh ones in both arms.
func TestScreenAndConfirmErrors(t *testing.T) {
	for name, row := range map[string]struct {
		head []float64
		want bounds
	}{
		"no change":     {high(50), bounds{1, 0, alpha, 0}},
		"one is broken": {broken(high(50), 50), bounds{1, 0, 1, 0.99}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(41, 43))
			decisions := map[Decision]int{}
			base := high(50)
			for range simulated {
				draw := func(i, repeats int) Pair {
					return Pair{Base: Count{passes(random, repeats, base[i]), repeats}, Head: Count{passes(random, repeats, row.head[i]), repeats}}
				}
				var pairs, fresh []Pair
				for i := range base {
					pairs = append(pairs, draw(i, 3))
				}
				for _, i := range Screen(pairs, 2, 3) {
					fresh = append(fresh, draw(i, 8))
				}
				for _, p := range Confirm(fresh) {
					if p <= alpha {
						decisions[Fail]++
						break
					}
				}
			}
			row.want.check(t, decisions, simulated)
		})
	}
}
