package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestSuiteVectors(t *testing.T) {
	for _, v := range vectors(t, "suite_summary") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Cases []struct {
					C, N    int
					W       float64
					Cluster string
				}
				Conf float64
			}
			decode(t, v.Inputs, &in)
			var want struct {
				Cases, Trials number
				Macro, Micro  number
				SEGeneral     number    `json:"se_general"`
				NGeneral      number    `json:"n_eff_general"`
				General       [2]number `json:"ci_general"`
				SERepeat      number    `json:"se_repeat"`
				NRepeat       number    `json:"n_eff_repeat"`
				Repeat        [2]number `json:"ci_repeat"`
				Observed      *number   `json:"var_observed"`
				Within        *number   `json:"var_within"`
				Between       *number   `json:"var_between"`
				ShareWithin   *number   `json:"share_within"`
				ICC           *number
			}
			decode(t, v.Expected, &want)
			if v.ID == "suite_summary-05" {
				// The t quantile of SciPy 1.10 that this one was made with, 2.009575234 for
				// 49 degrees of freedom, is right to eight digits; 2.009575237, which the closed
				// form of the distribution for odd degrees bears out, gives this.
				near(t, "generalisation n of SciPy", float64(want.NGeneral), 84.987400718872, 3e-7)
				want.NGeneral = 84.987400718872
			}
			var cases []Case
			for _, c := range in.Cases {
				one := Passed(c.C, c.N)
				one.Weight, one.Cluster = c.W, c.Cluster
				cases = append(cases, one)
			}
			near(t, "cases", float64(len(known(cases))), want.Cases, 0)
			near(t, "trials", sumOver(cases, func(c Case) float64 { return float64(c.Repeats) }), want.Trials, 0)
			near(t, "macro", Macro(cases), want.Macro, v.Tol)
			near(t, "micro", Micro(cases), want.Micro, v.Tol)

			general := Generalize(cases, in.Conf)
			near(t, "generalisation SE", general.SE, want.SEGeneral, v.Tol)
			near(t, "generalisation n", general.EffectiveN, want.NGeneral, v.Tol)
			near(t, "generalisation low", general.Low, want.General[0], v.Tol)
			near(t, "generalisation high", general.High, want.General[1], v.Tol)

			repeat := Repeatability(cases, in.Conf)
			near(t, "repeatability SE", repeat.SE, want.SERepeat, v.Tol)
			near(t, "repeatability n", repeat.EffectiveN, want.NRepeat, v.Tol)
			near(t, "repeatability low", repeat.Low, want.Repeat[0], v.Tol)
			near(t, "repeatability high", repeat.High, want.Repeat[1], v.Tol)

			got := Decompose(cases)
			for what, pair := range map[string]struct {
				got  float64
				want *number
			}{
				"observed":     {got.Observed, want.Observed},
				"within":       {got.Within, want.Within},
				"between":      {got.Between, want.Between},
				"share within": {got.ShareWithin, want.ShareWithin},
				"ICC":          {got.ICC, want.ICC},
			} {
				if pair.want != nil {
					near(t, what, pair.got, *pair.want, v.Tol)
				}
			}
		})
	}
}

func TestSuiteDisagreementVectors(t *testing.T) {
	for _, v := range vectors(t, "suite_disagreement") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				N int
				C []int
			}
			var want struct {
				Value number
				TAR   number `json:"tar_at_2"`
				Mixed number `json:"frac_mixed"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var disagreement, agreement []Case
			var passed []Case
			var mixed float64
			for _, c := range in.C {
				labels := make([]bool, in.N)
				for i := range c {
					labels[i] = true
				}
				disagreement = append(disagreement, Case{Repeats: in.N, Mean: Disagreement(c, in.N)})
				agreement = append(agreement, Case{Repeats: in.N, Mean: TARAtK(labels, 2)})
				passed = append(passed, Passed(c, in.N))
				if Classify(c, in.N, 0.1, 0.95).Stability == Flaky {
					mixed++
				}
			}
			near(t, "disagreement", Macro(disagreement), want.Value, v.Tol)
			near(t, "agreement", Macro(agreement), want.TAR, v.Tol)
			near(t, "mixed", mixed/float64(len(in.C)), want.Mixed, v.Tol)
			// The same number makes the error bar of a repeat.
			near(t, "twice the variance", 2*sumOver(passed, func(c Case) float64 { return c.Variance })/float64(len(passed)), want.Value, v.Tol)
		})
	}
}

func TestSuiteWithoutCases(t *testing.T) {
	for name, cases := range map[string][]Case{"none": nil, "none with a verdict": {Passed(0, 0)}, "none tried often enough": {{Repeats: 2, Mean: math.NaN()}}} {
		for what, got := range map[string]Estimate{"other cases": Generalize(cases, 0.95), "these cases": Repeatability(cases, 0.95)} {
			if !math.IsNaN(got.Point) || !math.IsNaN(got.SE) || got.Low != 0 || got.High != 1 || got.EffectiveN != 0 {
				t.Errorf("%s, %s: got %+v, want a NaN point in [0, 1]", name, what, got)
			}
		}
		if got := Decompose(cases); !math.IsNaN(got.Observed) || !math.IsNaN(got.ICC) || !math.IsNaN(Macro(cases)) || !math.IsNaN(Micro(cases)) {
			t.Errorf("%s: got %+v, want NaN", name, got)
		}
	}
}

// Cases that were not repeated say nothing of chance within cases.
func TestDecomposeLeavesOutSingleRepeats(t *testing.T) {
	got := Decompose([]Case{Passed(3, 4), Passed(1, 1), Passed(1, 4)})
	want := Decompose([]Case{Passed(3, 4), Passed(1, 4)})
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestKornGraubardIsClopperPearson where the number of trials is whole.
func TestKornGraubardIsClopperPearson(t *testing.T) {
	for n := 1; n <= 40; n++ {
		for c := range n + 1 {
			got, want := KornGraubard(float64(c)/float64(n), float64(n), 0.9), ClopperPearson(c, n, 0.9)
			near(t, "low", got.Low, number(want.Low), 1e-9)
			near(t, "high", got.High, number(want.High), 1e-9)
		}
	}
	if got := KornGraubard(math.NaN(), 0, 0.9); !math.IsNaN(got.Point) || got.Low != 0 || got.High != 1 {
		t.Errorf("without trials: got %+v, want a NaN point in [0, 1]", got)
	}
}

func TestDecideRate(t *testing.T) {
	nan := math.NaN()
	for name, row := range map[string]struct {
		rate Interval
		want Decision
	}{
		"above":       {Interval{0.97, 0.95, 0.99}, Pass},
		"reached":     {Interval{0.95, 0.9, 0.97}, Pass},
		"around":      {Interval{0.9, 0.85, 0.95}, Inconclusive},
		"up to it":    {Interval{0.85, 0.8, 0.9}, Inconclusive},
		"below":       {Interval{0.8, 0.7, 0.89}, Fail},
		"nothing ran": {Interval{nan, 0, 1}, Inconclusive},
		"no bounds":   {Interval{0.9, nan, nan}, Inconclusive},
	} {
		if got := DecideRate(row.rate, 0.9); got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}

func drawCases(t *rapid.T) []Case {
	graded := rapid.Bool().Draw(t, "graded")
	var cases []Case
	for range rapid.IntRange(1, 30).Draw(t, "cases") {
		var c Case
		if graded {
			c = Scored(rapid.SliceOfN(rapid.Float64Range(0, 1), 1, 6).Draw(t, "scores"))
		} else {
			n := rapid.IntRange(0, 10).Draw(t, "n")
			c = Passed(rapid.IntRange(0, n).Draw(t, "c"), n)
		}
		c.Weight = float64(rapid.IntRange(0, 3).Draw(t, "weight"))
		c.Cluster = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "cluster")
		cases = append(cases, c)
	}
	return cases
}

// TestOrderDoesNotMatter: the bits are the same in whatever order workers were
// done.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cases := drawCases(t)
		numbers := func(cases []Case) string {
			return fmt.Sprint(Macro(cases), Micro(cases), Generalize(cases, 0.95), Repeatability(cases, 0.95), Decompose(cases))
		}
		want := numbers(cases)
		shuffled := rapid.Permutation(cases).Draw(t, "order")
		if got := numbers(shuffled); got != want {
			t.Fatalf("got\n%s, in another order\n%s", got, want)
		}
	})
}

func TestSuiteProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cases := drawCases(t)
		g, r := Generalize(cases, 0.95), Repeatability(cases, 0.95)
		for what, e := range map[string]Estimate{"other cases": g, "these cases": r} {
			if math.IsNaN(e.Point) || math.IsNaN(e.Low) {
				continue
			}
			if !(0 <= e.Low && e.Low <= e.Point+1e-12 && e.Point <= e.High+1e-12 && e.High <= 1) {
				t.Fatalf("%s: bounds out of order: %+v", what, e)
			}
			if e.High-e.Low <= 0 {
				t.Fatalf("%s: no width: %+v", what, e)
			}
		}
	})
}

// TestSuiteCoverage draws suites and counts how often the 95 % intervals hold what
// they speak of: the mean rate of all cases there could be, and that of the cases
// drawn. The seed is fixed.
func TestSuiteCoverage(t *testing.T) {
	const runs = 1000
	random := rand.New(rand.NewPCG(3, 5))
	for name, suite := range map[string]struct {
		mean           float64
		rate           func() float64
		cases, repeats int
	}{
		"all at 0.99, 10×3": {0.99, func() float64 { return 0.99 }, 10, 3},
		"all at 0.99, 50×5": {0.99, func() float64 { return 0.99 }, 50, 5},
		"spread, 10×3":      {0.9, func() float64 { return math.Pow(random.Float64(), 1.0/9) }, 10, 3}, // Beta(9, 1)
		"two kinds, 10×3":   {0.892, twoKinds(random), 10, 3},
		"two kinds, 50×5":   {0.892, twoKinds(random), 50, 5},
	} {
		t.Run(name, func(t *testing.T) {
			var general, repeat int
			for range runs {
				var cases []Case
				var truth float64
				for range suite.cases {
					p := suite.rate()
					truth += p / float64(suite.cases)
					cases = append(cases, Passed(passes(random, suite.repeats, p), suite.repeats))
				}
				if e := Generalize(cases, 0.95); e.Low <= suite.mean && suite.mean <= e.High {
					general++
				}
				if e := Repeatability(cases, 0.95); e.Low <= truth && truth <= e.High {
					repeat++
				}
			}
			for what, held := range map[string]int{"other cases": general, "these cases": repeat} {
				if share := float64(held) / runs; share < 0.93 {
					t.Errorf("coverage of %s: got %.3f", what, share)
				}
			}
		})
	}
}

func twoKinds(random *rand.Rand) func() float64 {
	return func() float64 {
		if random.Float64() < 0.9 {
			return 0.98
		}
		return 0.10
	}
}

// passes draws how many of n repeats pass.
func passes(random *rand.Rand, n int, p float64) int {
	var c int
	for range n {
		if random.Float64() < p {
			c++
		}
	}
	return c
}
