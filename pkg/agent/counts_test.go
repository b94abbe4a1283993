package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestCounts(t *testing.T) {
	const state = `{"content":[{"type":"text","text":"{}"}]}` // 41 bytes
	one := []string{`{"call":"a"}`}
	tests := []struct {
		name    string
		steps   []string
		answers []eval.Outcome
		want    eval.Counts
	}{
		{
			name: "one call", steps: one, answers: []eval.Outcome{result(state)},
			want: eval.Counts{StepsPass: 1, Turns: 1, ToolCalls: 1, ResponseBytes: 41, ContextTokens: 11},
		},
		{
			name: "a read is no tool call", steps: []string{`{"read":"x://1"}`}, answers: []eval.Outcome{result(`{"contents":[]}`)},
			want: eval.Counts{StepsPass: 1, Turns: 1, ResourceReads: 1, ResponseBytes: 15, ContextTokens: 4},
		},
		{
			name: "a tool error", steps: one, answers: []eval.Outcome{{Kind: eval.OutcomeToolError}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1, ToolErrors: 1},
		},
		{
			name: "an expected rejection still counts", steps: []string{`{"call":"a","expect_error":{}}`}, answers: []eval.Outcome{{Kind: eval.OutcomeToolError}},
			want: eval.Counts{StepsPass: 1, Turns: 1, ToolCalls: 1, ToolErrors: 1},
		},
		{
			name: "invalid arguments by JSON-RPC", steps: one, answers: []eval.Outcome{{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602}}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1, InvalidArguments: 1},
		},
		{
			name: "another JSON-RPC error", steps: one, answers: []eval.Outcome{{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32603}}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1},
		},
		{
			name: "invalid arguments by the TypeScript SDK", steps: one, answers: []eval.Outcome{{Kind: eval.OutcomeToolError, Result: text("MCP error -32602: Input validation error: id")}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1, ToolErrors: 1, InvalidArguments: 1},
		},
		{
			name: "invalid arguments in words", steps: one, answers: []eval.Outcome{{Kind: eval.OutcomeToolError, Result: text("Invalid arguments for tool a")}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 1, ToolErrors: 1, InvalidArguments: 1},
		},
		{
			name: "an unknown tool has no invalid arguments", steps: []string{`{"call":"absent","expect_error":{"kind":"unknown_tool"}}`}, answers: []eval.Outcome{{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602}}},
			want: eval.Counts{StepsPass: 1, Turns: 1, ToolCalls: 1},
		},
		{
			name: "a resource has no arguments", steps: []string{`{"read":"x://1","expect_error":{}}`}, answers: []eval.Outcome{{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602}}},
			want: eval.Counts{StepsPass: 1, Turns: 1, ResourceReads: 1},
		},
		{
			name: "a retry is the same tool right after its failure", steps: []string{`{"call":"a"}`, `{"call":"a"}`, `{"call":"a"}`}, answers: []eval.Outcome{{Kind: eval.OutcomeToolError}, failed(eval.ReasonTimeout, ""), result(state)},
			want: eval.Counts{StepsPass: 1, StepsFail: 2, Turns: 3, ToolCalls: 3, ToolErrors: 1, Retries: 2, ResponseBytes: 41, ContextTokens: 11},
		},
		{
			name: "another tool in between", steps: []string{`{"call":"a"}`, `{"call":"b"}`, `{"call":"a"}`}, answers: []eval.Outcome{{Kind: eval.OutcomeToolError}, result(state), result(state)},
			want: eval.Counts{StepsPass: 2, StepsFail: 1, Turns: 3, ToolCalls: 3, ToolErrors: 1, ResponseBytes: 82, ContextTokens: 21},
		},
		{
			name: "a read in between", steps: []string{`{"call":"a"}`, `{"read":"x://1"}`, `{"call":"a"}`}, answers: []eval.Outcome{{Kind: eval.OutcomeToolError}, {Kind: eval.OutcomeOK}, {Kind: eval.OutcomeOK}},
			want: eval.Counts{StepsPass: 2, StepsFail: 1, Turns: 3, ToolCalls: 2, ToolErrors: 1, ResourceReads: 1},
		},
		{
			name: "polls after the first call", steps: []string{`{"call":"a","repeat_until":{"path":"x","equals":1,"max":3}}`}, answers: []eval.Outcome{result(state), result(state), result(state)},
			want: eval.Counts{StepsFail: 1, Turns: 1, ToolCalls: 3, Polls: 2, ResponseBytes: 123, ContextTokens: 31},
		},
		{
			name: "a resource is polled too", steps: []string{`{"read":"x://1","repeat_until":{"path":"x","equals":1,"max":2}}`}, answers: []eval.Outcome{{Kind: eval.OutcomeOK}, {Kind: eval.OutcomeOK}},
			want: eval.Counts{StepsFail: 1, Turns: 1, ResourceReads: 2, Polls: 1},
		},
		{name: "a step that is not called has no turn", steps: []string{`{"call":"absent"}`}, want: eval.Counts{StepsFail: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools, _ := answering(t, test.answers...)
			done := agent.Script{Sleep: noWait}.Run(t.Context(), script(t, test.steps...), nil, tools)
			if diff := cmp.Diff(test.want, done.Counts); diff != "" {
				t.Errorf("counts differ (-want +got):\n%s", diff)
			}
		})
	}
}

// text is a raw result with one text block.
func text(s string) eval.JSON { return texts(s).Result }

func TestTrajectoryAndTimes(t *testing.T) {
	answers := []eval.Outcome{texts(`{"s":0}`), texts(`{"s":1}`), toolError("no"), result(`{"contents":[]}`)}
	tools, _ := answering(t, answers...)
	now := time.Unix(0, 0)
	engine := agent.Script{
		Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
		Now:   func() time.Time { return now },
	}
	c := script(t, `{"id":"poll","title":"Wait","call":"job","arguments":{"id":"{{id}}"},"repeat_until":{"path":"s","equals":1}}`, `{"id":"bad","call":"b"}`, `{"id":"res","read":"x://{{id}}"}`)
	done := engine.Run(t.Context(), c, lookup(map[string]string{"id": "7"}), tools)

	arguments := eval.JSON(`{"id":7}`)
	wantTurns := []eval.Turn{
		{Step: "poll", Calls: []eval.ToolCall{
			{Method: "tools/call", Tool: "job", Arguments: arguments, Outcome: answers[0]},
			{Method: "tools/call", Tool: "job", Arguments: arguments, Outcome: answers[1], Poll: true},
		}},
		{Step: "bad", Calls: []eval.ToolCall{{Method: "tools/call", Tool: "b", Outcome: answers[2]}}},
		{Step: "res", Calls: []eval.ToolCall{{Method: "resources/read", URI: "x://7", Outcome: answers[3]}}},
	}
	if diff := cmp.Diff(wantTurns, done.Trajectory.Turns); diff != "" {
		t.Errorf("turns differ (-want +got):\n%s", diff)
	}
	wantTools := []eval.ToolUse{{Tool: "job", LatencyMS: 2}, {Tool: "job", LatencyMS: 2}, {Tool: "b", LatencyMS: 2, Error: true}}
	if diff := cmp.Diff(wantTools, done.Tools); diff != "" {
		t.Errorf("tools differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(eval.Times{ToolMS: 8, BackoffMS: 1000}, done.Times); diff != "" {
		t.Errorf("times differ (-want +got):\n%s", diff)
	}
	wantScores := []eval.Score{
		{Check: "poll", Title: "Wait", Value: 1, Pass: true, LatencyMS: 4, Target: "job"},
		{
			Check: "bad", Reason: eval.ReasonUnexpectedError, Message: `want an answer, got the rejection "no"`, LatencyMS: 2, Target: "b",
			Expected: eval.JSON(`"an answer"`), Actual: eval.JSON(`"no"`),
		},
		{Check: "res", Value: 1, Pass: true, LatencyMS: 2, Target: "x://7"},
	}
	if diff := cmp.Diff(wantScores, done.Scores); diff != "" {
		t.Errorf("scores differ (-want +got):\n%s", diff)
	}
	if want := `step bad: want an answer, got the rejection "no"`; done.Message != want || done.Reason != eval.ReasonUnexpectedError {
		t.Errorf("got %q, %s, want %q, unexpected_error", done.Message, done.Reason, want)
	}
}

func TestExpectedAndActualAreShown(t *testing.T) {
	tests := []struct {
		name, step       string
		answer           eval.Outcome
		expected, actual string
	}{
		{name: "a mismatch", step: `{"call":"a","expect":{"a":{"$gte":2}}}`, answer: texts(`{"a":1,"b":2}`), expected: `{"a":{"$gte":2}}`, actual: `{"a":1,"b":2}`},
		{name: "a text", step: `{"call":"a","expect_text":"x"}`, answer: texts("y"), expected: `"x"`, actual: `"y"`},
		{name: "a count", step: `{"call":"a","expect_count":2}`, answer: texts("y"), expected: `2`, actual: `1`},
		{name: "a forbidden match", step: `{"call":"a","expect_not":"y"}`, answer: texts("y"), expected: `{"$not":"y"}`, actual: `"y"`},
		{name: "a missing rejection", step: `{"call":"a","expect_error":{"kind":"tool","contains":"x"}}`, answer: texts(`{"ok":1}`), expected: `{"kind":"tool","contains":"x"}`, actual: `{"ok":1}`},
		{name: "another rejection", step: `{"call":"a","expect_error":{"contains":"x"}}`, answer: toolError("y"), expected: `{"contains":"x"}`, actual: `"y"`},
		{name: "a rejection instead of a value", step: `{"call":"a","expect":{"a":1}}`, answer: toolError("y"), expected: `{"a":1}`, actual: `"y"`},
		{name: "a missing extract", step: `{"call":"a","extract":{"x":"b"}}`, answer: texts(`{"a":1}`), expected: `{"b":{"$any":true}}`, actual: `{"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools, _ := answering(t, test.answer)
			score := agent.Script{}.Run(t.Context(), script(t, test.step), nil, tools).Scores[0]
			if string(score.Expected) != test.expected || string(score.Actual) != test.actual {
				t.Errorf("got %s and %s, want %s and %s", score.Expected, score.Actual, test.expected, test.actual)
			}
		})
	}
}

func TestLongValuesAreCut(t *testing.T) {
	for name, long := range map[string]string{
		"letters": strings.Repeat("a", 10_000), "quotes": strings.Repeat(`"`, 10_000), "wide letters": strings.Repeat("ä€😀", 3_000), "line separators": strings.Repeat("\u2028", 3_000),
	} {
		t.Run(name, func(t *testing.T) {
			tools, _ := answering(t, texts(long))
			score := agent.Script{}.Run(t.Context(), script(t, `{"call":"a","expect_text":"x"}`), nil, tools).Scores[0]
			if n := len(score.Actual); n > 4096 || n < 2000 {
				t.Errorf("got %d bytes, want nearly 4096", n)
			}
			v, err := eval.Decode(score.Actual)
			if s, ok := v.(string); err != nil || !ok || !strings.HasSuffix(s, " bytes in all]") || strings.ContainsRune(s, '\uFFFD') {
				t.Errorf("got %.60s…, %v, want a JSON string with a marker at its end", score.Actual, err)
			}
			if len(score.Message) > 300 {
				t.Errorf("got a message of %d bytes, want at most 300", len(score.Message))
			}
		})
	}
}

// Whatever a server answers, the trial ends with a verdict about it.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":[1]}}`, true)
	f.Add(`{"contents":[{"blob":"AA=="},{"text":null}]}`, false)
	f.Add(`{"content":[null,{},{"type":5}]}`, true)
	f.Fuzz(func(t *testing.T, raw string, isError bool) {
		o := result(raw)
		if isError {
			o.Kind = eval.OutcomeToolError
		}
		tools := &fakeTools{
			call:    func(context.Context, string, eval.JSON) eval.Outcome { return o },
			read:    func(context.Context, string) eval.Outcome { return o },
			hasTool: known,
		}
		c := script(t,
			`{"call":"a","expect":{"a":1},"expect_not":{"b":1},"expect_text":{"$regex":"x"},"expect_count":1,"extract":{"v":"$..a"}}`,
			`{"call":"b","arguments":{"v":"{{v}}"},"expect":"{{v}}"}`,
			`{"call":"c","collect":{"items":"a","next":"b","unique":"id"}}`,
			`{"read":"x://1","repeat_until":{"path":"a","equals":1,"max":2}}`,
			`{"call":"d","expect_error":{"contains":"x"}}`)
		done := agent.Script{Sleep: noWait}.Run(t.Context(), c, nil, tools)
		if len(done.Scores) != len(c.Steps) || (done.Verdict != eval.Pass && done.Verdict != eval.Fail) {
			t.Fatalf("got %d scores and %s (%s), want %d and pass or fail", len(done.Scores), done.Verdict, done.Message, len(c.Steps))
		}
		if got := eval.Encode(done.Scores); len(got) > 100_000 {
			t.Fatalf("got %d bytes of scores, want few", len(got))
		}
	})
}

func BenchmarkScript(b *testing.B) {
	answer := texts(`{"customerId":"CUST-4091","status":"ACTIVE","tier":"ENTERPRISE_TIER","primaryRegion":"US-EAST-1"}`)
	tools := &fakeTools{call: func(context.Context, string, eval.JSON) eval.Outcome { return answer }, hasTool: known}
	c := script(b, `{"call":"a","arguments":{"id":"{{id}}"},"expect":{"customerId":"CUST-4091","status":"ACTIVE"},"extract":{"r":"primaryRegion"}}`)
	find := lookup(map[string]string{"id": `"CUST-4091"`})
	for b.Loop() {
		if done := (agent.Script{}).Run(b.Context(), c, find, tools); done.Verdict != eval.Pass {
			b.Fatal(done.Message)
		}
	}
}
