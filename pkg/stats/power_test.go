package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestMDEVectors(t *testing.T) {
	for _, v := range vectors(t, "mde_fixed_suite") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				A       float64 `json:"mean_sigma2_a"`
				B       float64 `json:"mean_sigma2_b"`
				Cases   int
				Repeats int
				Alpha   float64
				Power   float64
			}
			var want struct{ MDE number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "MDE", Design{in.Cases, in.Alpha, in.Power}.MDE(in.A, in.B, in.Repeats), want.MDE, v.Tol)
		})
	}
}

func TestRequiredRepeatsVectors(t *testing.T) {
	for _, v := range vectors(t, "required_repeats") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Variance float64 `json:"mean_sigma2"`
				Cases    int
				Delta    float64
				Alpha    float64
				Power    float64
			}
			var want struct {
				N    number
				Ceil number `json:"n_ceil"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Design{in.Cases, in.Alpha, in.Power}.RequiredRepeats(in.Variance, in.Delta)
			near(t, "repeats", got, want.N, v.Tol)
			near(t, "whole repeats", max(2, math.Ceil(got)), want.Ceil, 0)
		})
	}
}

// What a design cannot show takes infinitely many repeats.
func TestDesignWithoutData(t *testing.T) {
	for name, got := range map[string]float64{
		"no cases":            Design{0, 0.05, 0.8}.MDE(0.1, 0.1, 3),
		"no repeats":          Design{10, 0.05, 0.8}.MDE(0.1, 0.1, 0),
		"no cases to repeat":  Design{0, 0.05, 0.8}.RequiredRepeats(0.1, 0.05),
		"a drop of nothing":   Design{10, 0.05, 0.8}.RequiredRepeats(0.1, 0),
		"a drop that is none": Design{10, 0.05, 0.8}.RequiredRepeats(0.1, -1),
	} {
		if !math.IsInf(got, 1) {
			t.Errorf("%s: got %v, want infinity", name, got)
		}
	}
}

// TestRepeatsInvertMDE: the repeats that a drop requires show it, and one repeat
// less does not.
func TestRepeatsInvertMDE(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Design{rapid.IntRange(1, 500).Draw(t, "cases"), rapid.Float64Range(0.001, 0.2).Draw(t, "alpha"), rapid.Float64Range(0.5, 0.99).Draw(t, "power")}
		variance := rapid.Float64Range(0.001, 0.25).Draw(t, "variance")
		drop := rapid.Float64Range(0.005, 0.5).Draw(t, "drop")
		n := int(math.Ceil(d.RequiredRepeats(variance, drop)))
		if got := d.MDE(variance, variance, n); got > drop*(1+1e-9) {
			t.Fatalf("%d repeats show %v, want %v", n, got, drop)
		}
		if got := d.MDE(variance, variance, n-1); n > 1 && got < drop*(1-1e-9) {
			t.Fatalf("%d repeats show %v already, want %d for %v", n-1, got, n, drop)
		}
	})
}
