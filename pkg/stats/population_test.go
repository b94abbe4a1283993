package stats

import (
	"math"
	"testing"
)

func TestRequiredCasesVectors(t *testing.T) {
	for _, v := range vectors(t, "power_miller") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Omega2       float64
				A            float64 `json:"sigma2_a"`
				B            float64 `json:"sigma2_b"`
				KA           float64 `json:"k_a"`
				KB           float64 `json:"k_b"`
				Delta        float64
				Alpha, Power float64
			}
			var want struct {
				N    number
				Ceil number `json:"n_ceil"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Population{Between: in.Omega2, Base: in.A / in.KA, Head: in.B / in.KB}.RequiredCases(in.Delta, in.Alpha, in.Power)
			near(t, "cases", got, want.N, v.Tol)
			near(t, "whole cases", math.Ceil(got), want.Ceil, 0)
		})
	}
	if got := (Population{Between: 0.1}).RequiredCases(0, 0.05, 0.8); !math.IsInf(got, 1) {
		t.Errorf("for no difference: got %v, want infinity", got)
	}
}

func TestAdjustByCovariateVectors(t *testing.T) {
	for _, v := range vectors(t, "cuped") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				X, Y []float64
				Mean float64 `json:"x_mean"`
			}
			var want struct {
				Theta number
				Mean  number `json:"mean_adj"`
				Ratio number `json:"var_ratio"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Adjust(in.Y, in.X, in.Mean)
			near(t, "theta", got.Theta, want.Theta, v.Tol)
			near(t, "mean", got.Mean, want.Mean, v.Tol)
			near(t, "variance", got.VarianceRatio, want.Ratio, v.Tol)
		})
	}
	if got := Adjust([]float64{1, 2}, []float64{1}, 0); !math.IsNaN(got.Mean) || !math.IsNaN(got.Theta) || !math.IsNaN(got.VarianceRatio) {
		t.Errorf("values without a covariate: got %+v, want NaN", got)
	}
}

func TestNeymanVectors(t *testing.T) {
	for _, v := range vectors(t, "neyman") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				SD, Cost []float64
				Budget   float64
			}
			var want struct {
				N     []number
				Spend number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Neyman(in.SD, in.Cost, in.Budget)
			var spend float64
			for i, n := range got {
				near(t, "repeats", n, want.N[i], v.Tol)
				spend += n * in.Cost[i]
			}
			near(t, "spend", spend, want.Spend, v.Tol)
		})
	}
	if got := Neyman([]float64{0, 0}, []float64{1, 2}, 10); got[0] != 0 || got[1] != 0 {
		t.Errorf("without a spread: got %v, want none", got)
	}
}
