package similar

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// drawCalls draws calls of few tools with few arguments, so that many are alike.
func drawCalls(t *rapid.T, name string) []Call {
	arguments := rapid.SampledFrom([]string{
		`{}`, `{"id": 1}`, `{"id": 2}`, `{"id": 1, "note": "a b"}`, `{"id": 1, "note": "b c"}`, `{"id": 2, "note": "a b c"}`,
		`{"amount": 1.5}`, `{"amount": 2.5}`, `{"list": [1, 2, 3]}`, `{"list": [2, 3]}`, `[1]`, `no JSON`,
	})
	call := rapid.Custom(func(t *rapid.T) Call {
		return Call{rapid.SampledFrom([]string{"get", "put"}).Draw(t, "tool"), eval.JSON(arguments.Draw(t, "arguments"))}
	})
	return rapid.SliceOfN(call, 0, 8).Draw(t, name)
}

func TestCompareProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawCalls(t, "x"), drawCalls(t, "y")
		xy, yx := compare(t, x, y, Options{}), compare(t, y, x, Options{})
		if math.Abs(xy.Ordered.F1-yx.Ordered.F1) > 1e-9 || math.Abs(xy.Unordered.F1-yx.Unordered.F1) > 1e-9 {
			t.Fatalf("F1 depends on which list is expected: %+v, %+v", xy, yx)
		}
		if xy.Ordered.F1 > xy.Unordered.F1+1e-9 {
			t.Fatalf("more in common in order than in any: %+v", xy)
		}
		for _, m := range []eval.Match{
			eval.MatchAligned, eval.MatchPositional, eval.MatchExact, eval.MatchInOrder,
			eval.MatchAnyOrder, eval.MatchSubset, eval.MatchSuperset,
		} {
			if v := xy.Value(m); !(v >= 0 && v <= 1) {
				t.Fatalf("value of %s: got %v, want it in [0, 1]", m, v)
			}
		}
		inAnyOrder := xy.Subset && xy.Superset && len(x) == len(y)
		if xy.Exact && (!xy.InOrder || !xy.AnyOrder) || xy.InOrder && !xy.Superset || xy.AnyOrder != inAnyOrder {
			t.Fatalf("the modes contradict each other: %+v", xy)
		}
	})
}

func TestCompareWithItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := drawCalls(t, "x")
		got := compare(t, x, x, Options{})
		want := Measure{1, 1, 1}
		if got.Ordered != want || got.Unordered != want || got.Positional != 1 || len(got.Differences) != 0 {
			t.Fatalf("got %+v, want all 1 and no difference", got)
		}
		modes := [5]bool{got.Exact, got.InOrder, got.AnyOrder, got.Subset, got.Superset}
		if modes != [5]bool{true, true, true, true, true} {
			t.Fatalf("exact, in order, any order, subset, superset: got %v, want all", modes)
		}
	})
}

func TestExtraCallsCostNoRecall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawCalls(t, "x"), drawCalls(t, "y")
		if len(x) == 0 {
			x = append(x, Call{Tool: "get"})
		}
		at := rapid.IntRange(0, len(y)).Draw(t, "at")
		more := slices.Insert(slices.Clone(y), at, Call{"put", eval.JSON(`{"id": 1}`)})
		before, after := compare(t, x, y, Options{}), compare(t, x, more, Options{})
		if after.Ordered.Recall < before.Ordered.Recall-1e-9 || after.Unordered.Recall < before.Unordered.Recall-1e-9 {
			t.Fatalf("one call more: recall went from %+v to %+v", before, after)
		}
		if before.Superset && !after.Superset || before.InOrder && !after.InOrder {
			t.Fatalf("one call more: modes went from %+v to %+v", before, after)
		}
	})
}

func TestSharesOfNothing(t *testing.T) {
	some := []Call{{Tool: "get"}}
	for name, row := range map[string]struct {
		expected, actual []Call
		want             map[eval.Match]float64
	}{
		"nothing expected": {nil, some, map[eval.Match]float64{eval.MatchInOrder: 1, eval.MatchSuperset: 1, eval.MatchSubset: 0, eval.MatchExact: 0, eval.MatchAnyOrder: 0}},
		"nothing made":     {some, nil, map[eval.Match]float64{eval.MatchInOrder: 0, eval.MatchSuperset: 0, eval.MatchSubset: 1, eval.MatchExact: 0, eval.MatchAnyOrder: 0}},
		"nothing at all":   {nil, nil, map[eval.Match]float64{eval.MatchInOrder: 1, eval.MatchSuperset: 1, eval.MatchSubset: 1, eval.MatchExact: 1, eval.MatchAnyOrder: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(t, row.expected, row.actual, Options{})
			for m, want := range row.want {
				if got.Value(m) != want || got.Holds(m) != (want == 1) {
					t.Errorf("%s: got %v and %v, want %v", m, got.Value(m), got.Holds(m), want)
				}
			}
			if got.Holds(eval.MatchAligned) || got.Holds(eval.MatchPositional) {
				t.Error("a graded match holds without a threshold")
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	calls := make([]Call, MaxCalls+1)
	for i := range calls {
		calls[i] = Call{"poll", eval.JSON(`{"id": 1}`)}
	}
	for name, row := range map[string]struct {
		expected, actual []Call
		modes            [5]bool
		recall, f1       float64
	}{
		"one expected call too many": {calls, calls[:1], [5]bool{false, false, false, true, false}, 1.0 / 2001, 1.0 / 1001},
		"one call too many":          {calls[:1], calls, [5]bool{false, true, false, false, true}, 1, 1.0 / 1001},
		"both":                       {calls, calls, [5]bool{}, 2000.0 / 2001, 2000.0 / 2001},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Compare(row.expected, row.actual, Options{})
			if !errors.Is(err, ErrTooLong) {
				t.Errorf("got the error %v, want ErrTooLong", err)
			}
			if modes := [5]bool{got.Exact, got.InOrder, got.AnyOrder, got.Subset, got.Superset}; modes != row.modes {
				t.Errorf("exact, in order, any order, subset, superset: got %v, want %v", modes, row.modes)
			}
			near(t, "recall", got.Ordered.Recall, row.recall, 1e-12)
			near(t, "F1", got.Unordered.F1, row.f1, 1e-12)
			near(t, "positional", got.Positional, float64(min(len(row.expected), len(row.actual), MaxCalls))/2001, 1e-12)
		})
	}
	if _, err := Compare(calls[:MaxCalls], nil, Options{}); err != nil {
		t.Errorf("a list of %d calls: %v", MaxCalls, err)
	}
}

func TestTooMuch(t *testing.T) {
	list := func(from int) []Call {
		var b strings.Builder
		for i := range 100 {
			fmt.Fprintf(&b, ",%d", i*2+from)
		}
		return []Call{{"get", eval.JSON(`{"ids": [` + b.String()[1:] + `]}`)}}
	}
	for name, row := range map[string]struct {
		expected, actual []Call
		work             int
		want             error
	}{
		"no item the same":          {list(0), list(1), 9_000, ErrTooMuch},
		"no item the same, allowed": {list(0), list(1), 21_000, nil},
		"the same":                  {list(0), list(0), 250, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := newComparer(Options{})
			if err != nil {
				t.Fatal(err)
			}
			c.work = row.work
			got, err := c.compare(row.expected, row.actual)
			if !errors.Is(err, row.want) {
				t.Errorf("got the error %v, want %v", err, row.want)
			}
			if row.want != nil && (got.Ordered.F1 != 0 || got.Exact) {
				t.Errorf("got %+v, want nothing in common", got)
			}
		})
	}
}
