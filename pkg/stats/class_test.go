package stats

import (
	"testing"

	"pgregory.net/rapid"
)

func TestClassifyVectors(t *testing.T) {
	for _, v := range vectors(t, "classify") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				C, N          int
				Epsilon, Conf float64
			}
			var want struct {
				Class        Stability `json:"cls"`
				Lower, Upper number
				Material     bool
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Classify(in.C, in.N, in.Epsilon, in.Conf)
			if got.Stability != want.Class || got.Material != want.Material {
				t.Errorf("got %+v, want %s, material %v", got, want.Class, want.Material)
			}
			near(t, "lower", got.Lower, want.Lower, v.Tol)
			near(t, "upper", got.Upper, want.Upper, v.Tol)
		})
	}
}

func TestRepeatsToConfirmVectors(t *testing.T) {
	for _, v := range vectors(t, "min_n_stable") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Epsilon, Conf float64
				Failures      int
			}
			var want struct{ N int }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if got := RepeatsToConfirm(in.Failures, in.Epsilon, in.Conf); got != want.N {
				t.Errorf("got %d, want %d", got, want.N)
			}
		})
	}
	if got := RepeatsToConfirm(0, 0, 0.95); got != -1 {
		t.Errorf("without a tolerance: got %d, want -1", got)
	}
	if got := RepeatsToConfirm(2, 0.05, 0.95); got != 124 {
		t.Errorf("with two failures: got %d, want 124", got)
	}
}

// TestConfirmedIsStable: the repeats that confirm make the class stable, and one
// fewer does not.
func TestConfirmedIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failures := rapid.IntRange(0, 3).Draw(t, "failures")
		tolerance := rapid.Float64Range(0.01, 0.4).Draw(t, "tolerance")
		n := RepeatsToConfirm(failures, tolerance, 0.95)
		if got := Classify(n-failures, n, tolerance, 0.95); got.Stability != StablePass {
			t.Fatalf("%d failures in %d at %v: got %+v, want %s", failures, n, tolerance, got, StablePass)
		}
		if got := Classify(n-1-failures, n-1, tolerance, 0.95); got.Stability == StablePass {
			t.Fatalf("%d failures in %d at %v: got %+v already", failures, n-1, tolerance, got)
		}
		if got := Classify(failures, n, tolerance, 0.95); got.Stability != StableFail {
			t.Fatalf("%d passes in %d at %v: got %+v, want %s", failures, n, tolerance, got, StableFail)
		}
	})
}

// TestStablePassIsRarelyWrong: a case that passes less often than the tolerance
// asks is called stable with a chance of at most 5 %.
func TestStablePassIsRarelyWrong(t *testing.T) {
	for n := 1; n <= 200; n += 7 {
		var wrong float64
		for c := range n + 1 {
			if Classify(c, n, 0.1, 0.95).Stability == StablePass {
				wrong += binomial(c, n, 0.9-1e-9)
			}
		}
		if wrong > 0.05+1e-6 {
			t.Errorf("n = %d: called stable with a chance of %.4f", n, wrong)
		}
	}
}
