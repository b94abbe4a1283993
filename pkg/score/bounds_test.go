package score_test

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

func TestNoRepeats(t *testing.T) {
	of := func(c eval.RepeatsCheck) eval.Check { return eval.Check{NoRepeats: &c} }
	loop := trial([]string{"get_order", "ping"},
		turn("", made("get_order", `{"a":1,"b":"x"}`, ok("")), made("ping", `{}`, ok(""))),
		turn("", made("get_order", `{"b":"x", "a":1}`, ok("")), search("x"), search("x")),
		turn("", invalid("get_order", `{"b":"x","a":1}`, "bad"), made("get_order", `{"a":2}`, ok(""))),
	)
	garbled := trial(nil, turn("",
		eval.ToolCall{Tool: "t", RawArguments: "{", Invalid: "no JSON"}, eval.ToolCall{Tool: "t", RawArguments: "[", Invalid: "no JSON"}, eval.ToolCall{Tool: "t", RawArguments: "{", Invalid: "no JSON"}))
	run(t, []row{
		{name: "none", check: of(eval.RepeatsCheck{})},
		{name: "the same arguments in another order", check: of(eval.RepeatsCheck{}), trial: &loop, reason: eval.ReasonRepeatedCall, message: `want the same call at most 1 time, got 3 times get_order {"a":1,"b":"x"}`, at: "turn 2, call 1"},
		{name: "invalid calls count", check: of(eval.RepeatsCheck{Max: 2}), trial: &loop, reason: eval.ReasonRepeatedCall, message: `want the same call at most 2 times, got 3 times get_order {"a":1,"b":"x"}`, at: "turn 3, call 1"},
		{name: "as often as allowed", check: of(eval.RepeatsCheck{Max: 3}), trial: &loop},
		{name: "of one tool", check: of(eval.RepeatsCheck{Tool: "mcp__desk__ping"}), trial: &loop},
		{name: "what is no JSON counts as it stands", check: of(eval.RepeatsCheck{Tool: "t"}), trial: &garbled, reason: eval.ReasonRepeatedCall, message: `want the same call of t at most 1 time, got 2 times t ""{`, at: "turn 1, call 3"},
		{name: "turned around", check: not(of(eval.RepeatsCheck{})), reason: eval.ReasonMismatch, message: "want anything but the same call at most 1 time, got no call more often"},
	})
}

func TestAtMost(t *testing.T) {
	of := func(c eval.AtMostCheck) eval.Check { return eval.Check{AtMost: &c} }
	s := score.Subject{
		Counts: eval.Counts{Turns: 4, ToolCalls: 6, ToolErrors: 1, InvalidCalls: 2},
		Usage:  eval.Usage{Input: 900, Output: 101}, CostMicroUSD: new(int64(1_250_000)), Elapsed: 1500 * time.Millisecond,
	}
	run(t, []row{
		{name: "all at their bounds", trial: &s, check: of(eval.AtMostCheck{
			Turns: new(4), ToolCalls: new(6), ToolErrors: new(1), InvalidCalls: new(2), Tokens: new(1001), CostMicroUSD: new(int64(1_250_000)), Time: 1500 * time.Millisecond,
		})},
		{name: "turns", trial: &s, check: of(eval.AtMostCheck{Turns: new(3)}), reason: eval.ReasonTooMuch, message: "want at most 3 turns, got 4"},
		{name: "tool calls", trial: &s, check: of(eval.AtMostCheck{ToolCalls: new(1), Turns: new(4)}), reason: eval.ReasonTooMuch, message: "want at most 4 turns, 1 tool call, got 4, 6"},
		{name: "tool errors", trial: &s, check: of(eval.AtMostCheck{ToolErrors: new(0)}), reason: eval.ReasonTooMuch, message: "want at most 0 tool errors, got 1"},
		{name: "invalid calls", trial: &s, check: of(eval.AtMostCheck{InvalidCalls: new(1)}), reason: eval.ReasonTooMuch, message: "want at most 1 invalid call, got 2"},
		{name: "tokens", trial: &s, check: of(eval.AtMostCheck{Tokens: new(1000)}), reason: eval.ReasonTooMuch, message: "want at most 1000 tokens, got 1001"},
		{name: "cost", trial: &s, check: of(eval.AtMostCheck{CostMicroUSD: new(int64(50_000))}), reason: eval.ReasonTooMuch, message: "want at most $0.05, got $1.25"},
		{name: "a cost that nobody knows", check: of(eval.AtMostCheck{CostMicroUSD: new(int64(50_000))}), reason: eval.ReasonScorerFailed, message: "nobody knows what the trial cost: a model that it asked has no price"},
		{name: "time", trial: &s, check: of(eval.AtMostCheck{Time: time.Second}), reason: eval.ReasonTooMuch, message: "want at most 1s, got 1.5s"},
		{name: "turned around", trial: &s, check: not(of(eval.AtMostCheck{Turns: new(4)})), reason: eval.ReasonMismatch, message: "want anything but at most 4 turns, got 4"},
	})
}

func TestNoSensitiveData(t *testing.T) {
	of := func(c eval.SensitiveCheck) eval.Check { return eval.Check{NoSecrets: &c} }
	s := trial([]string{"get_user"},
		turn("", made("get_user", `{"mail":"a\u0040example.org"}`, ok(`{"email":"jane.doe@example.org"}`))),
		turn("Her number is 078-05-1120."),
	)
	unmade := trial([]string{"get_user"}, turn("",
		invalid("get_user", `{"mail":"a\u0040example.org"}`, "name is missing"),
		eval.ToolCall{Tool: "mail", RawArguments: `"b@example.org`, Invalid: "no JSON"},
	))
	run(t, []row{
		{name: "nothing", check: of(eval.SensitiveCheck{})},
		{name: "everywhere, escaped or not", check: of(eval.SensitiveCheck{}), trial: &s, reason: eval.ReasonSensitiveData, message: "want no sensitive data, got email a@…rg at turn 1, call 1; email ja…rg at turn 1, call 1, result; us_ssn 07… at turn 2", at: "turn 1, call 1"},
		{name: "in calls that were not made", check: of(eval.SensitiveCheck{}), trial: &unmade, reason: eval.ReasonSensitiveData, message: "want no sensitive data, got email a@…rg at turn 1, call 1; email b@…rg at turn 1, call 2", at: "turn 1, call 1"},
		{name: "in calls that were not made, of all calls", check: of(eval.SensitiveCheck{In: eval.PlaceCalls, Allow: []string{"a@example.org"}}), trial: &unmade, reason: eval.ReasonSensitiveData, message: "want no sensitive data, got email b@…rg at turn 1, call 2", at: "turn 1, call 2"},
		{name: "results of calls that were not made", check: of(eval.SensitiveCheck{In: eval.PlaceResults}), trial: &unmade},
		{name: "in the answer", check: of(eval.SensitiveCheck{In: eval.PlaceAnswer}), trial: &s, reason: eval.ReasonSensitiveData, message: "want no sensitive data, got us_ssn 07… at turn 2", at: "turn 2"},
		{name: "of another kind", check: of(eval.SensitiveCheck{Kinds: []string{"secrets", "iban"}}), trial: &s},
		{name: "allowed", check: of(eval.SensitiveCheck{Kinds: []string{"email"}, Allow: []string{"jane.doe@example.org", "a@example.org"}}), trial: &s},
		{name: "unknown kind", check: of(eval.SensitiveCheck{Kinds: []string{"mails"}}), trial: &s, reason: eval.ReasonScorerFailed, message: `no sensitive data is called "mails"`},
		{name: "turned around", check: not(of(eval.SensitiveCheck{})), reason: eval.ReasonMismatch, message: "want a sensitive data, got none"},
	})
}
