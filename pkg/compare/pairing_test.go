package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// of makes a cell with conditions, in pairs of name and value.
func of(kase string, conditions ...string) eval.ArmCell {
	c := eval.ArmCell{Case: kase, Variant: "default", Kind: eval.KindAgent, Conditions: map[string]string{}}
	for i := 0; i < len(conditions); i += 2 {
		c.Conditions[conditions[i]] = conditions[i+1]
	}
	return c
}

func TestMatch(t *testing.T) {
	cost := func(c eval.ArmCell, micro float64) eval.ArmCell { c.MicroUSD = &micro; return c }
	script := of("a")
	script.Kind = eval.KindScript
	for _, tc := range []struct {
		name       string
		base, head []eval.ArmCell
		pairs      int
		priced     int
		differ     []eval.Difference
		excluded   []eval.Excluded
	}{
		{name: "nothing"},
		{name: "the same", base: []eval.ArmCell{of("a", "case", "1")}, head: []eval.ArmCell{of("a", "case", "1")}, pairs: 1},
		{
			name: "another task", base: []eval.ArmCell{of("a", "case", "1"), of("b")}, head: []eval.ArmCell{of("a", "case", "2"), of("b")}, pairs: 1,
			differ:   []eval.Difference{{Condition: "case", Base: "1", Head: "2", Cells: 1, Excludes: true}},
			excluded: []eval.Excluded{{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "the case itself changed"}},
		},
		{
			name: "other checks", base: []eval.ArmCell{of("a", "checks", "1")}, head: []eval.ArmCell{of("a", "checks", "2")},
			differ:   []eval.Difference{{Condition: "checks", Base: "1", Head: "2", Cells: 1, Excludes: true}},
			excluded: []eval.Excluded{{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "its checks changed"}},
		},
		{
			name: "another judge", base: []eval.ArmCell{of("a", "judge", "x")}, head: []eval.ArmCell{of("a", "judge", "y")},
			differ:   []eval.Difference{{Condition: "judge", Base: "x", Head: "y", Cells: 1, Excludes: true}},
			excluded: []eval.Excluded{{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "judge was x and is y"}},
		},
		{
			name: "another fixture, in two cells", base: []eval.ArmCell{of("a", "fixture", "1"), of("b", "fixture", "1")}, head: []eval.ArmCell{of("a", "fixture", "2"), of("b", "fixture", "2")},
			differ: []eval.Difference{{Condition: "fixture", Base: "1", Head: "2", Cells: 2, Excludes: true}},
			excluded: []eval.Excluded{
				{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "fixture was 1 and is 2"},
				{Case: "b", Variant: "default", Kind: eval.KindAgent, Why: "fixture was 1 and is 2"},
			},
		},
		{
			name: "a condition that one arm does not know", base: []eval.ArmCell{of("a")}, head: []eval.ArmCell{of("a", "permissions", "read-only")},
			differ:   []eval.Difference{{Condition: "permissions", Head: "read-only", Cells: 1, Excludes: true}},
			excluded: []eval.Excluded{{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "the base does not say its permissions"}},
		},
		{
			name: "another model and listing are compared", base: []eval.ArmCell{of("a", "model", "x", "listing", "1")}, head: []eval.ArmCell{of("a", "model", "y", "listing", "2")}, pairs: 1,
			differ: []eval.Difference{{Condition: "listing", Base: "1", Head: "2", Cells: 1}, {Condition: "model", Base: "x", Head: "y", Cells: 1}},
		},
		{name: "a server that told nothing", base: []eval.ArmCell{of("a", "server", "x 1", "listing", "1")}, head: []eval.ArmCell{of("a")}, pairs: 1},
		{name: "the same prices", base: []eval.ArmCell{cost(of("a", "prices", "1"), 5)}, head: []eval.ArmCell{cost(of("a", "prices", "1"), 6)}, pairs: 1, priced: 1},
		{
			name: "other prices", base: []eval.ArmCell{cost(of("a", "prices", "1"), 5)}, head: []eval.ArmCell{cost(of("a", "prices", "2"), 6)}, pairs: 1,
			differ: []eval.Difference{{Condition: "prices", Base: "1", Head: "2", Cells: 1}},
		},
		{name: "a cost that nobody knows", base: []eval.ArmCell{cost(of("a"), 5)}, head: []eval.ArmCell{of("a")}, pairs: 1},
		{
			name: "another kind", base: []eval.ArmCell{script}, head: []eval.ArmCell{of("a")},
			excluded: []eval.Excluded{{Case: "a", Variant: "default", Kind: eval.KindAgent, Why: "it was a case of kind script and is one of kind agent"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Match(eval.Arm{Cells: tc.base}, eval.Arm{Cells: tc.head})
			priced := got.Where(func(p Pair) bool { return p.CostComparable })
			if len(got.Pairs) != tc.pairs || len(priced.Pairs) != tc.priced {
				t.Errorf("%d pairs, %d of them with costs; want %d and %d", len(got.Pairs), len(priced.Pairs), tc.pairs, tc.priced)
			}
			if diff := cmp.Diff(tc.differ, got.Differ); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.excluded, got.Excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMatchRuns is what holds for whole runs: it is told, and only the commit is not
// refused.
func TestMatchRuns(t *testing.T) {
	got := Match(
		eval.Arm{Version: "1", Git: &eval.Git{Commit: "aaa", Branch: "main"}},
		eval.Arm{Version: "2", Git: &eval.Git{Commit: "bbb", Dirty: true}},
	)
	version := eval.Difference{Condition: "evalfarm", Base: "1", Head: "2"}
	want := []eval.Difference{{Condition: "commit", Base: "aaa on main", Head: "bbb with changes"}, version}
	if diff := cmp.Diff(want, got.Differ); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]eval.Difference{version}, got.Refused()); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if got := Match(eval.Arm{}, eval.Arm{Version: "2", Git: &eval.Git{Commit: "bbb"}}).Differ; got != nil {
		t.Errorf("differences from a run that says nothing of itself: %v, want none", got)
	}
}

// TestMatchProperty holds that every cell of either arm is in exactly one list, and
// that base and head mirror each other.
func TestMatchProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arm := func(name string) eval.Arm {
			var a eval.Arm
			for _, kase := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.ID[string]).Draw(t, name) {
				a.Cells = append(a.Cells, of(kase, "checks", rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "checks")))
			}
			return a
		}
		base, head := arm("base"), arm("head")
		p, mirrored := Match(base, head), Match(head, base)
		both := len(p.Pairs) + len(p.Excluded)
		if both+len(p.New) != len(head.Cells) || both+len(p.Removed) != len(base.Cells) {
			t.Fatalf("%d pairs, %d excluded, %d new, %d removed of %d and %d cells", len(p.Pairs), len(p.Excluded), len(p.New), len(p.Removed), len(base.Cells), len(head.Cells))
		}
		if len(p.Pairs) != len(mirrored.Pairs) || len(p.New) != len(mirrored.Removed) || len(p.Excluded) != len(mirrored.Excluded) {
			t.Fatalf("not mirrored: %+v and %+v", p, mirrored)
		}
	})
}
