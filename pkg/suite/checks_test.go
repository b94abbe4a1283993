package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestFormsOfAChecks(t *testing.T) {
	text := func(c eval.TextCheck) eval.Check { return eval.Check{Text: &c} }
	pattern := eval.CallPattern{Tool: "get"}
	tests := []struct {
		name, yaml string
		want       eval.Check
	}{
		{"equals", "{equals: a}", text(eval.TextCheck{Equals: new("a")})},
		{"equals nothing", "{equals: ''}", text(eval.TextCheck{Equals: new("")})},
		{"contains, placed", "{contains: {text: a, in: all, ignore_case: true}}", text(eval.TextCheck{In: eval.PlaceAll, Contains: new("a"), IgnoreCase: true})},
		{"regex", "{regex: 'a+ {{{{'}", text(eval.TextCheck{Regex: "a+ {{{{"})},
		{"regex, placed", "{regex: {pattern: '^a', in: said}}", text(eval.TextCheck{Regex: "^a", In: eval.PlaceSaid})},
		{"regex with a placeholder", "{regex: '({{v}}'}", text(eval.TextCheck{Regex: "({{v}}"})},
		{"json", "{json: {path: total, match: {$gte: 3}}}", eval.Check{JSON: &eval.JSONCheck{Path: "total", Match: eval.JSON(`{"$gte":3}`)}}},
		{"json null", "{json: {path: total, match: null}}", eval.Check{JSON: &eval.JSONCheck{Path: "total", Match: eval.JSON(`null`)}}},
		{"json of a tool", "{json: {tool: get, schema: {type: object}, count: 0}}", eval.Check{JSON: &eval.JSONCheck{Tool: "get", Schema: eval.JSON(`{"type":"object"}`), Count: new(0)}}},
		{"called", "{called: get}", eval.Check{Called: &eval.CallCheck{CallPattern: pattern}}},
		{"called so often", "{called: {tool: get, arguments: {a: {$any: true}}, times: 0}}", eval.Check{Called: &eval.CallCheck{
			CallPattern: eval.CallPattern{Tool: "get", Arguments: eval.JSON(`{"a":{"$any":true}}`)}, Times: new(0),
		}}},
		{"called within bounds", "{called: {tool: get, min: 1, max: 2}}", eval.Check{Called: &eval.CallCheck{CallPattern: pattern, Min: new(1), Max: new(2)}}},
		{"not called", "{not_called: get}", eval.Check{NotCalled: &pattern}},
		{"not called with", "{not_called: {tool: get, arguments: {}}}", eval.Check{NotCalled: &eval.CallPattern{Tool: "get", Arguments: eval.JSON(`{}`)}}},
		{"rejected", "{rejected: {tool: get, kind: tool, contains: must}}", eval.Check{Rejected: &eval.RejectedCheck{
			Tool: "get", ExpectError: eval.ExpectError{Kind: eval.ErrorTool, Contains: "must"},
		}}},
		{"trajectory", "{trajectory: {match: in_order, threshold: 0.8, calls: [get, {tool: put, arguments: {a: 1}}]}}", eval.Check{
			Threshold:  new(0.8),
			Trajectory: &eval.TrajectoryCheck{Match: eval.MatchInOrder, Calls: []eval.CallPattern{pattern, {Tool: "put", Arguments: eval.JSON(`{"a":1}`)}}},
		}},
		{"trajectory, compared", "{trajectory: {calls: [get], compare: {a: ignore, get.b: {regex: '^x'}, c: {number: {relative: 0.1}}, d: {number: {absolute: 2}}}}}", eval.Check{
			Trajectory: &eval.TrajectoryCheck{Calls: []eval.CallPattern{pattern}, Compare: map[string]eval.Comparison{
				"a": {How: "ignore"}, "get.b": {Regex: "^x"}, "c": {Number: &eval.Tolerance{Relative: 0.1}}, "d": {Number: &eval.Tolerance{Absolute: 2}},
			}},
		}},
		{"no repeats", "{no_repeats: true}", eval.Check{NoRepeats: &eval.RepeatsCheck{}}},
		{"few repeats", "{no_repeats: {tool: get, max: 2}}", eval.Check{NoRepeats: &eval.RepeatsCheck{Tool: "get", Max: 2}}},
		{"at most", "{at_most: {turns: 4, tool_calls: 0, tool_errors: 0, invalid_calls: 0, tokens: 5, time: 30s}}", eval.Check{AtMost: &eval.AtMostCheck{
			Turns: new(4), ToolCalls: new(0), ToolErrors: new(0), InvalidCalls: new(0), Tokens: new(5), Time: 30 * time.Second,
		}}},
		{"no sensitive data", "{no_sensitive_data: true}", eval.Check{NoSecrets: &eval.SensitiveCheck{}}},
		{"some sensitive data", "{no_sensitive_data: {in: answer, allow: [a@b.c]}}", eval.Check{NoSecrets: &eval.SensitiveCheck{
			In: eval.PlaceAnswer, Allow: []string{"a@b.c"},
		}}},
		{"verify by a call", "{verify: {server: s, call: get, arguments: {a: '{{v}}'}, expect: {b: 1}, repeat_until: {path: c, equals: 1}}}", eval.Check{Verify: &eval.VerifyCheck{
			Server: "s", Step: &eval.Step{
				ID: "1", Call: "get", Arguments: eval.JSON(`{"a":"{{v}}"}`), Expect: eval.JSON(`{"b":1}`),
				RepeatUntil: &eval.RepeatUntil{Path: "c", Equals: eval.JSON(`1`)},
			},
		}}},
		{"verify by a read", "{verify: {read: 'x:y', expect_text: ok}}", eval.Check{Verify: &eval.VerifyCheck{Step: &eval.Step{ID: "1", Read: "x:y", ExpectText: eval.JSON(`"ok"`)}}}},
		{"verify by a command", "{verify: {command: [./check.sh, '{{v}}'], env: {A: b}, timeout: 10s}}", eval.Check{Verify: &eval.VerifyCheck{
			Command: []string{"./check.sh", "{{v}}"}, Env: map[string]string{"A": "b"}, Timeout: 10 * time.Second,
		}}},
		{"scorer", "{scorer: {command: [./score.py], timeout: 10s}}", eval.Check{Scorer: &eval.ScorerCheck{Command: []string{"./score.py"}, Timeout: 10 * time.Second}}},
		{"judge", "{judge: {rubric: file://rubric.md, votes: 3, reference: R}}", eval.Check{Judge: &eval.JudgeCheck{Rubric: "Is {{v}} good?", Model: "m", Votes: 3, Reference: "R"}}},
		{"any", "{any: [{contains: a}]}", eval.Check{Any: []eval.Check{{ID: "x/contains", Text: &eval.TextCheck{Contains: new("a")}}}}},
		{"all", "{all: [{contains: a, id: y, weight: 0.5}]}", eval.Check{All: []eval.Check{{ID: "y", Weight: new(0.5), Text: &eval.TextCheck{Contains: new("a")}}}}},
		{"turned around", "{contains: a, not: true}", eval.Check{Not: true, Text: &eval.TextCheck{Contains: new("a")}}},
		{"turned around, in short", "{not: {contains: a, title: T}}", eval.Check{Not: true, Title: "T", Text: &eval.TextCheck{Contains: new("a")}}},
		{"turned around twice", "{not: {contains: a, not: true}}", eval.Check{Text: &eval.TextCheck{Contains: new("a")}}},
		{"not turned around", "{contains: a, not: false}", text(eval.TextCheck{Contains: new("a")})},
		{"a group, turned around", "{not: {any: [{contains: a}]}}", eval.Check{Not: true, Any: []eval.Check{{ID: "x/contains", Text: &eval.TextCheck{Contains: new("a")}}}}},
		{"all about it", "{judge: {rubric: R}, title: T, weight: 0, threshold: 0.5}", eval.Check{
			Title: "T", Weight: new(0.0), Threshold: new(0.5), Judge: &eval.JudgeCheck{Rubric: "R", Model: "m"},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			yaml := "{id: x, " + strings.TrimPrefix(test.yaml, "{")
			c := load(t, map[string]string{
				"suite.yaml": asking + "cases: [{id: a, prompt: x, vars: {v: 1}, checks: [" + yaml + "]}]\n",
				"rubric.md":  "Is {{v}} good?\n",
			}, options()).Suite.Cases[0]
			test.want.ID = "x"
			if diff := cmp.Diff([]eval.Check{test.want}, c.Checks); diff != "" {
				t.Errorf("checks differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Ids say what is checked, differ, and are those of the suite where it gives
// some.
func TestIdsOfChecks(t *testing.T) {
	c := load(t, map[string]string{"suite.yaml": asking + `
cases:
  - id: a
    prompt: x
    vars: {tool: get}
    checks:
      - called: get_order
      - called: {tool: GET_ORDER, times: 1}
      - called: "{{tool}}"
      - not: {called: get_order}
      - contains: a
      - {contains: b, id: Contains}
      - contains: c
      - json: {tool: get, path: "items[0].id", match: 1}
      - verify: {call: look}
      - not_called: ` + strings.Repeat("é", 100) + `
      - any: [{contains: a}, {contains: b}, {all: [{regex: a}]}]
`}, options()).Suite.Cases[0]
	var got []string
	var walk func([]eval.Check)
	walk = func(checks []eval.Check) {
		for _, c := range checks {
			got = append(got, c.ID)
			walk(c.Any)
			walk(c.All)
		}
	}
	walk(c.Checks)
	want := []string{
		"called get_order", "called GET_ORDER 2", "called tool", "not called get_order",
		"contains 2", "Contains", "contains 3", "json get items[0].id", "verify look", "not_called " + strings.Repeat("é", 68) + "…",
		"any", "any/contains", "any/contains 2", "any/all", "any/all/regex",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
}

func TestWhoJudges(t *testing.T) {
	const two = head + "models: {fast: {provider: openai, model: x}, slow: {provider: openai, model: y}}\n"
	for name, test := range map[string]struct{ yaml, judge, want string }{
		"the only model": {asking, "{rubric: R}", "m"},
		"the default":    {two + "defaults: {model: fast, judge: slow}\n", "{rubric: R}", "slow"},
		"its own":        {two + "defaults: {model: fast, judge: slow}\n", "{rubric: R, model: fast}", "fast"},
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, map[string]string{"suite.yaml": test.yaml + "cases: [{id: a, prompt: x, checks: [{judge: " + test.judge + "}]}]\n"}, options()).Suite.Cases[0]
			if got := c.Checks[0].Judge.Model; got != test.want {
				t.Errorf("got judge %q, want %q", got, test.want)
			}
		})
	}
}

func TestComparisonsWithoutUse(t *testing.T) {
	const calls = "[{tool: get, arguments: {order_id: 1}}, {tool: put}, look]"
	for name, test := range map[string]struct{ calls, compare, want string }{
		"an argument":                    {calls, "{order_id: exact}", ""},
		"an argument of a tool":          {calls, "{get.order_id: {number: {absolute: 1}}}", ""},
		"an unknown argument":            {calls, "{order: exact}", `no expected call has "order" to compare`},
		"a slip":                         {calls, "{ordr_id: exact}", `did you mean "order_id"?`},
		"of an unknown tool":             {calls, "{gte.order_id: exact}", `did you mean "get.order_id"?`},
		"of a tool without arguments":    {calls, "{put.order_id: exact}", "to compare"},
		"an unknown argument is ignored": {calls, "{note: ignore}", ""},
		"or must match":                  {calls, "{get.note: {regex: x}}", ""},
		"of an unknown tool, ignored":    {calls, "{gte.note: ignore}", "to compare"},
		"no arguments at all":            {"[look]", "{note: ignore}", "no expected call says arguments"},
		"arguments of the trial":         {`[{tool: get, arguments: "{{all}}"}]`, "{order: exact}", ""},
		"a tool of the trial":            {`[{tool: "{{all}}", arguments: {a: 1}}]`, "{get.a: exact}", ""},
		"a baseline":                     {"", "{order: exact}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			yaml := "compare: " + test.compare
			if test.calls != "" {
				yaml += ", calls: " + test.calls
			}
			loaded := load(t, map[string]string{
				"suite.yaml": asking + "cases: [{id: a, prompt: x, vars: {all: {}}, checks: [{trajectory: {" + yaml + "}}]}]\n",
			}, options())
			var got []string
			for _, w := range loaded.Warnings {
				if w.Line == 0 {
					t.Errorf("the warning %q has no place", w.Message)
				}
				got = append(got, w.Message+": "+w.Hint)
			}
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("got warnings %q, want %q", got, test.want)
			}
		})
	}
}

// The id is that of the check that a grading by another rubric adds.
func TestNoCheckIsNamedRubric(t *testing.T) {
	for name, check := range map[string]string{
		"a check":       "{id: Rubric, contains: x}",
		"one in groups": "{any: [{not: {id: rubric, contains: x}}]}",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := suite.Load(write(t, map[string]string{"suite.yaml": asking + "cases: [{id: a, prompt: x, checks: [" + check + "]}]\n"}), options())
			if err == nil || !strings.Contains(err.Error(), "ubric\" is taken") || !strings.Contains(err.Error(), "suite.yaml:4") {
				t.Errorf("got %v, want the id refused at its place", err)
			}
		})
	}
}

func TestChecksThatDecideNothing(t *testing.T) {
	for name, test := range map[string]struct{ yaml, want string }{
		"none":                         {"", "no check decides"},
		"an empty list":                {", checks: []", "no check decides"},
		"without weight":               {", checks: [{contains: a, weight: 0}]", "no check decides"},
		"a weight without a threshold": {", checks: [{contains: a, weight: 2}]", "the weight changes nothing"},
		"a weight with a threshold":    {", threshold: 0.5, checks: [{contains: a, weight: 2}]", ""},
		"one that decides":             {", checks: [{contains: a, weight: 0}, {contains: b}]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t, map[string]string{"suite.yaml": asking + "cases: [{id: a, prompt: x" + test.yaml + "}]\n"}, options())
			var got []string
			for _, w := range loaded.Warnings {
				got = append(got, w.Message)
			}
			if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
				t.Errorf("got warnings %q, want %q", got, test.want)
			}
		})
	}
}
