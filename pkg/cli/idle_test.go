package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestPassesIdle(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	command := []string{"/bin/sh", "-c", ">" + ran + "; echo '{\"score\":1}'"}
	verify := eval.Check{Verify: &eval.VerifyCheck{Command: command}}
	scorer := eval.Check{Scorer: &eval.ScorerCheck{Command: command}}
	judge := eval.Check{Judge: &eval.JudgeCheck{Rubric: "It is polite."}}
	holds := eval.Check{NotCalled: &eval.CallPattern{Tool: "{{tool}}"}}
	fails := eval.Check{Called: &eval.CallCheck{CallPattern: eval.CallPattern{Tool: "get"}}}
	anyOf := func(parts ...eval.Check) eval.Check { return eval.Check{Any: parts} }
	allOf := func(parts ...eval.Check) eval.Check { return eval.Check{All: parts} }
	not := func(c eval.Check) eval.Check {
		c.Not = true
		return c
	}
	shown := func(c eval.Check) eval.Check {
		c.Weight = new(0.0)
		return c
	}
	tests := []struct {
		name      string
		checks    []eval.Check
		threshold *float64
		want      bool
	}{
		{name: "no checks", want: true},
		{name: "a check that holds", checks: []eval.Check{holds}, want: true},
		{name: "a check that wants something", checks: []eval.Check{holds, fails}},
		{name: "a command", checks: []eval.Check{holds, verify}},
		{name: "a command turned around", checks: []eval.Check{not(verify)}},
		{name: "a scorer", checks: []eval.Check{scorer}},
		{name: "a judge", checks: []eval.Check{holds, judge}},
		{name: "a step", checks: []eval.Check{{Verify: &eval.VerifyCheck{Step: &eval.Step{Call: "get"}}}}},
		{name: "in a group of which all must hold", checks: []eval.Check{allOf(holds, verify)}},
		{name: "in a group of which one must hold", checks: []eval.Check{anyOf(fails, verify, scorer)}},
		{name: "in a group of which another one holds", checks: []eval.Check{anyOf(holds, verify, scorer)}, want: true},
		{name: "in a group in a group", checks: []eval.Check{anyOf(fails, allOf(holds, anyOf(scorer, judge)))}},
		{name: "in a group turned around", checks: []eval.Check{not(anyOf(fails, verify))}},
		{name: "of weight 0", checks: []eval.Check{holds, shown(verify), shown(anyOf(scorer))}, want: true},
		{name: "of weight 0 in a group", checks: []eval.Check{allOf(holds, shown(verify))}, want: true},
		{name: "the threshold is reached without it", checks: []eval.Check{holds, verify}, threshold: new(0.5), want: true},
		{name: "the threshold is not reached without it", checks: []eval.Check{holds, verify}, threshold: new(0.6)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := eval.Case{ID: "c", Kind: eval.KindAgent, Prompt: "Hello.", Checks: tt.checks, Threshold: tt.threshold}
			if got := passesIdle(t.Context(), c); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was run")
	}
}
