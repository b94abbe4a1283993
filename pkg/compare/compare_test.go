package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// arm makes one of agent cases, of which so many of n repeats passed.
func arm(n int, passed ...int) eval.Arm {
	a := eval.Arm{Run: "r", Runs: 1}
	for i, c := range passed {
		cell := of(fmt.Sprintf("case-%02d", i+1))
		cell.Counts, cell.Planned = eval.VerdictCounts{Pass: c, Fail: n - c}, n
		a.Cells = append(a.Cells, cell)
	}
	return a
}

func repeat(n, times int) []int {
	out := make([]int, times)
	for i := range out {
		out[i] = n
	}
	return out
}

// flaked are 20 cases of which so many failed once.
func flaked(n, cases int) []int {
	c := repeat(n, 20)
	for i := range cases {
		c[i]--
	}
	return c
}

// TestSpecification is what two arms of 20 cases must come to, with 3, 5 and 10 repeats.
// The cases behave: they pass always, or are broken.
func TestSpecification(t *testing.T) {
	for _, n := range []int{3, 5, 10} {
		all := repeat(n, 20)
		broken := func(cases, by int) []int {
			c := repeat(n, 20)
			for i := range cases {
				c[i] = n - by
			}
			return c
		}
		for _, tc := range []struct {
			name     string
			head     []int
			decision map[int]eval.Decision
			changes  map[int]eval.Change // of the first case
		}{
			{
				"no difference", all,
				map[int]eval.Decision{3: eval.DecisionPass, 5: eval.DecisionPass, 10: eval.DecisionPass},
				map[int]eval.Change{3: eval.ChangeUnchanged, 5: eval.ChangeUnchanged, 10: eval.ChangeUnchanged},
			},
			{
				"2 of 20 cases broke", broken(2, n),
				map[int]eval.Decision{3: eval.DecisionFail, 5: eval.DecisionFail, 10: eval.DecisionFail},
				map[int]eval.Change{3: eval.ChangeWorse, 5: eval.ChangeWorse, 10: eval.ChangeRegressed},
			},
			{
				"1 of 20 cases broke", broken(1, n),
				map[int]eval.Decision{3: eval.DecisionFail, 5: eval.DecisionFail, 10: eval.DecisionFail},
				map[int]eval.Change{3: eval.ChangeWorse, 5: eval.ChangeWorse, 10: eval.ChangeRegressed},
			},
			{
				"3 points, one repeat in each of some cases", flaked(n, n*20*3/100),
				map[int]eval.Decision{3: eval.DecisionInconclusive, 5: eval.DecisionInconclusive, 10: eval.DecisionFail},
				map[int]eval.Change{3: eval.ChangeFlaky, 5: eval.ChangeFlaky, 10: eval.ChangeFlaky},
			},
			{
				"20 points: 4 of 20 cases broke", broken(4, n),
				map[int]eval.Decision{3: eval.DecisionFail, 5: eval.DecisionFail, 10: eval.DecisionFail},
				map[int]eval.Change{3: eval.ChangeWorse, 5: eval.ChangeWorse, 10: eval.ChangeRegressed},
			},
		} {
			t.Run(fmt.Sprintf("%s, %d repeats", tc.name, n), func(t *testing.T) {
				got := Compare(arm(n, all...), arm(n, tc.head...), Options{})
				if got.Decision != tc.decision[n] {
					t.Errorf("got %s, want %s: %s", got.Decision, tc.decision[n], got.Reasons)
				}
				if got.Cells[0].Change != tc.changes[n] {
					t.Errorf("case 1 is %s, want %s", got.Cells[0].Change, tc.changes[n])
				}
			})
		}
	}
}

// with changes the first cell of an arm.
func with(a eval.Arm, change func(*eval.ArmCell)) eval.Arm {
	a.Cells = append([]eval.ArmCell{}, a.Cells...)
	change(&a.Cells[0])
	return a
}

func kind(k eval.Kind, a eval.Arm) eval.Arm {
	for i := range a.Cells {
		a.Cells[i].Kind = k
	}
	return a
}

func TestDecisions(t *testing.T) {
	errors := func(n int) func(*eval.ArmCell) {
		return func(c *eval.ArmCell) { c.Counts.Pass -= n; c.Counts.Error += n }
	}
	steady := arm(10, repeat(10, 50)...)
	for _, tc := range []struct {
		name       string
		base, head eval.Arm
		want       eval.Decision
		says       string
	}{
		{"nothing in common", arm(3, 3), eval.Arm{}, eval.DecisionNone, "agent: no cell can be compared"},
		{"no trial has a verdict", arm(3, 3), with(arm(3, 3), errors(3)), eval.DecisionInconclusive, "agent: no cell passed or failed in both arms"},
		{"better", arm(5, 0, 0, 1, 5, 5), arm(5, 5, 5, 5, 5, 5), eval.DecisionPass, "agent: better: 44.0 % → 100.0 %, +56.0 points"},
		{"a cell that regressed within the margin", steady, arm(10, append([]int{0}, repeat(10, 49)...)...), eval.DecisionFail, "agent: 1 cell regressed, whatever the rate: 100.0 % → 98.0 %"},
		{
			"worse by little in many cases", steady, arm(10, append(repeat(9, 10), repeat(10, 40)...)...), eval.DecisionPass,
			"agent: significantly worse but within tolerance, which is 5 points: 100.0 % → 98.0 %",
		},
		{"errors that change nothing", steady, with(steady, errors(1)), eval.DecisionPass, "agent: not worse by more than 5 points"},
		{
			"errors that could hide a drop", arm(3, repeat(3, 20)...), with(arm(3, repeat(3, 20)...), errors(3)), eval.DecisionInconclusive,
			"agent: not decided: 100.0 % → 100.0 %, +0.0 points [-4.5, +4.5], and the 3 trials without a verdict could change the answer",
		},
		{
			"a drop that errors cannot hide", arm(3, repeat(3, 20)...), with(arm(3, append(repeat(3, 10), repeat(0, 10)...)...), errors(3)), eval.DecisionFail, "agent: worse",
		},
		{
			"stopped by the budget", steady, with(steady, func(c *eval.ArmCell) { c.Planned += 5 }), eval.DecisionInconclusive,
			"and 5 trials of the head did not come to their end",
		},
		{
			"stopped by the budget, and worse already", arm(3, repeat(3, 20)...),
			with(arm(3, append(repeat(3, 10), repeat(0, 10)...)...), func(c *eval.ArmCell) { c.Planned += 5 }), eval.DecisionFail, "agent: worse",
		},
		{"a script case broke", kind(eval.KindScript, arm(1, 1, 1, 1)), kind(eval.KindScript, arm(1, 1, 0, 1)), eval.DecisionFail, "script: 1 cell regressed: 100.0 % → 66.7 %"},
		{"a script case that failed before", kind(eval.KindScript, arm(1, 1, 0)), kind(eval.KindScript, arm(1, 1, 0)), eval.DecisionPass, "script: no cell regressed: 50.0 % → 50.0 %"},
		{
			"a script case without a verdict", kind(eval.KindScript, arm(1, 1, 1)), with(kind(eval.KindScript, arm(1, 1, 1)), errors(1)), eval.DecisionInconclusive,
			"script: not decided: 1 cell that passed came to no verdict in all trials",
		},
		{"one repeat of an agent", arm(1, 1, 1, 1, 1), arm(1, 1, 1, 0, 0), eval.DecisionInconclusive, "agent: not decided: 100.0 % → 50.0 %, -50.0 points"},
		{
			"repeats that it would take", arm(3, 2, 1, 3, 3), arm(3, 1, 2, 3, 3), eval.DecisionInconclusive,
			"a drop of 5 points would be found by about 207 repeats of each cell",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Compare(tc.base, tc.head, Options{})
			if got.Decision != tc.want || len(got.Reasons) != 1 || !strings.Contains(got.Reasons[0], tc.says) {
				t.Errorf("got %s because %q, want %s because %q", got.Decision, got.Reasons, tc.want, tc.says)
			}
		})
	}
}

func TestChanges(t *testing.T) {
	for _, tc := range []struct {
		name          string
		n, base, head int
		among         int // other cells, that do not change
		want          eval.Change
		kind          eval.Kind
	}{
		{"three repeats alone", 3, 3, 0, 0, eval.ChangeRegressed, eval.KindAgent}, // p 0.05 at α 0.05
		{"three repeats among others", 3, 3, 0, 1, eval.ChangeWorse, eval.KindAgent},
		{"a drop of a third", 3, 3, 2, 1, eval.ChangeFlaky, eval.KindAgent},
		{"ten repeats among others", 10, 10, 1, 20, eval.ChangeRegressed, eval.KindAgent},
		{"significant by itself", 10, 10, 5, 20, eval.ChangeWorse, eval.KindAgent},
		{"a little less often", 10, 9, 7, 20, eval.ChangeUnchanged, eval.KindAgent},
		{"no longer flaky", 10, 9, 10, 20, eval.ChangeFlaky, eval.KindAgent},
		{"looks better", 3, 0, 3, 1, eval.ChangeBetter, eval.KindAgent},
		{"improved", 10, 1, 10, 20, eval.ChangeImproved, eval.KindAgent},
		{"a script fails once", 3, 3, 2, 1, eval.ChangeRegressed, eval.KindScript},
		{"a script passes again", 1, 0, 1, 1, eval.ChangeImproved, eval.KindScript},
		{"a script fails more often", 3, 2, 1, 1, eval.ChangeUnchanged, eval.KindScript},
		{"a script always fails now", 3, 2, 0, 1, eval.ChangeFlaky, eval.KindScript},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base, head := kind(tc.kind, arm(tc.n, append(repeat(tc.n, tc.among), tc.base)...)), kind(tc.kind, arm(tc.n, append(repeat(tc.n, tc.among), tc.head)...))
			got := Compare(base, head, Options{})
			last := fmt.Sprintf("case-%02d", tc.among+1)
			for _, c := range got.Cells {
				if c.Case == last && c.Change != tc.want || c.Case != last && c.Change != eval.ChangeUnchanged {
					t.Errorf("%s is %s, want %s", c.Case, c.Change, tc.want)
				}
			}
		})
	}
}

// TestRatios is latency by the median cell and cost by the sum.
func TestRatios(t *testing.T) {
	base, head := arm(3, repeat(3, 10)...), arm(3, repeat(3, 10)...)
	for i := range base.Cells {
		base.Cells[i].MedianMS, head.Cells[i].MedianMS = 100, 150
		base.Cells[i].MicroUSD, head.Cells[i].MicroUSD = new(100.0), new(100.0)
	}
	head.Cells[0].MedianMS = 10_000 // one slow cell
	head.Cells[1].MicroUSD = nil
	k := Compare(base, head, Options{}).Kinds[0]
	if k.Latency == nil || k.Latency.Cells != 10 || math.Abs(*k.Latency.Ratio.Value-1.5) > 1e-9 || k.Latency.Decision != eval.DecisionFail {
		t.Errorf("latency: got %+v, want 1.5 of 10 cells, failed", k.Latency)
	}
	if k.Cost == nil || k.Cost.Cells != 9 || *k.Cost.Ratio.Value != 1 || k.Cost.Decision != eval.DecisionPass {
		t.Errorf("cost: got %+v, want 1 of 9 cells, passed", k.Cost)
	}
	if k := Compare(arm(3, 3, 3), arm(3, 3, 3), Options{}).Kinds[0]; k.Latency != nil || k.Cost != nil {
		t.Errorf("got %+v and %+v where nothing is known, want none", k.Latency, k.Cost)
	}
}

// TestAxis compares the values of an axis of one arm, other axes equal.
func TestAxis(t *testing.T) {
	var a eval.Arm
	for _, axes := range []map[string]string{
		{"model": "x", "loading": "eager"}, {"model": "x", "loading": "search"}, {"model": "y", "loading": "eager"}, {"loading": "eager"},
	} {
		c := of("a")
		v := eval.NewVariant(axes)
		c.Variant, c.Axes = v.ID, v.Axes
		a.Cells = append(a.Cells, c)
	}
	if got := Values(a, "model"); !slices.Equal(got, []string{"x", "y"}) {
		t.Errorf("values of model: got %q, want x and y", got)
	}
	if got := Axes(a); !slices.Equal(got, []string{"loading", "model"}) {
		t.Errorf("axes: got %q, want loading and model", got)
	}
	p := Match(AtValue(a, "model", "x"), AtValue(a, "model", "y"))
	if len(p.Pairs) != 1 || p.Pairs[0].Head.Variant != "loading=eager" || len(p.Removed) != 1 || p.Removed[0].Variant != "loading=search" || len(p.New) != 0 {
		t.Errorf("got %+v, want one pair and one that only x has", p)
	}
}

// TestCompareProperty holds that an arm has nothing against itself, that swapped arms
// mirror each other, and that the order of the cells does not count.
func TestCompareProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		passed := rapid.SliceOfN(rapid.IntRange(0, n), 1, 20)
		counts := passed.Draw(t, "base")
		base := arm(n, counts...)
		head := arm(n, rapid.SliceOfN(rapid.IntRange(0, n), len(counts), len(counts)).Draw(t, "head")...)
		if same := Compare(base, base, Options{}); same.Decision == eval.DecisionFail || same.Cells[0].Change != eval.ChangeUnchanged {
			t.Fatalf("an arm and itself: %s, %s", same.Decision, same.Cells[0].Change)
		}
		there, back := Compare(base, head, Options{}).Kinds[0], Compare(head, base, Options{}).Kinds[0]
		if math.Abs(*there.Difference.Value+*back.Difference.Value) > 1e-12 || math.Abs(*there.Difference.Low+*back.Difference.High) > 1e-12 {
			t.Fatalf("not mirrored: %v and %v", Points(there.Difference), Points(back.Difference))
		}
		if there.Changes[eval.ChangeRegressed] != back.Changes[eval.ChangeImproved] || there.Changes[eval.ChangeWorse] != back.Changes[eval.ChangeBetter] {
			t.Fatalf("not mirrored: %v and %v", there.Changes, back.Changes)
		}
		shuffled := head
		shuffled.Cells = rapid.Permutation(head.Cells).Draw(t, "order")
		if again := Compare(base, shuffled, Options{}).Kinds[0]; again.Message != there.Message || *again.Difference.Low != *there.Difference.Low {
			t.Fatalf("another order of cells: %q and %q", there.Message, again.Message)
		}
	})
}
