package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

type counted struct {
	C, N int
	Conf float64
}

func TestClopperPearsonVectors(t *testing.T) {
	for _, v := range vectors(t, "clopper_pearson") {
		t.Run(v.ID, func(t *testing.T) {
			var in counted
			var want struct{ Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := ClopperPearson(in.C, in.N, in.Conf)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
			if math.IsNaN(got.Point) != (in.N == 0) {
				t.Errorf("point of %d/%d: got %v", in.C, in.N, got.Point)
			}
		})
	}
}

func TestOneSidedBoundVectors(t *testing.T) {
	for _, v := range vectors(t, "cp_one_sided") {
		t.Run(v.ID, func(t *testing.T) {
			var in counted
			var want struct{ Lower, Upper number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "lower", LowerBound(in.C, in.N, in.Conf), want.Lower, v.Tol)
			near(t, "upper", UpperBound(in.C, in.N, in.Conf), want.Upper, v.Tol)
		})
	}
}

// TestClopperPearsonCoverage: whatever the true rate, the interval holds it at
// least as often as it says.
func TestClopperPearsonCoverage(t *testing.T) {
	for _, n := range []int{1, 3, 10, 20} {
		for p := 0.01; p < 0.995; p += 0.01 {
			var held float64
			for c := range n + 1 {
				if ci := ClopperPearson(c, n, 0.95); ci.Low <= p && p <= ci.High {
					held += binomial(c, n, p)
				}
			}
			if held < 0.95-1e-9 {
				t.Errorf("coverage of %.2f at n = %d: got %.4f, want at least 0.95", p, n, held)
			}
		}
	}
}

func TestClopperPearsonDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		c := rapid.IntRange(1, n).Draw(t, "c")
		low := LowerBound(c, n, 0.95)
		if low >= 1 {
			t.Fatalf("lower bound of %d/%d: got %v", c, n, low)
		}
		var tail float64
		for k := c; k <= n; k++ {
			tail += binomial(k, n, low)
		}
		if math.Abs(tail-0.05) > 1e-9 {
			t.Fatalf("a rate of %v gives %d of %d or more with a chance of %v, want 0.05", low, c, n, tail)
		}
	})
}
