package report

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// armOf makes one of cells of which so many of n repeats passed.
func armOf(run string, k eval.Kind, n int, passed ...int) eval.Arm {
	a := eval.Arm{Run: run, Suite: "nightly", Runs: 1, Version: "0.6.0", Outcome: eval.OutcomeComplete, Git: &eval.Git{Commit: "3f9a2c1d00", Branch: "main"}}
	for i, c := range passed {
		a.Cells = append(a.Cells, eval.ArmCell{
			Case: fmt.Sprintf("case-%02d", i+1), Variant: "default", Kind: k, Counts: eval.VerdictCounts{Pass: c, Fail: n - c}, Planned: n,
			MedianMS: 100 + float64(i), MicroUSD: new(1000.0), Conditions: map[string]string{eval.ConditionModel: "openai some-model"},
		})
	}
	return a
}

// regressed is a comparison with something of everything.
func regressed() eval.ArmComparison {
	base := armOf("r-20261130-AAAAAA", eval.KindAgent, 10, 10, 10, 10, 9, 0, 10, 10, 10, 10, 3, 9, 10, 10)
	head := armOf("r-20261130-BBBBBB", eval.KindAgent, 10, 0, 4, 8, 10, 10, 10, 10, 10, 10, 8, 9, 3, 2)
	head.Git = &eval.Git{Commit: "77e01f0", Dirty: true}
	for i := range head.Cells {
		head.Cells[i].MedianMS *= 1.3
		head.Cells[i].Conditions = map[string]string{eval.ConditionModel: "openai another-model"}
	}
	base.Cells[5].Conditions = map[string]string{eval.ConditionModel: "openai some-model", "fixture": "corpus-11"}
	head.Cells[5].Conditions = map[string]string{eval.ConditionModel: "openai another-model", "fixture": "corpus-12"}
	head.Cells[6].Counts = eval.VerdictCounts{Error: 10}
	head.Cells[7].Case = "case-new"
	for _, side := range []struct {
		arm    *eval.Arm
		passed int
	}{{&base, 1}, {&head, 0}} {
		for i, cell := range armOf("", eval.KindScript, 1, 1, side.passed).Cells {
			cell.Case = fmt.Sprintf("script/%d", i+1)
			side.arm.Cells = append(side.arm.Cells, cell)
		}
	}
	c := compare.Compare(base, head, compare.Options{})
	for i := range c.Cells {
		if c.Cells[i].Case == "case-01" && c.Cells[i].Kind == eval.KindAgent {
			c.Cells[i].Step = &eval.StepDifference{BaseRepeat: 1, HeadRepeat: 2, Turn: 2, Call: 1, Base: `called get_order {"id":"ORD-1"}`, Head: `answered without a call: "I cannot."`}
		}
	}
	return c
}

func TestComparison(t *testing.T) {
	many := make([]int, 60)
	few := compare.Compare(armOf("r-20261130-AAAAAA", eval.KindAgent, 3, append([]int{3, 3}, many...)...), armOf("r-20261130-BBBBBB", eval.KindAgent, 3, append([]int{0, 3}, many...)...), compare.Options{})
	removed := compare.Compare(armOf("r-20261130-AAAAAA", eval.KindScript, 1, many...), eval.Arm{Run: "r-20261130-BBBBBB", Suite: "nightly"}, compare.Options{})
	axis := compare.Compare(armOf("r-20261130-AAAAAA", eval.KindAgent, 5, 5, 5, 5, 5), armOf("r-20261130-AAAAAA", eval.KindAgent, 5, 5, 5, 5, 5), compare.Options{})
	axis.Axis, axis.Base.Value, axis.Head.Value = "model", "fast", "careful"
	for _, tt := range []struct {
		name  string
		c     eval.ArmComparison
		shown []eval.Change
		o     Options
	}{
		{"comparison", regressed(), nil, Options{Next: []string{"evalfarm show r-20261130-BBBBBB case-01"}}},
		{"comparison-colour", regressed(), []eval.Change{eval.ChangeRegressed, eval.ChangeWorse}, Options{Color: true, Width: 60}},
		{"comparison-suspect", few, nil, Options{}},
		{"comparison-wide", removed, nil, Options{}},
		{"comparison-axis", axis, eval.Changes(), Options{}},
		{"comparison-nothing", compare.Compare(eval.Arm{}, eval.Arm{}, compare.Options{}), nil, Options{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := Comparison(&buf, tt.c, tt.shown, tt.o); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, buf.Bytes())
		})
	}
}

// hostileComparison has a text wherever a stranger can put one.
func hostileComparison(s string) eval.ArmComparison {
	c := regressed()
	c.Axis, c.Reasons = s, []string{s}
	for _, side := range []*eval.Side{&c.Base, &c.Head} {
		side.Value, side.Run, side.Suite, side.Note = s, s, s, s
		side.Outcome, side.Git = eval.RunOutcome(s), &eval.Git{Commit: s, Branch: s}
	}
	c.Differ = append(c.Differ, eval.Difference{Condition: s, Base: s, Head: s, Cells: 2})
	c.Kinds[0].Notes = []string{s}
	for i := range c.Cells {
		c.Cells[i].Case, c.Cells[i].Variant, c.Cells[i].Why = s, s, s
		c.Cells[i].Step = &eval.StepDifference{Turn: 1, Step: s, Base: s, Head: s}
	}
	return c
}
