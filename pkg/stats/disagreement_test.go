package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestDisagreementVectors(t *testing.T) {
	for _, v := range vectors(t, "disagreement") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ N, C int }
			var want struct{ Value number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "disagreement", Disagreement(in.C, in.N), want.Value, v.Tol)
		})
	}
}

func TestTARAtKVectors(t *testing.T) {
	for _, v := range vectors(t, "tar_at_k") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Labels []string
				K      int
			}
			var want struct{ Value number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "agreement", TARAtK(in.Labels, in.K), want.Value, v.Tol)
		})
	}
	if got := TARAtK([]string{"a"}, 0); !math.IsNaN(got) {
		t.Errorf("at 0: got %v, want NaN", got)
	}
}

// TestDisagreementIsOneMinusAgreement: with two labels, two repeats that do not
// agree disagree.
func TestDisagreementIsOneMinusAgreement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		passes := rapid.SliceOfN(rapid.Bool(), 2, 40).Draw(t, "passes")
		var c int
		for _, pass := range passes {
			if pass {
				c++
			}
		}
		agree, disagree := TARAtK(passes, 2), Disagreement(c, len(passes))
		if math.Abs(agree+disagree-1) > 1e-12 {
			t.Fatalf("%d of %d: agreement %v and disagreement %v", c, len(passes), agree, disagree)
		}
		if full := TARAtK(passes, len(passes)); full != 0 && full != 1 || (full == 1) != (c == 0 || c == len(passes)) {
			t.Fatalf("%d of %d: all agree with %v", c, len(passes), full)
		}
	})
}

// TestDisagreementIsUnbiased enumerates what n repeats may come to.
func TestDisagreementIsUnbiased(t *testing.T) {
	for _, p := range []float64{0.1, 0.5, 0.98} {
		for n := 2; n <= 12; n++ {
			var mean float64
			for c := range n + 1 {
				mean += binomial(c, n, p) * Disagreement(c, n)
			}
			near(t, "mean disagreement", mean, number(2*p*(1-p)), 1e-12)
		}
	}
}
