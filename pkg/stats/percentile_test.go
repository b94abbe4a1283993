package stats

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPercentileVectors(t *testing.T) {
	for _, v := range vectors(t, "percentile_nearest_rank") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				X   data
				Num int `json:"p_num"`
				Den int `json:"p_den"`
			}
			var want struct{ Value float64 }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			slices.Sort(in.X)
			if got := Percentile(in.X, in.Num, in.Den); got != want.Value {
				t.Errorf("percentile %d/%d of %d values: got %v, want %v", in.Num, in.Den, len(in.X), got, want.Value)
			}
		})
	}
}

func TestPercentileOfNothing(t *testing.T) {
	for name, xs := range map[string][]float64{"empty": nil, "only NaN": {math.NaN(), math.NaN()}} {
		if got := Percentile(xs, 50, 100); !math.IsNaN(got) {
			t.Errorf("%s: got %v, want NaN", name, got)
		}
	}
}

// TestPercentileDefinition checks the words of the definition: the smallest
// value that at least num/den of the values do not exceed.
func TestPercentileDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(0, 50), 1, 300).Draw(t, "xs")
		den := rapid.SampledFrom([]int{2, 100, 1000}).Draw(t, "den")
		num := rapid.IntRange(1, den).Draw(t, "num")
		slices.Sort(xs)
		got := Percentile(xs, num, den)
		var atMost, below int
		for _, x := range xs {
			if x <= got {
				atMost++
			}
			if x < got {
				below++
			}
		}
		if atMost*den < num*len(xs) {
			t.Fatalf("percentile %d/%d is %v, but only %d of %d values do not exceed it", num, den, got, atMost, len(xs))
		}
		if below*den >= num*len(xs) {
			t.Fatalf("percentile %d/%d is %v, but %d of %d values lie below it", num, den, got, below, len(xs))
		}
	})
}
