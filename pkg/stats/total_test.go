package stats

import (
	"testing"

	"pgregory.net/rapid"
)

// The mean and standard error that others report of a rate; no interval is made of
// them here, because they say 0 when all pass.
func TestMeanVectors(t *testing.T) {
	for _, v := range vectors(t, "clt_mean") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ X data }
			var want struct{ Mean, SE number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "mean", mean(in.X), want.Mean, v.Tol)
			near(t, "standard error", standardError(in.X), want.SE, v.Tol)
		})
	}
	// A tenth has no exact form, and ten of them leave a residue.
	if got := standardError([]float64{0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}); got != 0 {
		t.Errorf("of ten equal values: got %v, want 0", got)
	}
}

func TestTotalHasNoOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOf(rapid.Float64Range(-1e6, 1e6)).Draw(t, "xs")
		if got, want := total(rapid.Permutation(xs).Draw(t, "order")), total(xs); got != want {
			t.Fatalf("got %v and %v", got, want)
		}
	})
}
