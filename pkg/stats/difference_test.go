package stats

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGateVectors(t *testing.T) {
	for _, v := range vectors(t, "gate") {
		t.Run(v.ID, func(t *testing.T) {
			type count struct{ C, N int }
			var in struct {
				Baseline, Candidate []count
				Margin, Alpha       float64
			}
			var want struct {
				Delta, Lo, Hi number
				Harm          number `json:"p_harm_exact"`
				HarmMid       number `json:"p_harm_mid"`
				Verdict       string
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var pairs []Pair
			for i, base := range in.Baseline {
				pairs = append(pairs, Pair{Base: Count{base.C, base.N}, Head: Count{in.Candidate[i].C, in.Candidate[i].N}})
			}
			base, head := arms(pairs)
			got := Difference(base, head, in.Alpha)
			near(t, "difference", got.Point, want.Delta, v.Tol)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
			p := StratifiedTest(pairs)
			near(t, "harm", p.Harm, want.Harm, v.Tol)
			near(t, "mid", p.HarmMid, want.HarmMid, v.Tol)
			if d := Decide(got, in.Margin); d != Decision(strings.ToLower(want.Verdict)) {
				t.Errorf("decision: got %s, want %s", d, want.Verdict)
			}
		})
	}
}

func arms(pairs []Pair) (base, head []Case) {
	for _, p := range pairs {
		base, head = append(base, Passed(p.Base.Passed, p.Base.Trials)), append(head, Passed(p.Head.Passed, p.Head.Trials))
	}
	return base, head
}

func TestBonettPriceVectors(t *testing.T) {
	for _, v := range vectors(t, "bonett_price") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Regressions, Improvements, Pairs int
				Alpha                            float64
			}
			var want struct{ Delta, Center, Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := BonettPrice(in.Regressions, in.Improvements, in.Pairs, in.Alpha)
			near(t, "difference", got.Point, want.Delta, v.Tol)
			near(t, "middle", (got.Low+got.High)/2, want.Center, v.Tol)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
		})
	}
}

func TestDifferenceOfNothing(t *testing.T) {
	for name, got := range map[string]Interval{
		"no cases":            Difference(nil, nil, 0.05),
		"none in both arms":   Difference([]Case{Passed(3, 3), Passed(0, 0)}, []Case{Passed(0, 0), Passed(3, 3)}, 0.05),
		"other cases":         Difference([]Case{Passed(3, 3)}, nil, 0.05),
		"no pairs to compare": BonettPrice(0, 0, 0, 0.05),
	} {
		if !math.IsNaN(got.Point) || got.Low != -1 || got.High != 1 {
			t.Errorf("%s: got %+v, want a NaN point in [-1, 1]", name, got)
		}
		if d := Decide(got, 0.05); d != Inconclusive {
			t.Errorf("%s: got %s, want %s", name, d, Inconclusive)
		}
	}
	nan := math.NaN()
	if d := Decide(Interval{nan, nan, nan}, 0.05); d != Inconclusive {
		t.Errorf("no bounds: got %s, want %s", d, Inconclusive)
	}
}

// A case that is new in the head, or gone from it, is no difference.
func TestDifferenceLeavesOutWhatIsNotInBothArms(t *testing.T) {
	base := []Case{Passed(3, 3), Passed(2, 3), Passed(0, 0)}
	head := []Case{Passed(2, 3), Passed(0, 0), Passed(0, 3)}
	if got, want := Difference(base, head, 0.05), Difference(base[:1], head[:1], 0.05); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestDifferenceProperties: arms that change places mirror the interval to the bit,
// the order of the cases changes no bit, and a smaller α is wider.
func TestDifferenceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := drawPairs(t, 20, rapid.SampledFrom([]int{1, 10}).Draw(t, "trials"))
		base, head := arms(pairs)
		got, turned := Difference(base, head, 0.05), Difference(head, base, 0.05)
		if math.IsNaN(got.Point) {
			t.Skip("nothing to compare")
		}
		if got.Point != -turned.Point || math.Abs(got.Low+turned.High) > 1e-12 || math.Abs(got.High+turned.Low) > 1e-12 {
			t.Fatalf("got %+v, with the arms exchanged %+v", got, turned)
		}
		if !(-1-1e-12 <= got.Low && got.Low <= got.Point && got.Point <= got.High && got.High <= 1+1e-12 && got.Low < got.High) {
			t.Fatalf("bounds out of order: %+v", got)
		}
		again, headAgain := arms(rapid.Permutation(pairs).Draw(t, "order"))
		if other := Difference(again, headAgain, 0.05); other != got {
			t.Fatalf("got %+v, in another order %+v", got, other)
		}
		if wide := Difference(base, head, 0.01); wide.Low > got.Low || wide.High < got.High {
			t.Fatalf("at 0.01 %+v is narrower than at 0.05 %+v", wide, got)
		}
	})
}

// TestDifferenceOfScores: scores are compared like passes, and scores of 0 and 1 are
// passes.
func TestDifferenceOfScores(t *testing.T) {
	base := []Case{Scored([]float64{1, 1, 0}), Scored([]float64{1, 1, 1})}
	head := []Case{Scored([]float64{0, 1, 0}), Scored([]float64{1, 0, 1})}
	got := Difference(base, head, 0.05)
	want := Difference([]Case{Passed(2, 3), Passed(3, 3)}, []Case{Passed(1, 3), Passed(2, 3)}, 0.05)
	for what, pair := range map[string][2]float64{"point": {got.Point, want.Point}, "low": {got.Low, want.Low}, "high": {got.High, want.High}} {
		near(t, what, pair[0], number(pair[1]), 1e-12)
	}
	// One score a case says nothing of chance within it, and no pair of verdicts.
	if got := Difference([]Case{Scored([]float64{0.5})}, []Case{Scored([]float64{0.4})}, 0.05); !(got.Low < got.Point && got.Point < got.High) {
		t.Errorf("single scores: got %+v", got)
	}
}

func TestRatioGateVectors(t *testing.T) {
	for _, v := range vectors(t, "ratio_gate") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Lo, Hi    number
				Tolerance float64
			}
			var want struct{ Verdict string }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if got := DecideRatio(Interval{Low: float64(in.Lo), High: float64(in.Hi)}, in.Tolerance); got != Decision(strings.ToLower(want.Verdict)) {
				t.Errorf("got %s, want %s", got, want.Verdict)
			}
		})
	}
}
