package aggregate

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func sampled(values []float64) *sample {
	s := &sample{}
	for _, v := range values {
		s.add(v)
	}
	return s
}

// However values are split over samples, all of them together are the same; and they
// are those of package stats, within what a sample says of itself.
func TestMergedSamples(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		if rapid.IntRange(0, 9).Draw(t, "many") == 0 {
			n += kept
		}
		seed := rapid.Uint64().Draw(t, "seed")
		values := make([]float64, n)
		for i := range values {
			seed = seed*6364136223846793005 + 1442695040888963407
			values[i] = float64(seed>>40) / 97
		}
		values[0] = 0
		sorted := slices.Sorted(slices.Values(values))
		whole := sampled(values).percentiles(ranks{})
		exact := []float64{stats.Percentile(sorted, 50, 100), stats.Percentile(sorted, 95, 100), stats.Percentile(sorted, 99, 100)}
		for i, got := range []float64{whole.P50, whole.P95, whole.P99} {
			if within := whole.Within * exact[i] * (1 + 1e-9); got < exact[i]-within || got > exact[i]+within {
				t.Fatalf("percentile %d of %d: got %v, want %v within %v", i, n, got, exact[i], within)
			}
		}
		if whole.Max != sorted[n-1] || whole.N != n || (whole.Within > 0) != (n > kept) {
			t.Fatalf("got max %v of %d within %v, want %v of %d", whole.Max, whole.N, whole.Within, sorted[n-1], n)
		}
		ci := stats.PercentileInterval(sorted, 50, 100, 0.95)
		switch {
		case (whole.P50CI == nil) != (n < 6):
			t.Fatalf("bounds of the median of %d values: %v", n, whole.P50CI)
		case whole.Within == 0 && whole.P50CI != nil && *whole.P50CI != eval.Bounds{Low: ci.Low, High: ci.High}:
			t.Fatalf("bounds of the median: got %v, want %v", whole.P50CI, ci)
		}
		// Parts of which one is counted, if any can be.
		first := rapid.IntRange(0, n).Draw(t, "split")
		a, b := sampled(values[:first]), sampled(values[first:])
		one, two := merged([]*sample{a, b}).percentiles(ranks{}), merged([]*sample{b, a}).percentiles(ranks{})
		if diff := cmp.Diff(one, two); diff != "" {
			t.Fatalf("merged in another order:\n%s", diff)
		}
		if one.Within == whole.Within {
			if diff := cmp.Diff(whole, one); diff != "" {
				t.Fatalf("merged of two (-whole +merged):\n%s", diff)
			}
		}
	})
}

// A cell that is repeated without end keeps no more than another.
func TestMemoryOfACellIsBounded(t *testing.T) {
	const repeats = 100_000
	ref := eval.Snapshot{Cases: []eval.CaseRef{{ID: "c", Kind: eval.KindAgent}}, Variants: []eval.Variant{eval.NewVariant(nil)}}
	c := newCell(ref, eval.Cell{Repeats: repeats})
	in := newRounds(eval.Plan{Cells: []eval.Cell{{Repeats: repeats}}})
	for i := range repeats {
		r := eval.Result{
			Verdict: eval.Pass, Times: eval.Times{ToolMS: float64(i) + 0.5}, CostMicroUSD: new(int64(i)), Usage: eval.Usage{Input: i},
			Counts: eval.Counts{Turns: i}, Server: eval.ServerInfo{Name: string(rune(i))},
		}
		c.add(store.Row{Ordinal: i, Result: r}, i+1)
		in.add(c, i+1, r.Verdict)
	}
	for name, s := range map[string]*sample{"latency": &c.latency, "cost": &c.cost, "tokens": &c.tokens, "turns": &c.turns} {
		if got := len(s.values) + len(s.buckets); s.n != repeats || got > kept {
			t.Errorf("%s: %d numbers of %d values kept, want at most %d of %d", name, got, s.n, kept, repeats)
		}
	}
	if len(c.servers) != fewest {
		t.Errorf("%d names of servers kept, want %d", len(c.servers), fewest)
	}
	if in.complete != repeats || c.complete.Pass != repeats {
		t.Errorf("%d rounds are complete, with %d passes, want %d", in.complete, c.complete.Pass, repeats)
	}
	for _, w := range in.waiting {
		if w != nil {
			t.Fatalf("%d verdicts of a complete round wait", len(w))
		}
	}
}

// The first by name are kept, whatever order they come in.
func TestFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z]?`), 0, 40).Draw(t, "names")
		var f few
		for _, name := range names {
			f.add(name)
		}
		want := slices.Compact(slices.Sorted(slices.Values(names)))
		want = slices.DeleteFunc(want, func(s string) bool { return s == "" })
		want = want[:min(len(want), fewest)]
		if !slices.Equal(f, want) {
			t.Fatalf("got %q, want %q", f, want)
		}
	})
}
