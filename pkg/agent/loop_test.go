package agent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestLoop(t *testing.T) {
	get := use("get_order", `{"order_id":"ORD-1"}`)
	tests := []struct {
		name  string
		moves []llm.Response
		set   func(*agent.Task)
		// want is the transcript, told what the model was told of calls.
		want []string
		told []string
		stop eval.StopReason // empty means done
		// findings, with their counts.
		findings []string
		counts   eval.Counts // those that the row is about
	}{
		{
			name: "an answer at once", moves: []llm.Response{say("Done.")},
			want: []string{"user: Refund it.", "agent: Done."}, counts: eval.Counts{Turns: 1},
		},
		{
			name: "a call and an answer", moves: []llm.Response{get, say("Done.")},
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent: Done."},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name:  "parallel calls keep the model's order",
			moves: []llm.Response{use("issue_refund", `{"n":1}`, "escalate", "", "issue_refund", `{"n":2}`), say("Done.")},
			want: []string{
				"user: Refund it.", `tools/call desk:issue_refund {"n":1} ok`, `tools/call desk:escalate {} ok`, `tools/call desk:issue_refund {"n":2} ok`, "agent: Done.",
			},
			told:   []string{`issue_refund: issue_refund {"n":1}`, "escalate: escalate {}", `issue_refund: issue_refund {"n":2}`},
			counts: eval.Counts{Turns: 2, ToolCalls: 3},
		},
		{
			name: "calls count though the provider says end", moves: []llm.Response{stopping(get, llm.StopEnd), say("Done.")},
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent: Done."},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name: "saying nothing ends", moves: []llm.Response{get, say(" \n")},
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent:  \n"},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name: "arguments in canonical form", moves: []llm.Response{use("escalate", `{"b": 1.50, "a": 90071992547409931, "b": 2}`), say("Done.")},
			want: []string{"user: Refund it.", `tools/call desk:escalate {"a":90071992547409931,"b":2} ok`, "agent: Done."},
			told: []string{`escalate: escalate {"a":90071992547409931,"b":2}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},

		// Invalid calls.
		{
			name: "arguments that are no JSON", moves: []llm.Response{use("escalate", `{"a":`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:escalate {"a": INVALID`, "agent: Done."},
			told:   []string{"error of escalate: The arguments are no JSON object; nothing was called. decode JSON: unexpected EOF. Correct them and call the tool again."},
			counts: eval.Counts{Turns: 2, InvalidCalls: 1},
		},
		{
			name: "arguments that are no object", moves: []llm.Response{use("escalate", `[1]`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:escalate [1] INVALID`, "agent: Done."},
			told:   []string{"error of escalate: The arguments are no JSON object; nothing was called. they are no JSON object. Correct them and call the tool again."},
			counts: eval.Counts{Turns: 2, InvalidCalls: 1},
		},
		{
			name: "arguments that break the schema", moves: []llm.Response{use("get_order", `{"order_id":"1"}`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"1"} INVALID`, "agent: Done."},
			told:   []string{`error of get_order: The arguments do not fit the tool's schema; nothing was called. order_id: '1' does not match pattern '^ORD-'. Correct them and call the tool again.`},
			counts: eval.Counts{Turns: 2, InvalidCalls: 1},
		},
		{
			name: "an unknown tool beside a good one", moves: []llm.Response{use("get_weather", `{}`, "escalate", `{}`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call :get_weather {} INVALID`, `tools/call desk:escalate {} ok`, "agent: Done."},
			told:   []string{`error of get_weather: There is no tool "get_weather"; nothing was called. The tools are: get_order, issue_refund, escalate, reject.`, "escalate: escalate {}"},
			counts: eval.Counts{Turns: 2, ToolCalls: 1, InvalidCalls: 1},
		},

		// Rejections.
		{
			name: "a tool error goes back, and another try is a retry", moves: []llm.Response{use("reject", `{}`), use("reject", `{"a":1}`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:reject {} tool_error`, `tools/call desk:reject {"a":1} tool_error`, "agent: Done."},
			told:   []string{"error of reject: no", "error of reject: no"},
			counts: eval.Counts{Turns: 3, ToolCalls: 2, ToolErrors: 2, Retries: 1},
		},
		{
			name: "the same tool twice at once is no retry", moves: []llm.Response{use("reject", `{}`, "reject", `{"a":1}`), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:reject {} tool_error`, `tools/call desk:reject {"a":1} tool_error`, "agent: Done."},
			told:   []string{"error of reject: no", "error of reject: no"},
			counts: eval.Counts{Turns: 2, ToolCalls: 2, ToolErrors: 2},
		},
		{
			name: "a JSON-RPC error that blames the arguments", moves: []llm.Response{get, say("Done.")},
			set:    answersWith(rpcError(-32602, "bad id")),
			want:   []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} protocol_error`, "agent: Done."},
			told:   []string{"error of get_order: Error -32602:\nbad id"},
			counts: eval.Counts{Turns: 2, ToolCalls: 1, InvalidArguments: 1},
		},
		{
			name: "a call that times out is told and found", moves: []llm.Response{get, say("Done.")},
			set:  answersWith(failed(eval.ReasonTimeout, "no answer within 30s; stderr ends with: x")),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} failed`, "agent: Done."},
			told: []string{"error of get_order: The tool did not answer in time. It may or may not have done what was asked."}, findings: []string{"call_timeout 1"},
			counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name: "an answer that is none is told and found", moves: []llm.Response{get, say("Done.")},
			set:  answersWith(result(`{"content":[{"type":"text","text":5}]}`)),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent: Done."},
			told: []string{"error of get_order: The answer could not be read."}, findings: []string{"protocol_violation 1"},
			counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},

		// Limits: reached, the trial is scored on what it has.
		{
			name: "the limit of turns", moves: []llm.Response{get, use("escalate", `{}`), say("Done.")}, set: limits(eval.Limits{Turns: 2}),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, `tools/call desk:escalate {} ok`},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, stop: eval.StopTurnLimit, counts: eval.Counts{Turns: 2, ToolCalls: 2},
		},
		{
			name: "an answer in the last turn is in time", moves: []llm.Response{get, say("Done.")}, set: limits(eval.Limits{Turns: 2}),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent: Done."},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name:  "the limit of calls within a turn",
			moves: []llm.Response{use("escalate", `{"n":1}`, "escalate", `{"n":2}`, "nope", `{}`, "escalate", `{"n":3}`), say("Done.")}, set: limits(eval.Limits{ToolCalls: 1}),
			want: []string{"user: Refund it.", `tools/call desk:escalate {"n":1} ok`, `tools/call desk:escalate {"n":2} INVALID`, `tools/call :nope {} INVALID`, `tools/call desk:escalate {"n":3} INVALID`},
			told: []string{}, stop: eval.StopToolCallLimit, counts: eval.Counts{Turns: 1, ToolCalls: 1, InvalidCalls: 1},
		},
		{
			name: "as many calls as allowed", moves: []llm.Response{get, say("Done.")}, set: limits(eval.Limits{ToolCalls: 1}),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, "agent: Done."},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, counts: eval.Counts{Turns: 2, ToolCalls: 1},
		},
		{
			name: "the limit of tokens", moves: []llm.Response{get, use("escalate", `{}`), say("Done.")}, set: limits(eval.Limits{Tokens: 30}),
			want: []string{"user: Refund it.", `tools/call desk:get_order {"order_id":"ORD-1"} ok`, `tools/call desk:escalate {} ok`},
			told: []string{`get_order: get_order {"order_id":"ORD-1"}`}, stop: eval.StopTokenLimit, counts: eval.Counts{Turns: 2, ToolCalls: 2},
		},
		{
			name: "an answer that is cut", moves: []llm.Response{stopping(say("Do"), llm.StopOutput)},
			want: []string{"user: Refund it.", "agent: Do"}, stop: eval.StopOutputLimit, counts: eval.Counts{Turns: 1},
		},
		{
			name: "calls that are cut go back", moves: []llm.Response{stopping(use("escalate", `{"a`), llm.StopOutput), say("Done.")},
			want:   []string{"user: Refund it.", `tools/call desk:escalate {"a INVALID`, "agent: Done."},
			told:   []string{"error of escalate: The arguments are no JSON object; nothing was called. decode JSON: unexpected EOF. Correct them and call the tool again."},
			counts: eval.Counts{Turns: 2, InvalidCalls: 1},
		},
		{
			name: "a model that refuses", moves: []llm.Response{stopping(say("I will not."), llm.StopRefused)},
			want: []string{"user: Refund it.", "agent: I will not."}, stop: eval.StopRefused, counts: eval.Counts{Turns: 1}, findings: []string{"refused 1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h heard
			trial := task(desk())
			if tt.set != nil {
				tt.set(&trial)
			}
			done := agent.Loop{Model: moving(&h, tt.moves...)}.Run(t.Context(), trial)
			if diff := cmp.Diff(tt.want, transcript(done.Trajectory)); diff != "" {
				t.Errorf("transcript, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(append([]string{}, tt.told...), h.told()); diff != "" {
				t.Errorf("told, -want +got:\n%s", diff)
			}
			if tt.stop == "" {
				tt.stop = eval.StopDone
			}
			if done.Stop != tt.stop {
				t.Errorf("stop is %s, want %s", done.Stop, tt.stop)
			}
			if done.Verdict != "" || done.Reason != "" || done.Message != "" {
				t.Errorf("verdict %s, %s: %s; want it left to the scorers", done.Verdict, done.Reason, done.Message)
			}
			if diff := cmp.Diff(append([]string{}, tt.findings...), codes(done.Trajectory)); diff != "" {
				t.Errorf("findings, -want +got:\n%s", diff)
			}
			got := done.Counts
			got.ResponseBytes, got.ContextTokens, got.InitialToolTokens = 0, 0, 0
			if diff := cmp.Diff(tt.counts, got); diff != "" {
				t.Errorf("counts, -want +got:\n%s", diff)
			}
			if want := (eval.Usage{Input: 10 * got.Turns, Output: 5 * got.Turns}); done.Usage != want {
				t.Errorf("usage %+v, want %+v", done.Usage, want)
			}
			checkConversation(t, h.last())
		})
	}
}

// answersWith lets every tool answer alike.
func answersWith(o eval.Outcome) func(*agent.Task) {
	return func(t *agent.Task) {
		t.Servers[0].Tools.(*fakeServer).call = func(context.Context, string, eval.JSON) eval.Outcome { return o }
	}
}
