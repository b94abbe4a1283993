package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestFleissVectors(t *testing.T) {
	for _, v := range vectors(t, "fleiss") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Counts [][]int }
			var want struct {
				Kappa number `json:"fleiss_kappa"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "kappa", FleissKappa(in.Counts), want.Kappa, v.Tol)
		})
	}
}

func TestFleissOfTooLittle(t *testing.T) {
	for name, counts := range map[string][][]int{
		"no items":      nil,
		"one rater":     {{1, 0}, {0, 1}},
		"unequal panel": {{2, 1}, {2, 0}},
	} {
		if got := FleissKappa(counts); !math.IsNaN(got) {
			t.Errorf("%s: got %v, want NaN", name, got)
		}
	}
}

func TestKrippendorffVectors(t *testing.T) {
	for _, v := range vectors(t, "krippendorff") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Units [][]*float64 }
			var want map[Scale]number
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			units := make([][]float64, len(in.Units))
			for i, unit := range in.Units {
				for _, rating := range unit {
					if rating == nil {
						units[i] = append(units[i], math.NaN())
					} else {
						units[i] = append(units[i], *rating)
					}
				}
			}
			for _, scale := range []Scale{Nominal, Ordinal, Numeric} {
				near(t, string(scale), Krippendorff(units, scale), want[scale], v.Tol)
			}
		})
	}
}

func TestKrippendorffOfNothing(t *testing.T) {
	for name, units := range map[string][][]float64{
		"no items":       nil,
		"single ratings": {{1, math.NaN()}, {2}},
	} {
		if got := Krippendorff(units, Nominal); !math.IsNaN(got) {
			t.Errorf("%s: got %v, want NaN", name, got)
		}
	}
}

// TestKrippendorffScales: with two values all scales are the same, and the
// numeric one knows neither unit nor zero.
func TestKrippendorffScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.IntRange(2, 5).Draw(t, "values")
		var units, other [][]float64
		for range rapid.IntRange(1, 20).Draw(t, "items") {
			unit := rapid.SliceOfN(rapid.Map(rapid.IntRange(1, values), func(i int) float64 { return float64(i) }), 1, 5).Draw(t, "unit")
			var moved []float64
			for _, r := range unit {
				moved = append(moved, 3*r-7)
			}
			units, other = append(units, unit), append(other, moved)
		}
		a, b := Krippendorff(units, Numeric), Krippendorff(other, Numeric)
		if math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-9 {
			t.Fatalf("got %v, and %v in another unit", a, b)
		}
		if a > 1 {
			t.Fatalf("got %v, want at most 1", a)
		}
		if n := Krippendorff(units, Nominal); values == 2 && math.Abs(n-a) > 1e-9 {
			t.Fatalf("two values: got %v for names and %v for numbers", n, a)
		}
	})
}
