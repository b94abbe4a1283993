package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestRatioVectors(t *testing.T) {
	for family, f := range map[string]func(base, head []float64, confidence float64) Interval{"ratio_of_means": RatioOfMeans, "geo_mean_ratio": GeoMeanRatio} {
		for _, v := range vectors(t, family) {
			t.Run(v.ID, func(t *testing.T) {
				var in struct {
					A, B []float64
					Conf float64
				}
				var want struct{ Ratio, Lo, Hi number }
				decode(t, v.Inputs, &in)
				decode(t, v.Expected, &want)
				got := f(in.A, in.B, in.Conf)
				near(t, "ratio", got.Point, want.Ratio, v.Tol)
				near(t, "low", got.Low, want.Lo, v.Tol)
				near(t, "high", got.High, want.Hi, v.Tol)
			})
		}
	}
}

func TestRatioOfNothing(t *testing.T) {
	for name, got := range map[string]Interval{
		"means without cases":       RatioOfMeans(nil, nil, 0.9),
		"means of free cases":       RatioOfMeans([]float64{0, 0}, []float64{0, 0}, 0.9),
		"geometric without cases":   GeoMeanRatio(nil, nil, 0.9),
		"geometric of zeros":        GeoMeanRatio([]float64{0, 0}, []float64{0, 0}, 0.9),
		"geometric of other cases":  GeoMeanRatio([]float64{1, 2, 3}, []float64{1, 2}, 0.9),
		"means of a base that is 0": {Point: math.NaN(), Low: RatioOfMeans([]float64{0, 0}, []float64{1, 2}, 0.9).Low, High: math.NaN()},
	} {
		if !math.IsNaN(got.Point) || !math.IsNaN(got.Low) || !math.IsNaN(got.High) {
			t.Errorf("%s: got %+v, want NaN", name, got)
		}
		if d := DecideRatio(got, 0.1); d != Inconclusive {
			t.Errorf("%s: got %s, want %s", name, d, Inconclusive)
		}
	}
}

// TestRatioProperties: a unit of money changes nothing, arms that change places turn
// a geometric ratio over, and the order of the cases changes no bit.
func TestRatioProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "n")
		base := rapid.SliceOfN(rapid.Float64Range(0.1, 10), n, n).Draw(t, "base")
		head := rapid.SliceOfN(rapid.Float64Range(0.1, 10), n, n).Draw(t, "head")
		same := func(what string, a, b Interval) {
			if math.Abs(a.Point-b.Point) > 1e-9*a.Point || math.Abs(a.Low-b.Low) > 1e-6*a.Low || math.Abs(a.High-b.High) > 1e-6*a.High {
				t.Fatalf("%s: got %+v, want %+v", what, a, b)
			}
		}
		var cents, centsHead []float64
		for i := range base {
			cents, centsHead = append(cents, 100*base[i]), append(centsHead, 100*head[i])
		}
		same("in cents", RatioOfMeans(cents, centsHead, 0.9), RatioOfMeans(base, head, 0.9))
		turned := GeoMeanRatio(head, base, 0.9)
		same("turned over", Interval{1 / turned.Point, 1 / turned.High, 1 / turned.Low}, GeoMeanRatio(base, head, 0.9))
		if math.IsInf(GeoMeanRatio(base, head, 0.9).High, 1) || GeoMeanRatio(base, head, 0.9).Low <= 0 {
			t.Fatalf("got %+v", GeoMeanRatio(base, head, 0.9))
		}

		order := rapid.Permutation(seq(n)).Draw(t, "order")
		var b, h []float64
		for _, i := range order {
			b, h = append(b, base[i]), append(h, head[i])
		}
		ranked, _ := SignedRank(LogRatios(base, head), 0.9)
		rankedAgain, _ := SignedRank(LogRatios(b, h), 0.9)
		if RatioOfMeans(b, h, 0.9) != RatioOfMeans(base, head, 0.9) || GeoMeanRatio(b, h, 0.9) != GeoMeanRatio(base, head, 0.9) || ranked != rankedAgain {
			t.Fatalf("another order makes other bits")
		}
	})
}

func seq(n int) []int {
	var out []int
	for i := range n {
		out = append(out, i)
	}
	return out
}

func TestHodgesLehmannVectors(t *testing.T) {
	for _, v := range vectors(t, "hodges_lehmann_1") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ X []float64 }
			var want struct{ Value number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "pseudo-median", HodgesLehmann(in.X), want.Value, v.Tol)
		})
	}
	for _, v := range vectors(t, "hodges_lehmann_2") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ A, B []float64 }
			var want struct{ Shift number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "shift", Shift(in.A, in.B), want.Shift, v.Tol)
		})
	}
	if got := Shift([]float64{1}, nil); !math.IsNaN(got) {
		t.Errorf("shift to nothing: got %v, want NaN", got)
	}
}

func TestSignedRankVectors(t *testing.T) {
	for _, v := range vectors(t, "signed_rank_ci") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				X    []float64
				Conf float64
			}
			var want struct{ Lo, Hi, Coverage number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got, coverage := SignedRank(in.X, in.Conf)
			if math.IsInf(float64(want.Lo), -1) {
				if !math.IsInf(got.Low, -1) || !math.IsInf(got.High, 1) {
					t.Errorf("got %+v, want no bounds", got)
				}
			} else {
				near(t, "low", got.Low, want.Lo, v.Tol)
				near(t, "high", got.High, want.Hi, v.Tol)
			}
			near(t, "coverage", coverage, want.Coverage, v.Tol)
		})
	}
}

// TestHodgesLehmannByEnumeration writes all sums down, to the bit.
func TestHodgesLehmannByEnumeration(t *testing.T) {
	value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Map(rapid.IntRange(-3, 3), func(i int) float64 { return float64(i) }))
	middle := func(xs []float64) float64 {
		slices.Sort(xs)
		n := len(xs)
		if n%2 == 1 {
			return xs[n/2]
		}
		return (xs[n/2-1] + xs[n/2]) / 2
	}
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(value, 1, 25).Draw(t, "xs")
		ys := rapid.SliceOfN(value, 1, 25).Draw(t, "ys")
		var means, differences []float64
		for i, x := range xs {
			for _, other := range xs[:i+1] {
				means = append(means, (x+other)*0.5)
			}
			for _, y := range ys {
				differences = append(differences, y-x)
			}
		}
		if got, want := HodgesLehmann(xs), middle(means); got != want {
			t.Fatalf("pseudo-median of %v: got %v, want %v", xs, got, want)
		}
		if got, want := Shift(xs, ys), middle(differences); got != want {
			t.Fatalf("shift from %v to %v: got %v, want %v", xs, ys, got, want)
		}
		ci, coverage := SignedRank(xs, 0.9)
		if ci.Low > ci.Point || ci.High < ci.Point || coverage < 0.9 {
			t.Fatalf("%v: got %+v with %v", xs, ci, coverage)
		}
	})
}

// TestSignedRankIsSmooth: the ranks by the normal distribution are those that adding
// up gives, where the one takes over from the other.
func TestSignedRankIsSmooth(t *testing.T) {
	var xs []float64
	for i := range signedRankExact + 1 {
		xs = append(xs, math.Sin(float64(i))+float64(i)/500)
	}
	exact, _ := SignedRank(xs[:signedRankExact], 0.95)
	normal, coverage := SignedRank(xs, 0.95)
	if coverage != 0.95 || math.Abs(exact.Low-normal.Low) > 0.01 || math.Abs(exact.High-normal.High) > 0.01 {
		t.Errorf("got %+v for one value more than %+v", normal, exact)
	}
}
