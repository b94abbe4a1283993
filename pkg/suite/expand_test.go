package suite

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// expandable is a suite with an axis of each sort.
func expandable() *eval.Suite {
	point := func(v string) eval.Point { return eval.Point{Value: v} }
	return &eval.Suite{
		Name: "s",
		Servers: map[string]eval.Server{
			"local":  {Command: []string{"x"}},
			"remote": {URL: "http://x"},
		},
		Axes: []eval.Axis{
			{Name: "identity", Points: []eval.Point{{Value: "viewer", Env: map[string]string{"T": "v"}}, {Value: "admin", Env: map[string]string{"T": "a"}}}},
			{Name: "model", Points: []eval.Point{point("fast"), point("slow")}},
			{Name: "server", Points: []eval.Point{point("local"), point("remote")}},
			{Name: "tenant", Points: []eval.Point{{Value: "acme", Vars: map[string]eval.JSON{"own": eval.JSON(`"A"`)}}, {Value: "globex", Vars: map[string]eval.JSON{"own": eval.JSON(`"G"`)}}}},
		},
		CaseRepeats: map[string]int{},
	}
}

func script(id, server, argument string) eval.Case {
	return eval.Case{ID: id, Kind: eval.KindScript, Server: server, Steps: []eval.Step{{ID: "1", Call: "t", Arguments: eval.Encode(map[string]any{"a": argument})}}}
}

func TestCaseExpandsOverTheAxesThatItUses(t *testing.T) {
	tests := []struct {
		name string
		c    eval.Case
		want []string
	}{
		{"url server, no reference", script("c", "remote", "x"), []string{"default"}},
		{"command server gets the env axis", script("c", "local", "x"), []string{"identity=viewer", "identity=admin"}},
		{"a var of an axis", script("c", "remote", "{{own}}"), []string{"tenant=acme", "tenant=globex"}},
		{"axis.NAME", script("c", "remote", "{{axis.tenant}}"), []string{"tenant=acme", "tenant=globex"}},
		{"no server of its own", script("c", "", "x"), []string{
			"identity=viewer,server=local", "identity=viewer,server=remote", "identity=admin,server=local", "identity=admin,server=remote",
		}},
		{"an agent case", eval.Case{ID: "c", Kind: eval.KindAgent, Server: "remote", Prompt: "do"}, []string{"model=fast", "model=slow"}},
		{"its own var hides the axis", func() eval.Case {
			c := script("c", "remote", "{{own}}")
			c.Vars = map[string]eval.JSON{"own": eval.JSON(`"mine"`)}
			return c
		}(), []string{"default"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := expandable()
			s.Cases = []eval.Case{tt.c}
			m, err := Expand(s, Selection{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range m.Cells {
				got = append(got, m.Variants[c.Variant].ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("variants (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExcludeRemovesCells(t *testing.T) {
	s := expandable()
	tagged := script("tagged", "remote", "{{own}}")
	tagged.Tags = []string{"slow"}
	s.Cases = []eval.Case{script("plain", "remote", "{{own}}"), tagged, script("none", "remote", "x")}
	s.Exclude = []eval.Exclusion{{Axes: map[string]string{"tenant": "globex"}, Tag: "slow"}}
	if got, want := cellNames(t, s, Selection{}), []string{"plain tenant=acme ×1", "plain tenant=globex ×1", "tagged tenant=acme ×1", "none default ×1"}; !cmp.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSelection(t *testing.T) {
	s := expandable()
	a, b := script("order/rejects/1", "remote", "{{own}}"), script("listing", "remote", "x")
	b.Tags = []string{"nightly"}
	s.Cases = []eval.Case{a, b}
	s.CaseRepeats["listing"] = 3
	tests := []struct {
		name string
		sel  Selection
		want []string
	}{
		{"all", Selection{}, []string{"order/rejects/1 tenant=acme ×1", "order/rejects/1 tenant=globex ×1", "listing default ×3"}},
		{"a glob takes what is below it", Selection{Cases: []string{"order/*"}}, []string{"order/rejects/1 tenant=acme ×1", "order/rejects/1 tenant=globex ×1"}},
		{"an exact id", Selection{Cases: []string{"listing"}}, []string{"listing default ×3"}},
		{"a tag", Selection{Tags: []string{"nightly"}}, []string{"listing default ×3"}},
		{"an axis keeps cells that do not use it", Selection{Axes: map[string][]string{"tenant": {"acme"}}}, []string{"order/rejects/1 tenant=acme ×1", "listing default ×3"}},
		{"repeats for all", Selection{Repeats: 5, Cases: []string{"listing"}}, []string{"listing default ×5"}},
		{"nothing", Selection{Cases: []string{"other"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, cellNames(t, s, tt.sel)); diff != "" {
				t.Errorf("cells (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFewRepeats(t *testing.T) {
	tests := []struct {
		name    string
		least   int
		repeats []int
		want    string
	}{
		{"nobody asks", 0, []int{1}, ""},
		{"enough", 3, []int{3, 4}, ""},
		{"too few", 3, []int{3, 1}, "1 repeat of 3 that the suite asks for: nothing may be claimed about the choice of tools"},
		{"nothing runs", 3, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var m Matrix
			for _, n := range tt.repeats {
				m.Cells = append(m.Cells, eval.Cell{Repeats: n})
			}
			if got := m.FewRepeats(&eval.Suite{MinRepeats: tt.least}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpansionIsBounded(t *testing.T) {
	s := expandable()
	s.Cases = []eval.Case{script("c", "remote", "x")}
	if _, err := Expand(s, Selection{Repeats: MaxTrials + 1}); err == nil {
		t.Errorf("%d trials were accepted", MaxTrials+1)
	}
}

func cellNames(t *testing.T, s *eval.Suite, sel Selection) []string {
	t.Helper()
	m, err := Expand(s, sel)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range m.Cells {
		names = append(names, s.Cases[c.Case].ID+" "+m.Variants[c.Variant].ID+" ×"+string(rune('0'+c.Repeats)))
	}
	return names
}

// A matrix that no machine could hold is refused before it is built.
func TestExpandBoundsTheMatrix(t *testing.T) {
	s := &eval.Suite{Cases: []eval.Case{{ID: "c", Kind: eval.KindScript, Server: "s", Steps: []eval.Step{{Call: "t"}}}}}
	for _, name := range []string{"a", "b", "d", "e", "f", "g", "h", "i"} {
		axis := eval.Axis{Name: name}
		for i := range 100 {
			axis.Points = append(axis.Points, eval.Point{Value: fmt.Sprint(i)})
		}
		s.Axes = append(s.Axes, axis)
		s.Cases[0].Steps[0].Call += "{{axis." + name + "}}"
	}
	if m, err := Expand(s, Selection{}); err == nil {
		t.Errorf("got %d cells, want an error", len(m.Cells))
	}
}
