package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestWilsonVectors(t *testing.T) {
	for _, v := range vectors(t, "wilson") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				C, N int
				Conf float64
			}
			var want struct{ Lo, Hi float64 }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Wilson(in.C, in.N, in.Conf)
			if math.Abs(got.Low-want.Lo) > v.Tol || math.Abs(got.High-want.Hi) > v.Tol {
				t.Errorf("Wilson(%d, %d, %g): got [%v, %v], want [%v, %v]", in.C, in.N, in.Conf, got.Low, got.High, want.Lo, want.Hi)
			}
		})
	}
}

func TestWilsonWithoutTrials(t *testing.T) {
	got := Wilson(0, 0, 0.95)
	if !math.IsNaN(got.Point) || got.Low != 0 || got.High != 1 {
		t.Errorf("got %+v, want a NaN point in [0, 1]", got)
	}
}

func TestWilsonProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 100_000).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		ci := Wilson(c, n, 0.95)
		if !(0 <= ci.Low && ci.Low <= ci.Point && ci.Point <= ci.High && ci.High <= 1) {
			t.Fatalf("Wilson(%d, %d): bounds out of order: %+v", c, n, ci)
		}
		if (c == 0) != (ci.Low == 0) || (c == n) != (ci.High == 1) {
			t.Fatalf("Wilson(%d, %d): got %+v, want exact bounds at the ends and nowhere else", c, n, ci)
		}
		mirror := Wilson(n-c, n, 0.95)
		if math.Abs(mirror.Low-(1-ci.High)) > 1e-12 || math.Abs(mirror.High-(1-ci.Low)) > 1e-12 {
			t.Fatalf("failures of %d/%d: got %+v, want the mirror of %+v", c, n, mirror, ci)
		}
		if wide := Wilson(c, n, 0.99); wide.Low > ci.Low || wide.High < ci.High {
			t.Fatalf("Wilson(%d, %d): 99 %% interval %+v does not hold the 95 %% one %+v", c, n, wide, ci)
		}
	})
}

// TestWilsonCoverage enumerates how often the nominal 95 % interval of 20
// trials holds the true rate, averaged over rates.
func TestWilsonCoverage(t *testing.T) {
	const n = 20
	var sum float64
	var rates int
	for p := 0.01; p < 0.995; p += 0.01 {
		rates++
		for c := range n + 1 {
			if ci := Wilson(c, n, 0.95); ci.Low <= p && p <= ci.High {
				sum += binomial(c, n, p)
			}
		}
	}
	if got := sum / float64(rates); got < 0.93 || got > 0.97 {
		t.Errorf("mean coverage at n = %d: got %.4f, want about 0.95", n, got)
	}
}

func binomial(c, n int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	in, _ := math.Lgamma(float64(c + 1))
	out, _ := math.Lgamma(float64(n - c + 1))
	return math.Exp(all - in - out + float64(c)*math.Log(p) + float64(n-c)*math.Log(1-p))
}
