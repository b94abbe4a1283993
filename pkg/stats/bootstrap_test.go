package stats

import (
	"math"
	"slices"
	"strconv"
	"testing"
)

func middle(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func TestBootstrapVectors(t *testing.T) {
	for _, v := range vectors(t, "bootstrap_exact") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ X []float64 }
			var want struct {
				SE      number            `json:"mean_se"`
				Medians map[string]number `json:"median_pmf"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			means, medians := Resample(in.X, mean, 2000, 1), Resample(in.X, middle, 2000, 1)
			if !means.Exact || !medians.Exact {
				t.Error("not all resamples were taken")
			}
			near(t, "SE of the mean", means.SE(), want.SE, v.Tol)
			// With fewer resamples than there are, chance decides, and comes near.
			const few = 20_000
			large := slices.Concat(in.X, in.X, in.X) // 9^9 resamples, and more
			if b := Resample(large, mean, few, 7); b.Exact || math.Abs(b.SE()*math.Sqrt(3)/float64(want.SE)-1) > 0.03 {
				t.Errorf("SE of the mean of three times as many: got %v, exact %v; want about %v", b.SE(), b.Exact, float64(want.SE)/math.Sqrt(3))
			}
			seeded := Resample(in.X, middle, int(math.Pow(float64(len(in.X)), float64(len(in.X))))-1, 7)
			if seeded.Exact {
				t.Error("one resample fewer than there are is not all of them")
			}
			for name, chance := range want.Medians {
				value, err := strconv.ParseFloat(name, 64)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "chance of "+name, share(medians, value), chance, v.Tol)
				// Four standard errors of a share.
				if got := share(seeded, value); math.Abs(got-float64(chance)) > 4*math.Sqrt(float64(chance)/float64(len(seeded.Values))) {
					t.Errorf("seeded chance of %s: got %v, want about %v", name, got, float64(chance))
				}
			}
		})
	}
}

func share(b Bootstrap, value float64) float64 {
	var count int
	for _, v := range b.Values {
		if v == value {
			count++
		}
	}
	return float64(count) / float64(len(b.Values))
}

func TestBootstrapIsSeeded(t *testing.T) {
	xs := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	a, b, c := Resample(xs, middle, 500, 1), Resample(xs, middle, 500, 1), Resample(xs, middle, 500, 2)
	if !slices.Equal(a.Values, b.Values) {
		t.Error("the same seed made other resamples")
	}
	if slices.Equal(a.Values, c.Values) {
		t.Error("another seed made the same resamples")
	}
	// 2.5 % of 500 are 12: as many lie outside on each side.
	if ci := a.Interval(0.95); ci.Low != a.Values[12] || ci.High != a.Values[487] || ci.Low > ci.Point || ci.Point > ci.High {
		t.Errorf("got %+v", ci)
	}
	if none := Resample(nil, mean, 500, 1); !math.IsNaN(none.SE()) || !math.IsNaN(none.Interval(0.95).Point) {
		t.Errorf("of nothing: got %+v, want NaN", none.Interval(0.95))
	}
}
