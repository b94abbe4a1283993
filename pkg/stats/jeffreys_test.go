package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestJeffreysVectors(t *testing.T) {
	for _, v := range vectors(t, "jeffreys") {
		t.Run(v.ID, func(t *testing.T) {
			var in counted
			var want struct{ Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Jeffreys(in.C, in.N, in.Conf)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
		})
	}
}

func TestPosteriorVectors(t *testing.T) {
	for _, v := range vectors(t, "posterior_class") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				C, N    int
				Epsilon float64
			}
			var want struct {
				StablePass number `json:"p_stable_pass"`
				StableFail number `json:"p_stable_fail"`
				Flaky      number `json:"p_flaky"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Posterior(in.C, in.N, in.Epsilon)
			near(t, "stable pass", got.StablePass, want.StablePass, v.Tol)
			near(t, "stable fail", got.StableFail, want.StableFail, v.Tol)
			near(t, "flaky", got.Flaky, want.Flaky, v.Tol)
		})
	}
}

func TestJeffreysProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 500).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		exact, ci := ClopperPearson(c, n, 0.95), Jeffreys(c, n, 0.95)
		if ci.Low < exact.Low-1e-9 || ci.High > exact.High+1e-9 {
			t.Fatalf("%d/%d: got %+v outside of the exact interval %+v", c, n, ci, exact)
		}
		mirror := Jeffreys(n-c, n, 0.95)
		if math.Abs(mirror.Low-(1-ci.High)) > 1e-9 {
			t.Fatalf("failures of %d/%d: got %+v, want the mirror of %+v", c, n, mirror, ci)
		}
	})
}
