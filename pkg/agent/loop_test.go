package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
			want: []string{"user: Refund it.", "agent: I will not."}, stop: eval.StopRefused, counts: eval.Counts{Turns: 1},
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

// checkConversation holds a request to what providers want.
func checkConversation(t *testing.T, req llm.Request) {
	t.Helper()
	for i, m := range req.Messages {
		want := llm.User
		if i%2 == 1 {
			want = llm.Assistant
		}
		if m.Role != want {
			t.Errorf("message %d is the %s's", i, m.Role)
		}
		if strings.TrimSpace(m.Text) == "" && len(m.Calls)+len(m.Results) == 0 {
			t.Errorf("message %d is empty", i)
		}
		if i == 0 {
			continue
		}
		calls := req.Messages[i-1].Calls
		if len(m.Results) != len(calls) {
			t.Fatalf("message %d answers %d of %d calls", i, len(m.Results), len(calls))
		}
		for j, r := range m.Results {
			if r.ID != calls[j].ID || r.Tool != calls[j].Tool {
				t.Errorf("message %d: result %d is of %s %s, want %s %s", i, j, r.Tool, r.ID, calls[j].Tool, calls[j].ID)
			}
		}
	}
}

// answersWith lets every tool answer alike.
func answersWith(o eval.Outcome) func(*agent.Task) {
	return func(t *agent.Task) {
		t.Servers[0].Tools.(*fakeServer).call = func(context.Context, string, eval.JSON) eval.Outcome { return o }
	}
}

func limits(l eval.Limits) func(*agent.Task) {
	return func(t *agent.Task) { t.Case.Limits = l }
}

func TestLoopVerdicts(t *testing.T) {
	get := use("get_order", `{"order_id":"ORD-1"}`)
	underTest := func(t *agent.Task) { t.Servers[0].UnderTest = true }
	with := func(sets ...func(*agent.Task)) func(*agent.Task) {
		return func(t *agent.Task) {
			for _, set := range sets {
				set(t)
			}
		}
	}
	listing := func(o eval.Outcome) func(*agent.Task) {
		return func(t *agent.Task) { t.Servers[0].Tools.(*fakeServer).listing = o }
	}
	died := func(t *agent.Task) {
		answersWith(failed(eval.ReasonHTTPStatus, "the server has forgotten the session"))(t)
		t.Servers[0].Tools.(*fakeServer).dead = true
	}
	model := func(kind llm.Kind) error { return &llm.Error{Kind: kind, Message: "no"} }
	tests := []struct {
		name    string
		set     func(*agent.Task)
		model   llm.Model
		verdict eval.Verdict
		reason  eval.Reason
		stop    eval.StopReason
		message string
	}{
		{"the listing fails", listing(failed(eval.ReasonTimeout, "no answer within 30s")), nil, eval.Error, eval.ReasonTimeout, eval.StopNotStarted, "server desk: tools/list: no answer within 30s"},
		{"the listing of a server under test fails", with(underTest, listing(failed(eval.ReasonTimeout, "late"))), nil, eval.Fail, eval.ReasonTimeout, eval.StopNotStarted, "server desk: tools/list: late"},
		{"a server under test that cannot be reached", with(underTest, listing(failed(eval.ReasonUnreachable, "refused"))), nil, eval.Error, eval.ReasonUnreachable, eval.StopNotStarted, "server desk: tools/list: refused"},
		{"the listing is rejected", listing(rpcError(-32601, "no such method")), nil, eval.Error, eval.ReasonUnexpectedError, eval.StopNotStarted, `server desk: tools/list: the rejection "no such method"`},
		{"the listing is cancelled", listing(eval.Outcome{Kind: eval.OutcomeCancelled}), nil, eval.Unfinished, eval.ReasonCancelled, eval.StopCancelled, "cancelled while it ran"},
		{"the server crashes", answersWith(failed(eval.ReasonServerCrashed, "exit status 1")), moving(&heard{}, get), eval.Error, eval.ReasonServerCrashed, eval.StopServerLost, "server desk: exit status 1"},
		{"the server under test crashes", with(underTest, answersWith(failed(eval.ReasonServerCrashed, "exit status 1"))), moving(&heard{}, get), eval.Fail, eval.ReasonServerCrashed, eval.StopServerLost, "server desk: exit status 1"},
		{"the connection breaks", answersWith(failed(eval.ReasonStreamCut, "")), moving(&heard{}, get), eval.Error, eval.ReasonStreamCut, eval.StopServerLost, "server desk: no answer"},
		{"the server cannot be reached any more", with(underTest, answersWith(failed(eval.ReasonUnreachable, "refused"))), moving(&heard{}, get), eval.Error, eval.ReasonUnreachable, eval.StopServerLost, "server desk: refused"},
		{"a session that is gone", died, moving(&heard{}, get), eval.Error, eval.ReasonHTTPStatus, eval.StopServerLost, "server desk: the server has forgotten the session"},
		{"a call that is cancelled", answersWith(eval.Outcome{Kind: eval.OutcomeCancelled}), moving(&heard{}, get), eval.Unfinished, eval.ReasonCancelled, eval.StopCancelled, "cancelled while it ran"},

		{"a wrong key", nil, failing(model(llm.Auth)), eval.Error, eval.ReasonModelUnauthorized, eval.StopModelLost, "the model: auth: no"},
		{"a spent quota", nil, failing(model(llm.Quota)), eval.Error, eval.ReasonModelQuota, eval.StopModelLost, "the model: quota: no"},
		{"a refused request", nil, failing(model(llm.BadRequest)), eval.Error, eval.ReasonModelRefused, eval.StopModelLost, "the model: bad_request: no"},
		{"an overloaded model, in the middle", nil, failing(model(llm.Overloaded), get), eval.Error, eval.ReasonModelUnavailable, eval.StopModelLost, "the model: overloaded: no"},
		{"a model without a network", nil, failing(model(llm.Network)), eval.Error, eval.ReasonModelUnavailable, eval.StopModelLost, "the model: network: no"},
		{"a call that was not recorded", nil, failing(model(llm.ReplayMiss)), eval.Error, eval.ReasonReplayMiss, eval.StopModelLost, "the model: replay_miss: no"},
		{"an error of another kind", nil, failing(errors.New("boom")), eval.Error, eval.ReasonFarm, eval.StopModelLost, "the model: boom"},
		{"a conversation that is too long", nil, failing(model(llm.ContextLength), get), "", "", eval.StopContextLimit, ""},
		{"a content filter", nil, failing(model(llm.ContentFilter), get), "", "", eval.StopRefused, ""},

		{"a limit that fails", limits(eval.Limits{Turns: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopTurnLimit, "the trial's limit of 1 turns is reached"},
		{"a limit of calls that fails", limits(eval.Limits{ToolCalls: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopToolCallLimit, "the trial's limit of 1 tool calls is reached"},
		{"a limit of tokens that fails", limits(eval.Limits{Tokens: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopTokenLimit, "the trial's limit of 1 tokens is reached"},

		{"a variable without a value", func(t *agent.Task) { t.Case.Prompt = "Refund {{order}}." }, nil, eval.Error, eval.ReasonVariableMissing, eval.StopNotStarted, `fill "Refund {{order}}.": nothing gives {{order}} a value`},
		{"a placeholder that is none", func(t *agent.Task) { t.Settings.System = "{{" }, nil, eval.Error, eval.ReasonFarm, eval.StopNotStarted, ""},
		{"nobody plays the user", func(t *agent.Task) { t.Case.User = &eval.User{Model: "fast"} }, nil, eval.Error, eval.ReasonFarm, eval.StopNotStarted, "nobody gave the model that plays the user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			if tt.set != nil {
				tt.set(&trial)
			}
			if tt.model == nil {
				tt.model = modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
					t.Error("the model was asked")
					return llm.Response{}, nil
				})
			}
			done := agent.Loop{Model: tt.model}.Run(t.Context(), trial)
			if done.Verdict != tt.verdict || done.Reason != tt.reason || done.Stop != tt.stop {
				t.Errorf("got %q, %q, %q; want %q, %q, %q", done.Verdict, done.Reason, done.Stop, tt.verdict, tt.reason, tt.stop)
			}
			if tt.message != "" && done.Message != tt.message || tt.message == "" && tt.verdict == "" && done.Message != "" {
				t.Errorf("message %q, want %q", done.Message, tt.message)
			}
		})
	}
}

func TestLoopFillsPlaceholders(t *testing.T) {
	var h, u heard
	trial := task(desk())
	trial.Case.Prompt, trial.Settings.System = "Refund {{order}}.", "You serve {{tenant}}."
	trial.Case.User = &eval.User{Turns: []string{"{{order}}, please."}, Model: "fast", Persona: "{{tenant}}'s friend", Goal: "{{order}} back"}
	trial.Lookup = lookup(map[string]string{"order": `"ORD-{{1}}"`, "tenant": `"acme"`})
	done := agent.Loop{Model: moving(&h, say("Which?"), say("Done.")), User: moving(&u, say("###STOP###"))}.Run(t.Context(), trial)
	want := []string{"user: Refund ORD-{{1}}.", "agent: Which?", "user: ORD-{{1}}, please.", "agent: Done."}
	if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := h.last().System + "|" + done.Trajectory.System + "|" + done.Trajectory.Prompt; got != "You serve acme.|You serve acme.|Refund ORD-{{1}}." {
		t.Error(got)
	}
	for _, words := range []string{"acme's friend", "ORD-{{1}} back", "###STOP###"} {
		if !strings.Contains(u.last().System, words) {
			t.Errorf("the user's system prompt lacks %q", words)
		}
	}
	if trial.Case.User.Turns[0] != "{{order}}, please." {
		t.Error("the case was written to")
	}
}

func TestLoopAsksAsTold(t *testing.T) {
	var h heard
	trial := task(desk())
	temperature := 0.5
	trial.Sampling = eval.Sampling{Temperature: &temperature, MaxOutputTokens: 77}
	trial.Settings.MaxOutputTokens = 1
	agent.Loop{Model: moving(&h, say("Done."))}.Run(t.Context(), trial)
	if diff := cmp.Diff(trial.Sampling, h.last().Sampling); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(llm.Trial{Case: "case", Repeat: 2, Seed: 7}, h.last().Trial); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoopKeepsWhatTheModelThought(t *testing.T) {
	var h heard
	first := use("escalate", "{}")
	first.Message.Opaque, first.Message.Reasoning, first.Message.Text = eval.JSON(`{"signed":1}`), "Hm.", "One moment."
	first.Model, first.ID, first.Word, first.Tries = "m-1", "r-1", "tool_use", 3
	first.Usage.CacheRead = 4
	done := agent.Loop{Model: moving(&h, first, say("Done."))}.Run(t.Context(), task(desk()))
	if got := h.last().Messages[1]; string(got.Opaque) != `{"signed":1}` || got.Reasoning != "Hm." {
		t.Errorf("the model got back %+v", got)
	}
	turn := done.Trajectory.Turns[0]
	if turn.Reasoning != "Hm." || turn.Text != "One moment." {
		t.Errorf("turn %+v", turn)
	}
	want := eval.Generation{Model: "m-1", ID: "r-1", Stop: "tool_use", Usage: eval.Usage{Input: 10, Output: 5, CacheRead: 4}, Tries: 3}
	got := *turn.Generation
	got.LatencyMS = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if turn.Calls[0].ID != "c0" {
		t.Errorf("call id %q", turn.Calls[0].ID)
	}
}

func TestAnswerIsWhatWasSaidLast(t *testing.T) {
	beside := use("escalate", "{}")
	beside.Message.Text = "I hand it over."
	tests := []struct {
		name  string
		moves []llm.Response
		user  *eval.User
		want  string
	}{
		{"the final answer", []llm.Response{beside, say("Done.")}, nil, "Done."},
		{"nothing after a text beside a call", []llm.Response{beside, say("")}, nil, "I hand it over."},
		{"nothing at all", []llm.Response{say("")}, nil, ""},
		{"nothing since the user spoke", []llm.Response{say("Which?"), say("")}, &eval.User{Turns: []string{"That."}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			trial.Case.User = tt.user
			done := agent.Loop{Model: moving(&heard{}, tt.moves...)}.Run(t.Context(), trial)
			if done.Trajectory.Answer != tt.want {
				t.Errorf("answer %q, want %q", done.Trajectory.Answer, tt.want)
			}
		})
	}
}

// TestLoopTimes splits the time of a trial by a clock of its own.
func TestLoopTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration, r llm.Response) llm.Model {
			return modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
				time.Sleep(d) //nolint:forbidigo // the clock of synctest
				if len(req.Messages) == 1 && req.Trial.Role == "" {
					r := use("escalate", "{}", "escalate", "{}")
					r.WaitedMS = 400
					return r, nil
				}
				r.WaitedMS = 400
				return r, nil
			})
		}
		trial := task(desk())
		trial.Case.User = &eval.User{Model: "fast"}
		trial.Servers[0].Tools.(*fakeServer).call = func(context.Context, string, eval.JSON) eval.Outcome {
			time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the clock of synctest
			return texts("ok")
		}
		done := agent.Loop{Model: slow(time.Second, say("Done.")), User: slow(2*time.Second, say("###STOP###"))}.Run(t.Context(), trial)
		want := eval.Times{ModelMS: 1200, UserMS: 1600, ToolMS: 300, BackoffMS: 1200}
		if diff := cmp.Diff(want, done.Times); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if want := 3100 * time.Millisecond; done.Elapsed != want {
			t.Errorf("elapsed %v, want %v", done.Elapsed, want)
		}
		if g := done.Trajectory.Turns[0].Generation; g.LatencyMS != 600 || g.WaitedMS != 400 {
			t.Errorf("generation %+v", g)
		}
	})
}

// TestLoopIsBroughtToAnEnd ends the context at every place where the loop waits.
func TestLoopIsBroughtToAnEnd(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	places := map[string]func(*agent.Task, *agent.Loop){
		"in a listing": func(t *agent.Task, _ *agent.Loop) { t.Servers[0].Tools = hangingListing{desk()} },
		"in the model": func(_ *agent.Task, l *agent.Loop) {
			l.Model = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return llm.Response{}, &llm.Error{Kind: llm.Network, Err: ctx.Err()}
			})
		},
		"behind the model": func(_ *agent.Task, l *agent.Loop) {
			l.Model = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return use("escalate", "{}"), nil
			})
		},
		"in calls": func(t *agent.Task, _ *agent.Loop) {
			t.Servers[0].Tools.(*fakeServer).call = func(ctx context.Context, _ string, _ eval.JSON) eval.Outcome {
				hang(ctx)
				return eval.Outcome{Kind: eval.OutcomeCancelled}
			}
		},
		"in the user": func(t *agent.Task, l *agent.Loop) {
			l.Model = moving(&heard{}, say("Hello."))
			t.Case.User = &eval.User{Model: "fast"}
			l.User = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return llm.Response{}, ctx.Err()
			})
		},
	}
	for name, arrange := range places {
		for _, onLimit := range []eval.OnLimit{"", eval.OnLimitScore, eval.OnLimitFail} {
			t.Run(name+", on_limit "+string(onLimit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					trial := task(desk())
					trial.Case.Limits = eval.Limits{Time: time.Minute, OnLimit: onLimit}
					loop := agent.Loop{Model: moving(&heard{}, use("escalate", "{}", "escalate", "{}"))}
					arrange(&trial, &loop)
					done := loop.Run(t.Context(), trial)
					stop, verdict, reason := eval.StopTimeLimit, eval.Verdict(""), eval.Reason("")
					switch {
					case name == "in a listing":
						stop, verdict, reason = eval.StopNotStarted, eval.Error, eval.ReasonTimeout
					case onLimit == eval.OnLimitFail:
						verdict, reason = eval.Fail, eval.ReasonLimit
					}
					if done.Stop != stop || done.Verdict != verdict || done.Reason != reason {
						t.Errorf("got %q, %q, %q; want %q, %q, %q", done.Stop, done.Verdict, done.Reason, stop, verdict, reason)
					}
				})
			})
		}
		t.Run(name+", cancelled", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				trial := task(desk())
				trial.Case.Limits.Time = time.Minute
				loop := agent.Loop{Model: moving(&heard{}, use("escalate", "{}", "escalate", "{}"))}
				arrange(&trial, &loop)
				done := loop.Run(ctx, trial)
				if done.Stop != eval.StopCancelled || done.Verdict != eval.Unfinished || done.Reason != eval.ReasonCancelled {
					t.Errorf("got %q, %q, %q", done.Stop, done.Verdict, done.Reason)
				}
			})
		})
	}
}

// hangingListing is a server that never lists its tools.
type hangingListing struct{ *fakeServer }

func (hangingListing) ListTools(ctx context.Context) ([]eval.JSON, eval.Outcome) {
	<-ctx.Done()
	return nil, eval.Outcome{Kind: eval.OutcomeCancelled, Detail: ctx.Err().Error()}
}

// TestCallsAtOnce counts how many calls a server has at the same time.
func TestCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		server := func() *fakeServer {
			s := desk()
			s.call = func(context.Context, string, eval.JSON) eval.Outcome {
				n := now.Add(1)
				for {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(time.Second) //nolint:forbidigo // the clock of synctest
				now.Add(-1)
				return texts("ok")
			}
			return s
		}
		trial := task(server())
		trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: server()})
		var calls []string
		for i := range 20 {
			calls = append(calls, "mcp__desk__escalate", fmt.Sprintf(`{"n":%d}`, i), "mcp__other__escalate", fmt.Sprintf(`{"n":%d}`, i))
		}
		begun := time.Now()
		done := agent.Loop{Model: moving(&heard{}, use(calls...), say("Done."))}.Run(t.Context(), trial)
		if most.Load() != 16 || time.Since(begun) != 3*time.Second {
			t.Errorf("%d calls at once, %v in all; want 16 and 3s", most.Load(), time.Since(begun))
		}
		if done.Counts.ToolCalls != 40 || len(done.Tools) != 40 {
			t.Errorf("%d calls, %d uses", done.Counts.ToolCalls, len(done.Tools))
		}
	})
}

// TestLoopIsDeterministic runs a trial with parallel calls of several servers,
// a search, a simulated user and odd answers again and again.
func TestLoopIsDeterministic(t *testing.T) {
	run := func() agent.Done {
		trial := task(desk())
		trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: desk()})
		trial.Loading = eval.LoadingSearch
		trial.Case.User = &eval.User{Model: "fast"}
		var calls []string
		for i := range 30 {
			calls = append(calls, "mcp__desk__reject", "{}", "mcp__other__escalate", fmt.Sprintf(`{"n":%d}`, i), "nope", "[]")
		}
		loop := agent.Loop{
			Model: modelFunc(moving(&heard{}, use("search_tools", `{"query":"say no, hand over"}`), use(calls...), say("Done."), say("Bye.")).Generate),
			User:  moving(&heard{}, say("And now?"), say("###STOP###")),
		}
		return loop.Run(t.Context(), trial)
	}
	first := run()
	if first.Stop != eval.StopUser || first.Counts.ToolCalls != 60 {
		t.Fatalf("stop %s after %d calls", first.Stop, first.Counts.ToolCalls)
	}
	for range 20 {
		next := run()
		if got, want := next.Trajectory.Hash(), first.Trajectory.Hash(); got != want {
			t.Fatalf("trajectory hash %s, want %s", got, want)
		}
		if diff := cmp.Diff(first.Counts, next.Counts); diff != "" {
			t.Fatalf("counts, -first +next:\n%s", diff)
		}
	}
}

// TestEndlessTrial has no limit and a model that never stops.
func TestEndlessTrial(t *testing.T) {
	n := 0
	trial := task(desk())
	done := agent.Loop{Model: modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		n++
		return use("escalate", fmt.Sprintf(`{"n":%d}`, n)), nil
	})}.Run(t.Context(), trial)
	if done.Stop != eval.StopTurnLimit || done.Counts.Turns != 1000 || done.Verdict != "" {
		t.Errorf("stop %s after %d turns, verdict %q", done.Stop, done.Counts.Turns, done.Verdict)
	}
}
