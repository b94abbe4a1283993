package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestRunsVectors(t *testing.T) {
	for _, v := range vectors(t, "flip_runs") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Sequence string }
			var want struct {
				FlipRate number `json:"flip_rate"`
				Runs     int
				Few      number `json:"p_few_runs"`
				Many     number `json:"p_many_runs"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var outcomes []bool
			for _, letter := range in.Sequence {
				outcomes = append(outcomes, letter == 'P')
			}
			got := RunsTest(outcomes)
			near(t, "flip rate", got.FlipRate, want.FlipRate, v.Tol)
			if got.Runs != want.Runs {
				t.Errorf("runs: got %d, want %d", got.Runs, want.Runs)
			}
			near(t, "few", got.Few, want.Few, v.Tol)
			near(t, "many", got.Many, want.Many, v.Tol)
		})
	}
}

// TestRunsByEnumeration counts the orders that have as few or as many runs.
func TestRunsByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		outcomes := rapid.SliceOfN(rapid.Bool(), 1, 11).Draw(t, "outcomes")
		got := RunsTest(outcomes)
		var passed int
		for _, pass := range outcomes {
			if pass {
				passed++
			}
		}
		var orders, few, many float64
		for bits := range 1 << len(outcomes) {
			var p, runs int
			for i := range outcomes {
				p += bits >> i & 1
				if i == 0 || bits>>i&1 != bits>>(i-1)&1 {
					runs++
				}
			}
			if p != passed {
				continue
			}
			orders++
			if runs <= got.Runs {
				few++
			}
			if runs >= got.Runs {
				many++
			}
		}
		if math.Abs(got.Few-few/orders) > 1e-12 || math.Abs(got.Many-many/orders) > 1e-12 {
			t.Fatalf("%v: got %+v, want few %v and many %v", outcomes, got, few/orders, many/orders)
		}
	})
}

func TestEntropyVectors(t *testing.T) {
	for _, v := range vectors(t, "entropy_bits") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ C, N int }
			var want struct {
				Plain     number `json:"plugin"`
				Corrected number `json:"miller_madow"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			plain, corrected := Entropy([]int{in.C, in.N - in.C})
			near(t, "plain", plain, want.Plain, v.Tol)
			near(t, "corrected", corrected, want.Corrected, v.Tol)
		})
	}
	if plain, corrected := Entropy(nil); !math.IsNaN(plain) || !math.IsNaN(corrected) {
		t.Errorf("of nothing: got %v and %v, want NaN", plain, corrected)
	}
	if plain, _ := Entropy([]int{3, 3, 3, 3}); math.Abs(plain-2) > 1e-12 {
		t.Errorf("of four kinds: got %v, want 2 bits", plain)
	}
}
