package stats

import (
	"math"
	"testing"
)

func TestManskiVectors(t *testing.T) {
	for _, v := range vectors(t, "invalid_bounds") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Passes, Valid, Invalid int }
			var want struct{ Rate, Worst, Best number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Manski(in.Passes, in.Valid, in.Invalid)
			near(t, "rate", got.Point, want.Rate, v.Tol)
			near(t, "worst", got.Low, want.Worst, v.Tol)
			near(t, "best", got.High, want.Best, v.Tol)
		})
	}
}

func TestManskiEdges(t *testing.T) {
	for name, got := range map[string]Interval{"no trials": Manski(0, 0, 0), "none judged": Manski(0, 0, 5)} {
		if !math.IsNaN(got.Point) || got.Low != 0 || got.High != 1 {
			t.Errorf("%s: got %+v, want a NaN point in [0, 1]", name, got)
		}
	}
}
