package similar

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawTable draws what n expected calls and m made ones have in common, in few
// steps, so that there are ties.
func drawTable(t *rapid.T) *table {
	n, m := rapid.IntRange(0, 5).Draw(t, "n"), rapid.IntRange(0, 5).Draw(t, "m")
	tools := rapid.SampledFrom([]string{"get", "put"})
	drawn := &table{want: make([]call, n), got: make([]call, m), grades: make([]float64, n*m), fit: make([]bool, n*m)}
	for i := range n {
		drawn.want[i].tool = tools.Draw(t, "tool")
	}
	for j := range m {
		drawn.got[j].tool = tools.Draw(t, "tool")
	}
	for i := range n {
		for j := range m {
			if drawn.want[i].tool == drawn.got[j].tool {
				drawn.grades[drawn.at(i, j)] = rapid.SampledFrom([]float64{0, 0.25, 0.5, 1}).Draw(t, "grade")
				drawn.fit[drawn.at(i, j)] = rapid.Bool().Draw(t, "fit")
			}
		}
	}
	return drawn
}

// try goes through all ways to pair the expected calls from i on with calls that
// are free, and returns the most that worth adds up to.
func try(t *table, i int, used []bool, ordered bool, worth func(i, j int) float64) float64 {
	if i == len(t.want) {
		return 0
	}
	most := try(t, i+1, used, ordered, worth)
	for j := range t.got {
		if used[j] || ordered && slices.Contains(used[j:], true) {
			continue
		}
		used[j] = true
		most = max(most, worth(i, j)+try(t, i+1, used, ordered, worth))
		used[j] = false
	}
	return most
}

func TestAlignIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawTable(t)
		common, pairs := align(drawn)
		if want := try(drawn, 0, make([]bool, len(drawn.got)), true, drawn.grade); common != want {
			t.Fatalf("got %v in common, want %v", common, want)
		}
		var sum float64
		for k, p := range pairs {
			sum += drawn.grade(p.want, p.got)
			if k > 0 && (p.want <= pairs[k-1].want || p.got <= pairs[k-1].got) {
				t.Fatalf("pairs out of order: %v", pairs)
			}
			if drawn.want[p.want].tool != drawn.got[p.got].tool {
				t.Fatalf("pair %v is of two tools", p)
			}
		}
		if sum != common {
			t.Fatalf("the pairs have %v in common, the alignment %v", sum, common)
		}
	})
}

func TestAssignIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawTable(t)
		c := &comparer{work: maxWork}
		common, pairs := c.assign(drawn, indices(drawn.want), indices(drawn.got))
		if want := try(drawn, 0, make([]bool, len(drawn.got)), false, drawn.grade); math.Abs(common-want) > 1e-9 {
			t.Fatalf("got %v in common, want %v", common, want)
		}
		var want, got []int
		for _, p := range pairs {
			want, got = append(want, p.want), append(got, p.got)
		}
		slices.Sort(want)
		slices.Sort(got)
		if len(slices.Compact(want)) != len(pairs) || len(slices.Compact(got)) != len(pairs) {
			t.Fatalf("a call stands in two pairs: %v", pairs)
		}
	})
}

func TestMatchingIsLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawTable(t)
		fit := func(i, j int) float64 { return one(drawn.fits(i, j)) }
		if got, want := matching(drawn), try(drawn, 0, make([]bool, len(drawn.got)), false, fit); float64(got) != want {
			t.Fatalf("matched %d, want %v", got, want)
		}
		if got, want := inOrder(drawn), try(drawn, 0, make([]bool, len(drawn.got)), true, fit) == float64(len(drawn.want)); got != want {
			t.Fatalf("in order: got %v, want %v", got, want)
		}
	})
}

func TestAssignWithoutWork(t *testing.T) {
	calls := make([]call, 3)
	full := &table{want: calls, got: calls, grades: []float64{1, 1, 1, 1, 1, 1, 1, 1, 1}}
	c := &comparer{work: 2}
	if common, _ := c.assign(full, indices(calls), indices(calls)); common >= 3 || c.work >= 0 {
		t.Errorf("got %v in common with %d steps left, want it to stop early", common, c.work)
	}
}
