package stub_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/judge"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/cassette"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/stub"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// A pipe is a listener without a network, so that a server can be in a bubble of
// synctest.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

func newPipe() pipe {
	done := make(chan struct{})
	return pipe{make(chan net.Conn), done, sync.OnceFunc(func() { close(done) })}
}

func (p pipe) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipe) Close() error   { p.close(); return nil }
func (p pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p pipe) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// What a call of a provider comes to, beside an answer.
var errCut = errors.New("the connection is cut")

// A provider answers each call with the next of what is to come.
type provider struct {
	*stub.Server
	coming []error // nil is an answer

	mu    sync.Mutex
	calls int
}

// next is what the call under way comes to: after the last, answers.
func (p *provider) next() error {
	if p.calls > len(p.coming) {
		return nil
	}
	return p.coming[p.calls-1]
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if errors.Is(p.next(), errCut) {
		panic(http.ErrAbortHandler)
	}
	p.Server.ServeHTTP(w, r)
}

// Generate implements [llm.Model] for the stub.
func (p *provider) Generate(context.Context, llm.Request) (llm.Response, error) {
	usage := eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100, Output: 50, Reasoning: 30}
	return llm.Response{Message: llm.Message{Text: "Hello."}, Stop: llm.StopEnd, Usage: usage, Tries: 1}, p.next()
}

// open starts a provider and opens the real adapter to it.
func open(t *testing.T, adapter string, o stub.Options, coming ...error) llm.Model {
	t.Helper()
	p := &provider{coming: coming}
	o.Model = p
	p.Server = stub.New(o)
	listener := newPipe()
	server := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	transport := &http.Transport{DialContext: listener.dial}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		_ = server.Close()
	})
	m, err := adapters()[adapter]("http://models.example", llm.Endpoint{Model: "model-7", APIKey: "k1", HTTPClient: &http.Client{Transport: transport}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// line is a span in a line: what differs between the ways that calls end.
func line(s telemetrytest.Span, all []telemetrytest.Span) string {
	out := s.Name + " [" + s.Kind + "]"
	for _, key := range []string{"error.type", "http.response.status_code", "evalfarm.wait.asked", "evalfarm.wait.from", "evalfarm.outcome", "gen_ai.response.finish_reasons"} {
		if v, ok := s.Attrs[key]; ok {
			out += fmt.Sprintf(" %s=%v", key[strings.LastIndex(key, ".")+1:], v)
		}
	}
	for _, l := range s.Links {
		out += fmt.Sprint(" after #", slices.IndexFunc(all, func(s telemetrytest.Span) bool { return s.SpanID == l.SpanID }))
	}
	if (s.Status == "Error") != (s.Attrs["error.type"] != nil) {
		out += fmt.Sprintf(" but status %s %q", s.Status, s.Message)
	}
	return out
}

func model(provider eval.Provider) telemetry.Model {
	return telemetry.ModelOf(eval.Model{Provider: provider, Model: "model-7", BaseURL: "http://models.example"})
}

// Each way in which calls can end, through the real adapters, with its spans: chat
// calls that are made again are linked to those before, and what is waited for
// between them has spans of its own.
func TestChatSpans(t *testing.T) {
	later := func(wait time.Duration) error { return &llm.Error{Kind: llm.RateLimit, Wait: wait} }
	busy := &llm.Error{Kind: llm.Overloaded}
	resets := stub.Options{Limits: stub.Limits{Requests: 60}, Pauses: []stub.Pause{{Call: 1, Wait: 2 * time.Second, Form: stub.RetryResets}}}
	const ok = "chat model-7 [client] finish_reasons=[stop]"
	const limited = "chat model-7 [client] type=rate_limit status_code=429"
	const overloaded = "chat model-7 [client] type=overloaded status_code=529"
	for _, tt := range []struct {
		name   string
		o      stub.Options
		coming []error
		want   []string
		only   string // adapter; empty is both
	}{
		{"pass", stub.Options{}, nil, []string{ok}, ""},
		{"429 in seconds, then pass", stub.Options{}, []error{later(2 * time.Second)}, []string{limited, "wait rate_limit [internal] asked=2 from=retry-after", ok + " after #0"}, ""},
		{"429 in milliseconds", stub.Options{RetryAfter: stub.RetryMS}, []error{later(1500 * time.Millisecond)}, []string{limited, "wait rate_limit [internal] asked=1.5 from=retry-after-ms", ok + " after #0"}, ""},
		{"429 with a fraction", stub.Options{RetryAfter: stub.RetryFloat}, []error{later(1500 * time.Millisecond)}, []string{limited, "wait rate_limit [internal] asked=1.5 from=retry-after", ok + " after #0"}, ""},
		{"429 with a date", stub.Options{RetryAfter: stub.RetryDate}, []error{later(2 * time.Second)}, []string{limited, "wait rate_limit [internal] asked=2 from=retry-after", ok + " after #0"}, ""},
		{
			"429 with the time when the limit is full",
			resets, nil,
			[]string{limited, "wait rate_limit [internal] asked=2 from=anthropic-ratelimit-requests-reset", ok + " after #0"},
			"anthropic",
		},
		{
			"429 with the time until the limit is full",
			resets, nil,
			[]string{limited, "wait rate_limit [internal] asked=2 from=x-ratelimit-reset-requests", ok + " after #0"},
			"openai",
		},
		{
			"429 that says it in the body",
			stub.Options{RetryAfter: stub.RetryInfo},
			[]error{later(2 * time.Second)},
			[]string{limited, "wait rate_limit [internal] asked=2 from=retry-info", ok + " after #0"},
			"openai",
		},
		{"429 that says nothing", stub.Options{RetryAfter: stub.RetryNone}, []error{later(2 * time.Second)}, []string{limited, "wait rate_limit [internal]", ok + " after #0"}, ""},
		{"overloaded twice", stub.Options{}, []error{busy, busy}, []string{
			overloaded, "wait overloaded [internal]", overloaded + " after #0", "wait overloaded [internal]", ok + " after #2",
		}, ""},
		{"cut, then pass", stub.Options{}, []error{errCut}, []string{"chat model-7 [client] type=network", "wait network [internal]", ok + " after #0"}, ""},
		{"cut for ever", stub.Options{}, []error{errCut, errCut, errCut, errCut}, []string{
			"chat model-7 [client] type=network", "wait network [internal]", "chat model-7 [client] type=network after #0", "wait network [internal]",
			"chat model-7 [client] type=network after #2", "wait network [internal]", "chat model-7 [client] type=network after #4",
		}, ""},
		{"a wrong key", stub.Options{Keys: []string{"another"}}, nil, []string{"chat model-7 [client] type=auth status_code=401"}, ""},
		{"no money", stub.Options{}, []error{&llm.Error{Kind: llm.Quota}}, []string{"chat model-7 [client] type=quota status_code=429"}, ""},
		{"given back", stub.Options{}, []error{later(10 * time.Minute)}, []string{limited, "wait rate_limit [internal] asked=600 from=retry-after outcome=given_back"}, ""},
		{"longer than anybody waits", stub.Options{}, []error{later(2 * time.Hour)}, []string{limited}, ""},
	} {
		for _, adapter := range []string{"anthropic", "openai"} {
			if tt.only != "" && tt.only != adapter {
				continue
			}
			t.Run(tt.name+"/"+adapter, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := open(t, adapter, tt.o, tt.coming...)
					tracer, rec := telemetrytest.New(t)
					m = meter.New(m, meter.Options{Purse: meter.NewPurse(eval.Amount{}), Key: "k", Model: model(eval.Provider(adapter))})
					telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
						_, _ = m.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}})
					})
					delivery := rec.One("process trials")
					spans := slices.DeleteFunc(rec.Spans(), func(s telemetrytest.Span) bool { return s.SpanID == delivery.SpanID })
					var got []string
					for _, s := range spans {
						if s.ParentID != delivery.SpanID || s.TraceID != delivery.TraceID {
							t.Errorf("%s is not below the delivery", s.Name)
						}
						if strings.HasPrefix(s.Name, "wait") && s.Attrs["evalfarm.wait.for"] != "k" {
							t.Errorf("%s is for %v, want k", s.Name, s.Attrs["evalfarm.wait.for"])
						}
						got = append(got, line(s, spans))
					}
					if diff := gocmp.Diff(tt.want, got); diff != "" {
						t.Errorf("spans (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// All that a span says of a call that succeeds.
func TestChatAttributes(t *testing.T) {
	half, seed := 0.5, int64(7)
	req := llm.Request{
		System: "Be brief.",
		Messages: []llm.Message{
			{Role: llm.User, Text: "Hi."},
			{Role: llm.Assistant, Text: "I look.", Calls: []llm.Call{{ID: "c1", Tool: "get", Arguments: `{"n": 1}`}}},
			{Role: llm.User, Results: []llm.Result{{ID: "c1", Tool: "get", Text: "gone"}}},
		},
		Sampling: eval.Sampling{Temperature: &half, TopP: &half, Seed: &seed, MaxOutputTokens: 1000, Thinking: &eval.Thinking{Effort: "low"}},
	}
	const told = `[{"role":"user","parts":[{"type":"text","content":"Hi."}]},` +
		`{"role":"assistant","parts":[{"type":"text","content":"I look."},{"type":"tool_call","id":"c1","name":"get","arguments":{"n":1}}]},` +
		`{"role":"tool","parts":[{"type":"tool_call_response","id":"c1","response":"gone"}]}]`
	for _, adapter := range []string{"anthropic", "openai"} {
		for _, content := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/content %t", adapter, content), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := open(t, adapter, stub.Options{})
					var o []telemetrytest.Option
					if content {
						o = append(o, telemetrytest.Content())
					}
					tracer, rec := telemetrytest.New(t, o...)
					m = meter.New(m, meter.Options{
						Purse: meter.NewPurse(eval.Amount{}), Model: model(eval.Provider(adapter)),
						Price: &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, CacheRead: 100_000, CacheWrite: 1_000_000, Output: 5_000_000, Reasoning: 5_000_000}},
					})
					telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
						if _, err := m.Generate(ctx, req); err != nil {
							t.Error(err)
						}
					})
					s := rec.One("chat model-7")
					want := map[string]any{
						"gen_ai.operation.name": "chat", "gen_ai.provider.name": adapter, "gen_ai.request.model": "model-7",
						"gen_ai.request.max_tokens": int64(1000), "gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.5,
						"gen_ai.request.reasoning.level": "low", "gen_ai.response.model": "model-7", "gen_ai.response.finish_reasons": []string{"stop"},
						"gen_ai.usage.input_tokens": int64(421), "gen_ai.usage.output_tokens": int64(50), "gen_ai.usage.cache_read.input_tokens": int64(300),
						"gen_ai.usage.cache_write.input_tokens": int64(100), "gen_ai.usage.reasoning.output_tokens": int64(30),
						"server.address": "models.example", "server.port": int64(80),
						"evalfarm.cost.usd": 0.000401, "evalfarm.model.role": "agent", "evalfarm.turn": int64(2),
					}
					if adapter == "openai" { // the other API knows none
						want["gen_ai.request.seed"] = int64(7)
					}
					if content {
						want["gen_ai.system_instructions"] = `[{"type":"text","content":"Be brief."}]`
						want["gen_ai.input.messages"] = told
						want["gen_ai.output.messages"] = `[{"role":"assistant","parts":[{"type":"text","content":"Hello."}]}]`
					}
					if id, _ := s.Attrs["gen_ai.response.id"].(string); id == "" {
						t.Error("no id of the response")
					}
					delete(s.Attrs, "gen_ai.response.id")
					if diff := gocmp.Diff(want, s.Attrs); diff != "" {
						t.Errorf("attributes (-want +got):\n%s", diff)
					}
					if s.Status != "Unset" || s.Kind != "client" {
						t.Errorf("status %s, kind %s", s.Status, s.Kind)
					}
				})
			})
		}
	}
}

// What a provider says of a failed call is content; its code is not.
func TestChatRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		options []telemetrytest.Option
		want    string
	}{
		"without content": {nil, ""},
		"with content":    {[]telemetrytest.Option{telemetrytest.Content()}, "quota (HTTP 429 insufficient_quota): You exceeded your current quota, please check your plan and billing details."},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := open(t, "openai", stub.Options{}, &llm.Error{Kind: llm.Quota})
				tracer, rec := telemetrytest.New(t, tt.options...)
				m = meter.New(m, meter.Options{Purse: meter.NewPurse(eval.Amount{}), Price: &eval.Price{}, Model: model(eval.ProviderOpenAI)})
				telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
					_, _ = m.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}})
				})
				s := rec.One("chat model-7")
				if s.Status != "Error" || s.Message != tt.want || s.Attrs["evalfarm.error.code"] != "insufficient_quota" || s.Attrs["evalfarm.cost.usd"] != 0.0 {
					t.Errorf("got %s %q, want %q; %v", s.Status, s.Message, tt.want, s.Attrs)
				}
			})
		})
	}
}

// Each vote of a judge is a call of its own, and so is each line of a model that
// plays the user.
func TestChatRoles(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	m := meter.New(stub.Say{Text: `{"pass":true,"reason":"polite"}`}, meter.Options{Purse: meter.NewPurse(eval.Amount{}), Model: telemetry.Model{Provider: "scripted", Name: "m"}})
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		check := eval.Check{ID: "tone", Judge: &eval.JudgeCheck{Rubric: "Be polite.", Votes: 3}}
		if _, err := (judge.Judge{Model: m}).Rule(ctx, check, llm.Trial{Case: "c"}, eval.Trajectory{Answer: "Hi."}); err != nil {
			t.Error(err)
		}
		_, err := m.Generate(ctx, llm.Request{Trial: llm.Trial{Role: "user"}, Messages: []llm.Message{{Role: llm.User}, {Role: llm.Assistant}, {Role: llm.User}}})
		if err != nil {
			t.Error(err)
		}
	})
	var got []string
	for _, s := range rec.Named("chat m") {
		got = append(got, fmt.Sprint(s.Attrs["evalfarm.model.role"], " ", cmp.Or(fmt.Sprint(s.Attrs["evalfarm.judge.vote"]), "none"), " turn ", s.Attrs["evalfarm.turn"], " links ", len(s.Links)))
	}
	want := []string{"judge 1 turn 1 links 0", "judge 2 turn 1 links 0", "judge 3 turn 1 links 0", "user <nil> turn 2 links 0"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Models without a network show their calls too, and no address.
func TestChatWithoutNetwork(t *testing.T) {
	hi := llm.Request{Trial: llm.Trial{Case: "c", Repeat: 1}, Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}}
	dir := t.TempDir()
	if _, err := cassette.Record(stub.Say{Text: "Hello."}, dir, func(s string) string { return s }).Generate(t.Context(), hi); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		of    eval.Model
		model llm.Model
		want  string
	}{
		"scripted": {
			eval.Model{Provider: eval.ProviderScripted},
			scripted.New(eval.Policy{Cases: map[string][]eval.Move{"c": {{Say: "Hello."}}}}, scripted.Options{}),
			"chat scripted scripted replayed <nil>",
		},
		"played back": {
			eval.Model{Provider: eval.ProviderAnthropic, Model: "claude-opus-5-5", Cassette: &eval.Cassette{Dir: dir}},
			cassette.Replay(dir, func(s string) string { return s }),
			"chat claude-opus-5-5 anthropic replayed true",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, rec := telemetrytest.New(t)
			m := meter.New(tt.model, meter.Options{Purse: meter.NewPurse(eval.Amount{}), Price: &eval.Price{}, Once: true, Model: telemetry.ModelOf(tt.of)})
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
				if _, err := m.Generate(ctx, hi); err != nil {
					t.Error(err)
				}
			})
			s := rec.One("chat " + cmp.Or(tt.of.Model, "scripted"))
			if got := fmt.Sprint(s.Name, " ", s.Attrs["gen_ai.provider.name"], " replayed ", s.Attrs["evalfarm.model.replayed"]); got != tt.want || s.Attrs["server.address"] != nil || s.Status != "Unset" {
				t.Errorf("got %s, status %s, %v; want %s", got, s.Status, s.Attrs, tt.want)
			}
		})
	}
}
