package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestRoganGladenVectors(t *testing.T) {
	for _, v := range vectors(t, "rogan_gladen") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Rate        float64 `json:"judge_pass_rate"`
				Specificity float64
				Sensitivity float64
				N           float64
				M0, M1      int
			}
			var want struct{ Corrected, Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := RoganGladen(in.Rate, in.N, Calibration{in.Specificity, in.Sensitivity, in.M0, in.M1}, 0.95)
			near(t, "corrected", got.Point, want.Corrected, v.Tol)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
		})
	}
}

func TestUselessJudges(t *testing.T) {
	for name, row := range map[string]struct {
		n float64
		c Calibration
	}{
		"says nothing":     {100, Calibration{0.5, 0.5, 50, 50}},
		"says the reverse": {100, Calibration{0.1, 0.2, 50, 50}},
		"uncalibrated":     {100, Calibration{math.NaN(), math.NaN(), 0, 0}},
		"no trials":        {0, Calibration{0.9, 0.9, 50, 50}},
	} {
		got := RoganGladen(0.5, row.n, row.c, 0.95)
		if !math.IsNaN(got.Point) || got.Low != 0 || got.High != 1 {
			t.Errorf("%s: got %+v, want a NaN point in [0, 1]", name, got)
		}
	}
	if got := RoganGladen(0.5, 100, Calibration{0, 1, 1, 0}, 0.95); got.Low != 0 || got.High != 1 {
		t.Errorf("hardly calibrated: got %+v, want [0, 1]", got)
	}
}

// TestRoganGladenUndoesTheJudge: the rate that a judge would give is corrected
// to the one that is true.
func TestRoganGladenUndoesTheJudge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		truth := rapid.Float64Range(0, 1).Draw(t, "truth")
		c := Calibration{rapid.Float64Range(0.6, 1).Draw(t, "specificity"), rapid.Float64Range(0.6, 1).Draw(t, "sensitivity"), 100, 100}
		rate := truth*c.Sensitivity + (1-truth)*(1-c.Specificity)
		got := RoganGladen(rate, 200, c, 0.95)
		if math.Abs(got.Point-truth) > 1e-9 {
			t.Fatalf("got %v, want %v", got.Point, truth)
		}
		if !(0 <= got.Low && got.Low <= got.High && got.High <= 1) {
			t.Fatalf("bounds out of order: %+v", got)
		}
	})
}

func TestPPIVectors(t *testing.T) {
	for _, v := range vectors(t, "ppi_mean") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Labels     []float64
				Judged     []float64 `json:"judge_on_labelled"`
				Unlabelled []float64 `json:"judge_unlabelled"`
				Lam        json.RawMessage
				Conf       float64
			}
			var want struct{ Lam, Theta, SE, Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var got PPI
			if string(in.Lam) == `"auto"` {
				got = PPIMean(in.Labels, in.Judged, in.Unlabelled, in.Conf)
			} else {
				var lambda float64
				decode(t, in.Lam, &lambda)
				got = PPIMeanWith(lambda, in.Labels, in.Judged, in.Unlabelled, in.Conf)
			}
			near(t, "lambda", got.Lambda, want.Lam, v.Tol)
			near(t, "mean", got.Point, want.Theta, v.Tol)
			near(t, "SE", got.SE, want.SE, v.Tol)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
		})
	}
}

func TestPPIEdges(t *testing.T) {
	if got := PPIMean([]float64{1}, []float64{1}, []float64{1, 0}, 0.95); !math.IsNaN(got.Point) || !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) {
		t.Errorf("one label: got %+v, want NaN without bounds", got)
	}
	if got := PPIMean([]float64{1, 0, 1}, []float64{1, 0}, []float64{1, 0}, 0.95); !math.IsNaN(got.Point) {
		t.Errorf("a label without its verdict: got %+v, want NaN", got)
	}
	if got := PPIMean([]float64{1, 0, 1}, []float64{1, 1, 1}, []float64{1, 1}, 0.95); got.Lambda != 0 || math.Abs(got.Point-2.0/3) > 1e-12 {
		t.Errorf("a judge that always says the same: got %+v, want the mean of the labels", got)
	}
}

// TestPPICoverage draws trials with a judge that errs and counts how often the
// interval holds the true rate. The seed is fixed.
func TestPPICoverage(t *testing.T) {
	const truth, runs = 0.7, 2000
	random := rand.New(rand.NewPCG(1, 2))
	rate := func() (label, judged float64) {
		if random.Float64() < truth {
			label = 1
		}
		if (random.Float64() < 0.85) == (label == 1) {
			judged = 1
		}
		return label, judged
	}
	var held int
	for range runs {
		labels, judged, unlabelled := make([]float64, 80), make([]float64, 80), make([]float64, 400)
		for i := range labels {
			labels[i], judged[i] = rate()
		}
		for i := range unlabelled {
			_, unlabelled[i] = rate()
		}
		if got := PPIMean(labels, judged, unlabelled, 0.95); got.Low <= truth && truth <= got.High {
			held++
		}
	}
	if share := float64(held) / runs; share < 0.925 || share > 0.97 {
		t.Errorf("coverage of the 95 %% interval: got %.3f", share)
	}
}

func TestMajorityVectors(t *testing.T) {
	for _, v := range vectors(t, "judge_majority") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Votes []*string }
			var want struct{ Verdict Majority }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var votes []*bool
			for _, vote := range in.Votes {
				var given *bool
				if vote != nil && *vote != "abstain" {
					pass := *vote == "pass"
					given = &pass
				}
				votes = append(votes, given)
			}
			if got := JudgeMajority(votes); got != want.Verdict {
				t.Errorf("got %s, want %s", got, want.Verdict)
			}
		})
	}
	yes, no := true, false
	if got := JudgeMajority([]*bool{&yes, nil, &no}); got != MajorityTie {
		t.Errorf("one for and one against: got %s, want a tie", got)
	}
}

func TestCondorcetVectors(t *testing.T) {
	for _, v := range vectors(t, "condorcet") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Judges   int
				Accuracy float64
			}
			var want struct{ Majority, Tie number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			majority, tie := Condorcet(in.Judges, in.Accuracy)
			near(t, "majority", majority, want.Majority, v.Tol)
			near(t, "tie", tie, want.Tie, v.Tol)
		})
	}
}

func TestPositionSwapVectors(t *testing.T) {
	for _, v := range vectors(t, "position_swap") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				AB Preference `json:"order_ab"`
				BA Preference `json:"order_ba"`
			}
			var want struct {
				Winner     Preference
				Consistent bool
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if winner, consistent := PositionSwap(in.AB, in.BA); winner != want.Winner || consistent != want.Consistent {
				t.Errorf("got %s, %v; want %s, %v", winner, consistent, want.Winner, want.Consistent)
			}
		})
	}
}

func TestPositionBiasVectors(t *testing.T) {
	for _, v := range vectors(t, "position_bias_sign") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				First  int `json:"first_wins"`
				Second int `json:"second_wins"`
			}
			var want struct{ P number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "p", PositionBiasSign(in.First, in.Second), want.P, v.Tol)
		})
	}
}

// TestPositionBiasTail adds up the tail that the definition names.
func TestPositionBiasTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := rapid.IntRange(0, 300).Draw(t, "first"), rapid.IntRange(0, 300).Draw(t, "second")
		var tail float64
		for k := range min(first, second) + 1 {
			tail += binomial(k, first+second, 0.5)
		}
		want := min(1, 2*tail)
		if got := PositionBiasSign(first, second); math.Abs(got-want) > 1e-9 || got != PositionBiasSign(second, first) {
			t.Fatalf("%d and %d: got %v, want %v both ways", first, second, got, want)
		}
	})
}
