package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestToolsThatNobodyLists(t *testing.T) {
	pattern := func(tool string) eval.CallPattern { return eval.CallPattern{Tool: tool} }
	called := func(tool string) eval.Check {
		return eval.Check{Called: &eval.CallCheck{CallPattern: pattern(tool)}}
	}
	bounded := func(least, most *int) eval.Check {
		return eval.Check{Called: &eval.CallCheck{CallPattern: pattern("absent"), Min: least, Max: most}}
	}
	notCalled := func(tool string) eval.Check {
		p := pattern(tool)
		return eval.Check{NotCalled: &p}
	}
	json := func(tool string) eval.Check { return eval.Check{JSON: &eval.JSONCheck{Tool: tool, Path: "a"}} }
	rejected := func(tool string, kind eval.ErrorKind) eval.Check {
		return eval.Check{Rejected: &eval.RejectedCheck{Tool: tool, ExpectError: eval.ExpectError{Kind: kind}}}
	}
	trajectory := func(how eval.Match, tools ...string) eval.Check {
		c := &eval.TrajectoryCheck{Match: how}
		for _, tool := range tools {
			c.Calls = append(c.Calls, pattern(tool))
		}
		return eval.Check{Trajectory: c}
	}
	repeats := func(tool string) eval.Check { return eval.Check{NoRepeats: &eval.RepeatsCheck{Tool: tool}} }
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
		name    string
		check   eval.Check
		missing bool
		told    bool // as a finding
	}{
		{name: "called, and listed", check: called("get_order")},
		{name: "called, and listed by its full name", check: called("mcp__desk__get_order")},
		{name: "called", check: called("absent"), missing: true},
		{name: "called, of another server", check: called("mcp__shop__get_order"), missing: true},
		{name: "called, to be filled", check: called("{{tool}}")},
		{name: "called, of weight 0", check: shown(called("absent"))},
		{name: "called, turned around", check: not(called("absent")), told: true},
		{name: "at least none", check: bounded(new(0), nil), told: true},
		{name: "at most one", check: bounded(nil, new(1)), missing: true},
		{name: "at most none", check: bounded(nil, new(0)), told: true},
		{name: "none to two", check: bounded(new(0), new(2)), told: true},
		{name: "not called, and listed", check: notCalled("get_order")},
		{name: "not called", check: notCalled("absent"), told: true},
		{name: "not called, turned around", check: not(notCalled("absent")), missing: true},
		{name: "no repeats", check: repeats("absent"), told: true},
		{name: "no repeats of any", check: repeats("")},
		{name: "a result", check: json("absent"), missing: true},
		{name: "the answer", check: json("")},
		{name: "a result turned around", check: not(json("absent")), told: true},
		{name: "a rejection", check: rejected("absent", eval.ErrorAny), missing: true},
		{name: "a rejection by any", check: rejected("", eval.ErrorAny)},
		{name: "a rejection as unknown", check: rejected("absent", eval.ErrorUnknownTool)},
		{name: "a trajectory", check: trajectory("", "get_order", "absent"), missing: true},
		{name: "a subset", check: trajectory(eval.MatchSubset, "get_order", "absent")},
		{name: "any, one of which can hold", check: anyOf(called("absent"), called("get_order"))},
		{name: "any, none of which can hold", check: anyOf(called("absent"), json("absent")), missing: true},
		{name: "any, but for one that decides nothing", check: anyOf(called("absent"), shown(called("get_order"))), missing: true},
		{name: "any, one of which cannot fail", check: anyOf(called("get_order"), notCalled("absent")), told: true},
		{name: "any, turned around", check: not(anyOf(called("get_order"), called("absent"))), told: true},
		{name: "all", check: allOf(called("get_order"), called("absent")), missing: true},
		{name: "all, turned around", check: not(allOf(called("get_order"), notCalled("absent")))},
		{name: "all, turned around, none of which can hold", check: not(allOf(notCalled("absent"))), missing: true},
		{name: "all in any", check: anyOf(allOf(called("get_order"), called("absent")), called("absent")), missing: true},
		{name: "no tool", check: eval.Check{Text: &eval.TextCheck{Contains: new("x")}}},
	}
	for _, tt := range tests {
		for _, underTest := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				trial := task(desk())
				trial.Servers[0].UnderTest = underTest
				tt.check.ID = "c"
				trial.Case.Checks = []eval.Check{{Text: &eval.TextCheck{Contains: new("Done")}}, tt.check}
				done := agent.Loop{Model: moving(&heard{}, say("Done."))}.Run(t.Context(), trial)
				verdict, reason, findings := eval.Verdict(""), eval.Reason(""), []string{}
				if tt.missing {
					verdict, reason = eval.Error, eval.ReasonMissingTool
				}
				if tt.missing && underTest {
					verdict = eval.Fail
				}
				if done.Verdict != verdict || done.Reason != reason {
					t.Errorf("got %q, %q: %s; want %q, %q", done.Verdict, done.Reason, done.Message, verdict, reason)
				}
				if tt.told {
					findings = append(findings, "unlisted_tool 1")
				}
				if diff := cmp.Diff(findings, codes(done.Trajectory)); diff != "" {
					t.Errorf("findings, -want +got:\n%s", diff)
				}
			})
		}
	}
}

func TestAnUnlistedToolIsTold(t *testing.T) {
	trial := task(desk())
	trial.Case.Checks = []eval.Check{{ID: "not_called drop", NotCalled: &eval.CallPattern{Tool: "drop\n"}}}
	done := agent.Loop{Model: moving(&heard{}, say("Done."))}.Run(t.Context(), trial)
	want := []eval.Finding{{Code: "unlisted_tool", Detail: `no server lists the tool "drop\n", which the check "not_called drop" names`, Count: 1}}
	if diff := cmp.Diff(want, done.Trajectory.Findings); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
