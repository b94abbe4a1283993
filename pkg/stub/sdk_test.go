package stub_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/anthropic"
	"github.com/evalfarm/evalfarm/pkg/llm/openai"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// adapters are the real clients, for the base addresses that they want.
func adapters() map[string]func(base string, e llm.Endpoint) (llm.Model, error) {
	return map[string]func(string, llm.Endpoint) (llm.Model, error){
		"anthropic": func(base string, e llm.Endpoint) (llm.Model, error) {
			e.BaseURL = base
			return anthropic.New(e)
		},
		"openai": func(base string, e llm.Endpoint) (llm.Model, error) {
			e.BaseURL = base + "/v1"
			return openai.New(e)
		},
		"gemini through openai": func(base string, e llm.Endpoint) (llm.Model, error) {
			e.BaseURL = base + "/v1beta/openai"
			return openai.New(e)
		},
	}
}

func serve(t *testing.T, o stub.Options) (string, *stub.Server) {
	t.Helper()
	s := stub.New(o)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	return web.URL, s
}

// settled are the counts of a stub that has written its answers to the end, which
// is a little after a client has read them.
func settled(t *testing.T, s *stub.Server) stub.Stats {
	t.Helper()
	for t.Context().Err() == nil {
		if stats := s.Stats(); stats.InFlight == 0 {
			return stats
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the stub is never idle")
	return stub.Stats{}
}

// moves of a conversation that takes both sides of a condition and one of two
// choices, with calls in parallel and results that are errors.
const moves = `[
	{"say": "I look.", "calls": [{"tool": "get_order", "arguments": {"order_id": "ORD-1", "note": "a<b & ß"}}, {"tool": "get_user", "arguments": {"user_id": 9007199254740993}}]},
	{"if": {"error": true}, "then": [{"calls": [{"tool": "get_user", "arguments": {"user_id": 1, "was": "{{last}}"}}]}], "else": [{"say": "No error came over."}]},
	{"if": {"error": true}, "then": [{"say": "Again an error."}], "else": [{"calls": [{"tool": "get_order"}]}]},
	{"choose": [{"weight": 50, "moves": [{"say": "heads: {{last.user.name}}"}]}, {"weight": 50, "moves": [{"say": "tails: {{last.user.name}}"}]}]},
	{"say": "You are welcome.", "usage": {"input": 421, "cache_read": 300, "cache_write": 100, "output": 50, "reasoning": 30}}
]`

// converse talks to a model with tools that answer, and gives all that was said.
func converse(ctx context.Context, t *testing.T, m llm.Model, trial llm.Trial) ([]llm.Message, []eval.Usage) {
	t.Helper()
	req := llm.Request{
		System:   "You are a support agent.",
		Messages: []llm.Message{{Role: llm.User, Text: "Where is my order?"}},
		Tools: []llm.Tool{
			{Name: "get_order", Schema: eval.JSON(`{"type":"object"}`)},
			{Name: "get_user", Description: "A user", Schema: eval.JSON(`{"type":"object","required":["user_id"]}`)},
		},
		Trial: trial,
	}
	answer := func(c llm.Call) llm.Result {
		r := llm.Result{ID: c.ID, Tool: c.Tool, Text: `{"user": {"name": "Åsa"}}`}
		if c.Arguments == `{"user_id":9007199254740993}` {
			r.Text, r.Error = "no such user", true
		}
		return r
	}
	var usage []eval.Usage
	for turn := range 10 {
		res, err := m.Generate(ctx, req)
		if err != nil {
			t.Fatalf("turn %d: %v", turn+1, err)
		}
		req.Messages = append(req.Messages, res.Message)
		usage = append(usage, res.Usage)
		if res.Stop != llm.StopCalls {
			if turn > 4 {
				return req.Messages, usage
			}
			req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "Thanks."})
			continue
		}
		reply := llm.Message{Role: llm.User}
		for _, c := range res.Message.Calls {
			reply.Results = append(reply.Results, answer(c))
		}
		req.Messages = append(req.Messages, reply)
	}
	t.Fatal("the conversation does not end")
	return nil, nil
}

// A scripted conversation is the same with and without each wire in between.
func TestSameConversation(t *testing.T) {
	var policy eval.Policy
	if err := json.Unmarshal([]byte(`{"cases": {"desk/Ü 1": `+moves+`}}`), &policy); err != nil {
		t.Fatal(err)
	}
	model := scripted.New(policy, scripted.Options{})
	base, server := serve(t, stub.Options{Model: model})
	said := map[string]bool{}
	for seed := range uint64(8) {
		trial := llm.Trial{Case: "desk/Ü 1", Repeat: 2, Seed: seed}
		want, wantUsage := converse(t.Context(), t, model, trial)
		said[want[7].Text] = true
		for name, open := range adapters() {
			m, err := open(base, llm.Endpoint{Model: "m-1", APIKey: "k", Identify: true})
			if err != nil {
				t.Fatal(err)
			}
			got, gotUsage := converse(t.Context(), t, m, trial)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, seed %d: messages (-scripted +%s):\n%s", name, seed, name, diff)
			}
			// Estimates of the input differ by how a wire writes JSON.
			if diff := cmp.Diff(wantUsage[4], gotUsage[4]); diff != "" {
				t.Errorf("%s: usage (-want +got):\n%s", name, diff)
			}
		}
	}
	if !said["heads: Åsa"] || !said["tails: Åsa"] || len(said) != 2 {
		t.Errorf("the seeds chose %v, want both choices and nothing else", said)
	}
	if s := settled(t, server); s.Calls != 8*3*6 || s.Requests["POST /v1/messages"][http.StatusOK] != 8*6 {
		t.Errorf("stats: %+v", s)
	}
}

// All kinds of errors come out of the real clients as what they are.
func TestErrorsAreTyped(t *testing.T) {
	for name, tt := range map[string]struct {
		options stub.Options
		want    llm.Error
	}{
		"rate limit":     {stub.Options{Limits: stub.Limits{Tokens: 1}, RetryAfter: stub.RetryMS}, llm.Error{Kind: llm.RateLimit, Status: 429, Wait: time.Minute, WaitFrom: "retry-after-ms"}},
		"overloaded":     {fault(stub.Fault529), llm.Error{Kind: llm.Overloaded, Status: 529}},
		"unavailable":    {fault(stub.Fault503), llm.Error{Kind: llm.Overloaded, Status: 503}},
		"internal":       {fault(stub.Fault500), llm.Error{Kind: llm.Network, Status: 500, Sent: true}},
		"gateway":        {fault(stub.Fault502), llm.Error{Kind: llm.Network, Status: 502, Sent: true}},
		"quota":          {fault(stub.FaultQuota), llm.Error{Kind: llm.Quota, Status: 429}},
		"context length": {fault(stub.FaultContextLength), llm.Error{Kind: llm.ContextLength, Status: 400}},
		"content filter": {fault(stub.FaultContentFilter), llm.Error{Kind: llm.ContentFilter, Status: 400, Sent: true}},
		"cut":            {fault(stub.FaultCut), llm.Error{Kind: llm.Network, Status: 200, Sent: true}},
		"malformed":      {fault(stub.FaultMalformed), llm.Error{Kind: llm.Network, Status: 200, Sent: true}},
		"hang":           {fault(stub.FaultHang), llm.Error{Kind: llm.Network, Sent: true}},
		"slow":           {fault(stub.FaultSlow), llm.Error{Kind: llm.Network, Status: 200, Sent: true}},
		"auth":           {stub.Options{Keys: []string{"another"}}, llm.Error{Kind: llm.Auth, Status: 401}},
		"bad request":    {stub.Options{Model: scripted.New(eval.Policy{}, scripted.Options{})}, llm.Error{Kind: llm.BadRequest, Status: 400}},
	} {
		for adapter, open := range adapters() {
			t.Run(name+"/"+adapter, func(t *testing.T) {
				o := tt.options
				if o.Model == nil {
					o.Model = stub.Say{Text: "Hello."}
				}
				base, _ := serve(t, o)
				// Only what never ends runs into the timeout.
				timeout := time.Minute
				if name == "hang" || name == "slow" {
					timeout = 500 * time.Millisecond
				}
				m, err := open(base, llm.Endpoint{Model: "m-1", APIKey: "k", Timeout: timeout})
				if err != nil {
					t.Fatal(err)
				}
				req := llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi"}}, Trial: llm.Trial{Case: "c"}}
				if o.Limits.Tokens > 0 {
					if _, err := m.Generate(t.Context(), req); err != nil {
						t.Fatalf("before the limit: %v", err)
					}
				}
				_, err = m.Generate(t.Context(), req)
				e, ok := errors.AsType[*llm.Error](err)
				if !ok {
					t.Fatalf("got error %v, want an *llm.Error", err)
				}
				got := llm.Error{Kind: e.Kind, Status: e.Status, Wait: e.Wait.Round(time.Minute), WaitFrom: e.WaitFrom, Sent: e.Sent}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("error (-want +got):\n%s\n%v", diff, err)
				}
			})
		}
	}
}

func fault(kind stub.FaultKind) stub.Options {
	return stub.Options{Faults: []stub.Fault{{Kind: kind, Share: 1}}}
}

// A tool that has to be called is called.
func TestMustCall(t *testing.T) {
	base, _ := serve(t, stub.Options{Model: stub.Say{Text: "Hello."}})
	for name, open := range adapters() {
		m, err := open(base, llm.Endpoint{Model: "m-1", APIKey: "k"})
		if err != nil {
			t.Fatal(err)
		}
		res, err := m.Generate(t.Context(), llm.Request{
			Messages: []llm.Message{{Role: llm.User, Text: "Hi"}}, MustCall: "verdict", Tools: []llm.Tool{{Name: "other"}, {Name: "verdict"}},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := []llm.Call{{ID: "call_0_" + res.ID[len(res.ID)-8:], Tool: "verdict", Arguments: "{}"}}
		if diff := cmp.Diff(want, res.Message.Calls); diff != "" || res.Stop != llm.StopCalls {
			t.Errorf("%s: stop %s, calls (-want +got):\n%s", name, res.Stop, diff)
		}
	}
}
