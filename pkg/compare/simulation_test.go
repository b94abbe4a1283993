package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// TestErrorRates simulates runs of 20 cases, most of them reliable, some shaky and two
// that nearly always fail, and holds the answers to what they promise: a head that changed
// nothing fails rarely, one that is worse by the margin passes rarely, and two cases that
// broke are seen. The bounds leave room for 300 runs.
func TestErrorRates(t *testing.T) {
	const suites = 300
	for _, tc := range []struct {
		name       string
		head       func(i int, p float64) float64
		fail, pass [2]float64 // least and most
	}{
		{"no change", func(_ int, p float64) float64 { return p }, [2]float64{0, 0.08}, [2]float64{0.1, 1}},
		{"worse by the margin", func(_ int, p float64) float64 { return p - 0.05 }, [2]float64{0.1, 1}, [2]float64{0, 0.08}},
		{"20 points worse", func(_ int, p float64) float64 { return max(0, p-0.2) }, [2]float64{0.75, 1}, [2]float64{0, 0.01}},
		{"2 of 20 cases broke", func(i int, p float64) float64 {
			if i < 2 {
				return 0
			}
			return p
		}, [2]float64{0.55, 1}, [2]float64{0, 0.01}},
	} {
		for _, n := range []int{3, 5, 10} {
			t.Run(fmt.Sprintf("%s, %d repeats", tc.name, n), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(6, uint64(n)))
				tries := func(p float64) (passed int) {
					for range n {
						if rng.Float64() < p {
							passed++
						}
					}
					return passed
				}
				var fails, passes, byCell float64
				for range suites {
					base, head := make([]int, 20), make([]int, 20)
					for i := range base {
						p := 0.99
						switch {
						case i >= 18:
							p = 0.1
						case i >= 12:
							p = 0.6 + 0.35*rng.Float64()
						}
						base[i], head[i] = tries(p), tries(tc.head(i, p))
					}
					k := Compare(arm(n, base...), arm(n, head...), Options{}).Kinds[0]
					if k.Decision == eval.DecisionFail {
						fails += 1.0 / suites
					}
					if k.Decision == eval.DecisionPass {
						passes += 1.0 / suites
					}
					if k.Changes[eval.ChangeRegressed] > 0 {
						byCell += 1.0 / suites
					}
				}
				t.Logf("failed %.3f, passed %.3f, a cell regressed in %.3f", fails, passes, byCell)
				if fails < tc.fail[0] || fails > tc.fail[1] {
					t.Errorf("%.3f failed, want between %v and %v", fails, tc.fail[0], tc.fail[1])
				}
				if passes < tc.pass[0] || passes > tc.pass[1] {
					t.Errorf("%.3f passed, want between %v and %v", passes, tc.pass[0], tc.pass[1])
				}
				if tc.name == "no change" && byCell > 0.01 {
					t.Errorf("a cell regressed in %.3f, where none did", byCell)
				}
			})
		}
	}
}
