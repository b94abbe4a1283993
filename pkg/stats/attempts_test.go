package stats

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAttemptsVectors(t *testing.T) {
	for family, f := range map[string]func(c, n, k int, tau string) float64{
		"pass_at_k":    func(c, n, k int, _ string) float64 { return PassAtK(c, n, k) },
		"pass_hat_k":   func(c, n, k int, _ string) float64 { return PassHatK(c, n, k) },
		"mg_pass_at_k": func(c, n, k int, _ string) float64 { return MGPassAtK(c, n, k) },
		"g_pass_at_k": func(c, n, k int, tau string) float64 {
			num, den := fraction(t, tau)
			return GPassAtK(c, n, k, num, den)
		},
	} {
		for _, v := range vectors(t, family) {
			t.Run(v.ID, func(t *testing.T) {
				var in struct {
					C, N, K int
					Tau     string
				}
				var want struct{ Value number }
				decode(t, v.Inputs, &in)
				decode(t, v.Expected, &want)
				near(t, family, f(in.C, in.N, in.K, in.Tau), want.Value, v.Tol)
			})
		}
	}
}

// fraction reads "3/4" and "0".
func fraction(t *testing.T, s string) (num, den int) {
	t.Helper()
	over, under, found := strings.Cut(s, "/")
	if !found {
		under = "1"
	}
	num, err1 := strconv.Atoi(over)
	den, err2 := strconv.Atoi(under)
	if err1 != nil || err2 != nil {
		t.Fatalf("no fraction: %q", s)
	}
	return num, den
}

func TestMajorityAtKVectors(t *testing.T) {
	for _, v := range vectors(t, "majority_at_k") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ C, N, K int }
			var want struct {
				Strict  number
				HalfTie number `json:"half_tie"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			majority, tie := MajorityAtK(in.C, in.N, in.K)
			near(t, "majority", majority, want.Strict, v.Tol)
			near(t, "with half of the ties", majority+tie/2, want.HalfTie, v.Tol)
		})
	}
}

// TestPassHatBiasVectors: the mean over what n repeats may come to is the chance
// that was asked for, and that of (c/n)^k is not.
func TestPassHatBiasVectors(t *testing.T) {
	for _, v := range vectors(t, "pass_hat_bias") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				N, K int
				P    float64
			}
			var want struct {
				Unbiased number `json:"expect_unbiased"`
				Plugin   number `json:"expect_plugin"`
				Truth    number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var unbiased, plugin float64
			for c := range in.N + 1 {
				chance := binomial(c, in.N, in.P)
				unbiased += chance * PassHatK(c, in.N, in.K)
				plugin += chance * math.Pow(float64(c)/float64(in.N), float64(in.K))
			}
			near(t, "mean of pass^k", unbiased, want.Unbiased, v.Tol)
			near(t, "truth", unbiased, want.Truth, v.Tol)
			near(t, "mean of (c/n)^k", plugin, want.Plugin, v.Tol)
		})
	}
}

// The 50 cases of τ-bench's airline, four repeats each, with the published pass^k.
func TestSuiteAttemptsVectors(t *testing.T) {
	for family, f := range map[string]func(c, n, k int) float64{"suite_pass_at": PassAtK, "suite_pass_hat": PassHatK} {
		for _, v := range vectors(t, family) {
			t.Run(v.ID, func(t *testing.T) {
				var in struct {
					N int
					C []int
				}
				var want map[string]number
				decode(t, v.Inputs, &in)
				decode(t, v.Expected, &want)
				for name, value := range want {
					k, err := strconv.Atoi(name[len("pass@"):])
					if err != nil {
						t.Fatal(err)
					}
					near(t, name, Macro(attempts(in.C, in.N, k, f)), value, v.Tol)
				}
			})
		}
	}
	for _, v := range vectors(t, "suite_pass_hat_small") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				N, K int
				C    []int
			}
			var want struct{ Value number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "pass^k", Macro(attempts(in.C, in.N, in.K, PassHatK)), want.Value, v.Tol)
		})
	}
}

func attempts(passes []int, n, k int, f func(c, n, k int) float64) []Case {
	var cases []Case
	for _, c := range passes {
		cases = append(cases, Case{Repeats: n, Mean: f(c, n, k)})
	}
	return cases
}

// A suite whose cases have different numbers of repeats leaves out those that
// were not tried often enough.
func TestCasesTriedTooRarelyAreLeftOut(t *testing.T) {
	cases := []Case{{Repeats: 2, Mean: PassHatK(2, 2, 3)}, {Repeats: 3, Mean: PassHatK(3, 3, 3)}, {Repeats: 3, Mean: PassHatK(2, 3, 3)}}
	if got := Macro(cases); got != 0.5 {
		t.Errorf("pass^3: got %v, want 0.5 of the two cases with three repeats", got)
	}
}

// TestAtLeastIsUnbiased enumerates what n repeats may come to.
func TestAtLeastIsUnbiased(t *testing.T) {
	for _, p := range []float64{0.05, 0.5, 0.9} {
		for n := 1; n <= 8; n++ {
			for k := 1; k <= n; k++ {
				for m := range k + 1 {
					var got, want float64
					for c := range n + 1 {
						got += binomial(c, n, p) * AtLeast(c, n, k, m)
					}
					for j := m; j <= k; j++ {
						want += binomial(j, k, p)
					}
					near(t, "mean", got, number(want), 1e-12)
				}
			}
		}
	}
}

// TestAtLeastIsExact compares with rational numbers.
func TestAtLeastIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		c := rapid.IntRange(0, n).Draw(t, "c")
		k := rapid.IntRange(1, n).Draw(t, "k")
		m := rapid.IntRange(0, k).Draw(t, "m")
		choose := func(a, b int) *big.Int { return new(big.Int).Binomial(int64(a), int64(b)) }
		ways := new(big.Int)
		for j := m; j <= min(c, k); j++ {
			if k-j <= n-c {
				ways.Add(ways, new(big.Int).Mul(choose(c, j), choose(n-c, k-j)))
			}
		}
		want, _ := new(big.Rat).SetFrac(ways, choose(n, k)).Float64()
		got := AtLeast(c, n, k, m)
		if math.Abs(got-want) > 1e-12 || (want == 0) != (got == 0) || m <= k-(n-c) && got != 1 {
			t.Fatalf("at least %d of %d from %d of %d: got %v, want %v", m, k, c, n, got, want)
		}
	})
}
