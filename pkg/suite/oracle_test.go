package suite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestLoadOracle(t *testing.T) {
	want := map[string]map[string][]eval.Check{
		"order": {
			"task_success": {
				{ID: "contains", Text: &eval.TextCheck{Contains: new("shipped"), IgnoreCase: true}},
				{ID: "braces", Weight: new(2.0), Text: &eval.TextCheck{Contains: new("{{{{x}}")}},
			},
			"tool_selection_correctness": {{ID: "called mcp__desk__get_order", Called: &eval.CallCheck{CallPattern: eval.CallPattern{Tool: "mcp__desk__get_order"}}}},
		},
		"refund": {"task_success": {{ID: "not_called issue_refund", NotCalled: &eval.CallPattern{Tool: "issue_refund"}}}},
	}
	for name, text := range map[string]string{
		"oracle.yaml": `
version: 1
x-by: somebody
scenarios:
  order:
    task_success:
      - contains: {text: shipped, ignore_case: true}
      - {id: braces, weight: 2, contains: "{{{{x}}"}
    tool_selection_correctness: [{called: mcp__desk__get_order}]
  refund: {task_success: [{not_called: issue_refund}]}
`,
		"oracle.json": `{"version": 1, "scenarios": {
  "order": {
    "task_success": [{"contains": {"text": "shipped", "ignore_case": true}}, {"id": "braces", "weight": 2, "contains": "{{{{x}}"}],
    "tool_selection_correctness": [{"called": "mcp__desk__get_order"}]},
  "refund": {"task_success": [{"not_called": "issue_refund"}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := suite.LoadOracle(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got.Scenarios); diff != "" {
				t.Errorf("oracle differs (-want +got):\n%s", diff)
			}
			if len(got.Warnings) > 0 {
				t.Errorf("got warnings %v, want none", got.Warnings)
			}
		})
	}
}

func TestProblemsOfOracles(t *testing.T) {
	in := func(checks string) string { return "version: 1\nscenarios: {a: {m: [" + checks + "]}}\n" }
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no version", "scenarios: {a: {m: [{contains: x}]}}", `missing key "version"`},
		{"another version", "version: oracle.v5\nscenarios: {a: {m: [{contains: x}]}}", "1:10 want a whole number"},
		{"no scenarios", "version: 1", `missing key "scenarios"`},
		{"empty", "version: 1\nscenarios: {}", "2:1 the oracle has no scenarios"},
		{"a scenario without metrics", "version: 1\nscenarios: {a: {}}", "2:16 the scenario has no metrics"},
		{"a metric without checks", in(""), "2:20 no check decides the metric"},
		{"checks without weight", in("{contains: x, weight: 0}"), "2:20 no check decides the metric"},
		{"no list", "version: 1\nscenarios: {a: {m: {contains: x}}}", "2:20 want a list, got a map"},
		{"an unknown key", in("{containz: x}"), `unknown key "containz"`},
		{"the same key twice", "version: 1\nscenarios: {a: {m: [{contains: x}], m: [{contains: y}]}}", `duplicate key "m"`},
		{"a check without a kind", in("{id: x}"), "the check wants nothing"},
		{"the same id twice", in("{id: x, contains: a}, {id: X, contains: b}"), `the check id "X" is taken`},
		{"a regular expression", in("{regex: '('}"), "the syntax is that of RE2"},
		{"a placeholder", in(`{contains: "{{own}}"}`), "2:32 nothing gives {{own}} a value in an oracle"},
		{"an expression", in(`{contains: "${{ env.HOME }}"}`), "2:32 nothing gives {{env.HOME}} a value in an oracle"},
		{"a verify step", in("{contains: x}, {verify: {call: t}}"), "2:37 an oracle has no verify"},
		{"a scorer", in("{scorer: {command: [x]}}"), "2:22 an oracle has no scorer"},
		{"a judge", in("{judge: {rubric: x}}"), "2:22 an oracle has no judge"},
		{"a judge in a group", in("{any: [{contains: x}, {all: [{not: {judge: {rubric: x}}}]}]}"), "2:57 an oracle has no judge"},
		{"a baseline", in("{trajectory: {baseline: main}}"), "2:22 an oracle says itself which calls it expects"},
		{"no calls", in("{trajectory: {match: exact}}"), "2:22 an oracle says itself which calls it expects"},
		{"time", in("{at_most: {turns: 3, time: 3s}}"), "2:42 an oracle cannot bound the time"},
		{"money", in("{at_most: {cost_usd: 3}}"), "an oracle cannot bound the cost"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := suite.LoadOracle("o.yaml", []byte(test.text))
			problems, ok := errors.AsType[*suite.ProblemsError](err)
			if !ok || got != nil {
				t.Fatalf("got %v and the error %v, want problems", got, err)
			}
			p := problems.Problems[0]
			if got := fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Message, p.Hint); !strings.Contains(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if n := len(problems.Problems); n != 1 {
				t.Errorf("got %d problems, want 1:\n%s", n, problems)
			}
		})
	}
}

// All that is wrong is told at once.
func TestProblemsOfOraclesTogether(t *testing.T) {
	_, err := suite.LoadOracle("o.json", []byte(`{"version": 1, "scenarios": {"a": {"m": [{"judge": {"rubric": "x"}}], "n": [{"regex": "("}], "o": []}}}`))
	problems, ok := errors.AsType[*suite.ProblemsError](err)
	if !ok || len(problems.Problems) != 3 {
		t.Errorf("got %v, want 3 problems", err)
	}
}

func TestWarningsOfOracles(t *testing.T) {
	got, err := suite.LoadOracle("o.yaml", []byte("version: 1\nscenarios: {a: {m: [{contains: yes}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) != 1 || got.Warnings[0].Line != 2 {
		t.Errorf("got %v, want a warning of what yes is", got.Warnings)
	}
}

func FuzzLoadOracle(f *testing.F) {
	f.Add("version: 1\nscenarios: {a: {m: [{contains: x}, {any: [{called: t}, {not: {judge: {rubric: y}}}]}]}}\n", false)
	f.Add(`{"version": 1, "scenarios": {"a": {"m": [{"trajectory": {"calls": ["t"]}}, {"at_most": {"time": "3s"}}]}}}`, true)
	f.Fuzz(func(t *testing.T, text string, json bool) {
		name := "o.yaml"
		if json {
			name = "o.json"
		}
		o, err := suite.LoadOracle(name, []byte(text))
		if err != nil {
			return
		}
		for scenario, metrics := range o.Scenarios {
			for metric, checks := range metrics {
				if len(checks) == 0 {
					t.Errorf("metric %q of %q has no checks", metric, scenario)
				}
				for _, c := range checks {
					if c.ID == "" || c.Judge != nil || c.Verify != nil || c.Scorer != nil {
						t.Errorf("metric %q of %q: got the check %+v", metric, scenario, c)
					}
				}
			}
		}
	})
}
