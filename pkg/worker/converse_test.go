package worker_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, req llm.Request) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return f(ctx, req)
}

// declared declares models, each of which is a function.
func declared(models map[string]modelFunc) option {
	return func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		if s.Models == nil {
			s.Models = map[string]eval.Model{}
		}
		for name := range models {
			m := s.Models[name]
			m.Provider, m.Model = eval.ProviderScripted, name
			s.Models[name] = m
		}
		o.Models = func(m eval.Model, _ *redact.Redactor, mo meter.Options) (llm.Model, error) {
			mo.Once = true
			return meter.New(models[m.Model], mo), nil
		}
	}
}

// moving makes one move after the other, by the conversation alone, and says
// "Done." when it has no more.
func moving(moves ...llm.Response) modelFunc {
	return func(_ context.Context, req llm.Request) (llm.Response, error) {
		turn := 0
		for _, m := range req.Messages {
			if m.Role == llm.Assistant {
				turn++
			}
		}
		if turn >= len(moves) {
			return says("Done."), nil
		}
		return moves[turn], nil
	}
}

func says(text string) llm.Response {
	return llm.Response{Stop: llm.StopEnd, Message: llm.Message{Role: llm.Assistant, Text: text}, Usage: eval.Usage{Input: 10, Output: 5}}
}

func calls(tool, arguments string) llm.Response {
	return llm.Response{Stop: llm.StopCalls, Usage: eval.Usage{Input: 10, Output: 5}, Message: llm.Message{
		Role: llm.Assistant, Calls: []llm.Call{{ID: "c1", Tool: tool, Arguments: arguments}},
	}}
}

const customer = `{"customerId":"CUST-4091"}`

// conversation is an agent case.
func conversation(checks ...eval.Check) eval.Case {
	return eval.Case{ID: "talk", Kind: eval.KindAgent, Server: "acme", Model: "agent", Prompt: "Is {{who}} active?", Checks: checks, Vars: map[string]eval.JSON{"who": eval.JSON(`"CUST-4091"`)}}
}

func contains(text string) eval.Check {
	return eval.Check{ID: "said", Text: &eval.TextCheck{Contains: &text}}
}

// kept reads a blob that a record refers to.
func (b *bundle) kept(r eval.Record, sha string, into any) {
	b.t.Helper()
	if err := b.memory.PutBlobs(b.t.Context(), r.Blobs...); err != nil {
		b.t.Fatal(err)
	}
	if err := blob.LoadJSON(b.t.Context(), b.memory, sha, into); err != nil {
		b.t.Fatal(err)
	}
}

func TestRecordOfAnAgent(t *testing.T) {
	c := conversation(contains("{{who}}"), eval.Check{ID: "called", Called: &eval.CallCheck{CallPattern: eval.CallPattern{Tool: "getCustomerStatus"}}})
	b := setup(t, []eval.Case{c}, declared(map[string]modelFunc{"agent": moving(calls("getCustomerStatus", customer), says("CUST-4091 is active."))}))
	r := b.do(1)[0]
	if r.Outcome != eval.AttemptDone || r.Result.Verdict != eval.Pass || r.Result.Counts.ToolCalls != 1 || r.Result.Usage.Total() != 30 {
		t.Errorf("got %s, %+v; want a pass with one call and 30 tokens", r.Outcome, r.Result)
	}
	var tr eval.Trajectory
	b.kept(r, r.Result.Trajectory, &tr)
	if tr.Prompt != "Is CUST-4091 active?" || tr.Answer != "CUST-4091 is active." || tr.Server.Name == "" || tr.Servers != nil || tr.Hash() != r.Result.TrajectoryHash {
		t.Errorf("trajectory %+v does not tell what happened", tr)
	}
}

func TestModelThatGivesNoAnswer(t *testing.T) {
	tests := []struct {
		kind    llm.Kind
		outcome eval.AttemptOutcome
		verdict eval.Verdict
		reason  eval.Reason
	}{
		{llm.RateLimit, eval.AttemptFailed, eval.Error, eval.ReasonModelUnavailable},
		{llm.Overloaded, eval.AttemptFailed, eval.Error, eval.ReasonModelUnavailable},
		{llm.Network, eval.AttemptFailed, eval.Error, eval.ReasonModelUnavailable},
		{llm.Quota, eval.AttemptDone, eval.Error, eval.ReasonModelQuota},
		{llm.Auth, eval.AttemptDone, eval.Error, eval.ReasonModelUnauthorized},
		{llm.BadRequest, eval.AttemptDone, eval.Error, eval.ReasonModelRefused},
		{llm.ReplayMiss, eval.AttemptDone, eval.Error, eval.ReasonReplayMiss},
		// The agent brought these about, so it is scored on what it has.
		{llm.ContextLength, eval.AttemptDone, eval.Fail, eval.ReasonGaveUp},
		{llm.ContentFilter, eval.AttemptDone, eval.Fail, eval.ReasonGaveUp},
	}
	for _, tt := range tests {
		t.Run(string(tt.kind), func(t *testing.T) {
			down := func(context.Context, llm.Request) (llm.Response, error) {
				return llm.Response{}, &llm.Error{Kind: tt.kind}
			}
			b := setup(t, []eval.Case{conversation(contains("x"))}, declared(map[string]modelFunc{"agent": down}))
			r := b.do(1)[0]
			if r.Outcome != tt.outcome || r.Result.Verdict != tt.verdict || r.Result.Reason != tt.reason {
				t.Errorf("got %s, %s, %s; want %s, %s, %s", r.Outcome, r.Result.Verdict, r.Result.Reason, tt.outcome, tt.verdict, tt.reason)
			}
		})
	}
}

// What another attempt here would find again ends the trial at once; no model is
// asked.
func TestAgentThatCannotStart(t *testing.T) {
	const key = "sk-planted-key"
	never := modelFunc(func(context.Context, llm.Request) (llm.Response, error) { panic("the model was asked") })
	tests := []struct {
		name    string
		set     option
		outcome eval.AttemptOutcome
		reason  eval.Reason
	}{
		{"no secret for its key", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Models["agent"] = eval.Model{Provider: eval.ProviderOpenAI, Model: "agent", APIKey: "${{ secrets.GONE }}"}
		}, eval.AttemptDone, eval.ReasonSecretMissing},
		{"no secret by the provider's usual name", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Models["agent"] = eval.Model{Provider: eval.ProviderAnthropic, Model: "agent"}
		}, eval.AttemptDone, eval.ReasonSecretMissing},
		{"no secret for a header", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Models["agent"] = eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://127.0.0.1:1", Headers: map[string]string{"X-Team": "${{ secrets.GONE }}"}}
		}, eval.AttemptDone, eval.ReasonSecretMissing},
		{"no such model", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) { delete(s.Models, "agent") }, eval.AttemptDone, eval.ReasonFarm},
		{"a model that cannot be made", func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Models["agent"] = eval.Model{Provider: eval.ProviderOpenAI, APIKey: "${{ secrets.KEY }}"}
			o.Models = func(m eval.Model, _ *redact.Redactor, _ meter.Options) (llm.Model, error) {
				return nil, &llm.Error{Kind: llm.BadRequest, Message: "bad " + m.APIKey}
			}
		}, eval.AttemptDone, eval.ReasonModelRefused},
		{"a user whose model has no key", func(_ *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			s.Models["user"] = eval.Model{Provider: eval.ProviderAnthropic, Model: "user"}
			cs[0].User = &eval.User{Model: "user"}
		}, eval.AttemptDone, eval.ReasonSecretMissing},
		{"no such command", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Servers["acme"] = eval.Server{Command: []string{"/no/such/command"}}
		}, eval.AttemptDone, eval.ReasonStartFailed},
		{"a server that exits at once", func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Servers["acme"] = eval.Server{Command: []string{"/bin/false"}}
		}, eval.AttemptFailed, eval.ReasonStartExited},
		{"the second server does not start", func(_ *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			s.Servers["other"] = eval.Server{Command: []string{"/no/such/command"}}
			cs[0].Servers = []string{"acme", "other"}
		}, eval.AttemptDone, eval.ReasonStartFailed},
		{"the second server has no secret", func(_ *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			s.Servers["other"] = eval.Server{URL: "http://127.0.0.1:1", Headers: map[string]string{"Authorization": "${{ secrets.GONE }}"}}
			cs[0].Servers = []string{"acme", "other"}
		}, eval.AttemptDone, eval.ReasonSecretMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			secrets := func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
				o.Secret = func(name string) (string, error) {
					if name == "KEY" {
						return key, nil
					}
					return "", &llm.Error{Kind: llm.Auth, Message: "this worker has no secret " + name}
				}
			}
			b := setup(t, []eval.Case{conversation()}, declared(map[string]modelFunc{"agent": never}), secrets, tt.set)
			r := b.do(1)[0]
			if r.Outcome != tt.outcome || r.Result.Verdict != eval.Error || r.Result.Reason != tt.reason || r.Result.Message == "" {
				t.Errorf("got %s, %s, %s, %q; want %s, error, %s", r.Outcome, r.Result.Verdict, r.Result.Reason, r.Result.Message, tt.outcome, tt.reason)
			}
			if strings.Contains(r.Result.Message, key) {
				t.Errorf("the message tells the key: %q", r.Result.Message)
			}
		})
	}
}

func TestAgentOfSeveralServers(t *testing.T) {
	c := conversation(
		eval.Check{ID: "first", Called: &eval.CallCheck{CallPattern: eval.CallPattern{Tool: "mcp__acme__getCustomerStatus"}}},
		eval.Check{ID: "state", Verify: &eval.VerifyCheck{Server: "other", Step: &eval.Step{ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(customer), Expect: eval.JSON(`{"status":"ACTIVE"}`)}}},
	)
	c.Server, c.Servers = "", []string{"acme", "other"}
	b := setup(t, []eval.Case{c},
		declared(map[string]modelFunc{"agent": moving(calls("mcp__acme__getCustomerStatus", customer), calls("mcp__other__getCustomerStatus", customer))}),
		func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) { s.Servers["other"] = s.Servers["acme"] })
	r := b.do(1)[0]
	var tr eval.Trajectory
	b.kept(r, r.Result.Trajectory, &tr)
	var asked []string
	for _, turn := range tr.Turns {
		for _, c := range turn.Calls {
			asked = append(asked, c.Server+" "+string(c.Outcome.Kind))
		}
	}
	if diff := cmp.Diff([]string{"acme ok", "other ok"}, asked); diff != "" || r.Result.Verdict != eval.Pass {
		t.Errorf("verdict %s %s; calls (-want +got):\n%s", r.Result.Verdict, r.Result.Message, diff)
	}
	if len(tr.Servers) != 2 || tr.Servers["other"].Name == "" || tr.Server.Name != "" {
		t.Errorf("got servers %+v and %+v, want two by name", tr.Servers, tr.Server)
	}
}

// What is not set in one place is left to the next wider one: the axis point goes
// over the case, the case over the model.
func TestSettingsOfAnAgent(t *testing.T) {
	cold, warm, seven := 0.0, 0.9, int64(7)
	var asked, userAsked atomic.Pointer[llm.Request]
	agent := func(_ context.Context, req llm.Request) (llm.Response, error) {
		asked.Store(&req)
		return says("Yes."), nil
	}
	user := func(_ context.Context, req llm.Request) (llm.Response, error) {
		userAsked.Store(&req)
		return says("###STOP###"), nil
	}
	c := conversation()
	c.Agent = eval.Agent{System: "Be long.", Sampling: eval.Sampling{TopP: &warm, MaxOutputTokens: 50}}
	c.User = &eval.User{Model: "user", Persona: "You own {{who}}."}
	b := setup(t, []eval.Case{c}, func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Models = map[string]eval.Model{
			"agent": {Sampling: eval.Sampling{Temperature: &cold, Seed: &seven, MaxOutputTokens: 10}},
			"user":  {Sampling: eval.Sampling{TrialSeed: true, Temperature: &warm}},
		}
		s.Axes = []eval.Axis{{Name: "style", Points: []eval.Point{{Value: "terse", Agent: eval.Agent{System: "Be terse, {{axis.style}}.", Sampling: eval.Sampling{TrialSeed: true}}}}}}
		s.Variants = []eval.Variant{eval.NewVariant(map[string]string{"style": "terse"})}
		s.Plan.Seed = 1 << 63 // so that trials have seeds beyond 53 bits
	}, declared(map[string]modelFunc{"agent": agent, "user": user}))
	r := b.do(1)[0]
	got, of := asked.Load(), userAsked.Load()
	if got == nil || of == nil {
		t.Fatalf("agent asked: %t, user asked: %t; %s", got != nil, of != nil, r.Result.Message)
	}
	seed := int64(got.Trial.Seed & (1<<53 - 1))
	want := eval.Sampling{Temperature: &cold, TopP: &warm, MaxOutputTokens: 50, Seed: &seed, TrialSeed: true}
	if diff := cmp.Diff(want, got.Sampling); diff != "" || got.System != "Be terse, terse." {
		t.Errorf("system %q; sampling (-want +got):\n%s", got.System, diff)
	}
	want = eval.Sampling{Temperature: &warm, Seed: &seed, TrialSeed: true}
	if diff := cmp.Diff(want, of.Sampling); diff != "" || of.Trial.Role != "user" || !strings.Contains(of.System, "You own CUST-4091.") {
		t.Errorf("role %q, system %q; sampling of the user (-want +got):\n%s", of.Trial.Role, of.System, diff)
	}
	if r.Result.Usage.Total() != 15 || r.Result.UserUsage.Total() != 15 {
		t.Errorf("got usage %+v of the agent and %+v of the user, want 15 tokens each", r.Result.Usage, r.Result.UserUsage)
	}
}
