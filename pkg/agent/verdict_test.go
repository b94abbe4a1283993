package agent_test

import (
	"context"
	"errors"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

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

		{"a limit that fails", limits(eval.Limits{Turns: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopTurnLimit, "the trial's limit of 1 turn is reached"},
		{"a limit of calls that fails", limits(eval.Limits{ToolCalls: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopToolCallLimit, "the trial's limit of 1 tool call is reached"},
		{"a limit of tokens that fails", limits(eval.Limits{Tokens: 1, OnLimit: eval.OnLimitFail}), moving(&heard{}, get), eval.Fail, eval.ReasonLimit, eval.StopTokenLimit, "the trial's limit of 1 token is reached"},

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
