// Package llmtest is what every adapter that reaches a model over HTTP has to
// pass: the same conversation gives the same answer, and the same trouble the
// same error, whatever the wire format.
package llmtest

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A Wire is an adapter under test and its provider's format.
type Wire struct {
	// Open makes the adapter.
	Open func(llm.Endpoint) (llm.Model, error)
	// Answer is [Answer] as the provider's server writes it.
	Answer string
	// Path that requests go to, behind the server's address.
	Path string
	// Bases are the base URLs that lead there, behind the server's address.
	Bases []string
	// Addresses and Variables name what the provider's own tools read of the
	// environment: variables that hold an address, and others.
	Addresses, Variables []string
}

// key is the API key of all tests.
const key = "sk-conformance-0123456789"

// Request is a conversation with everything in it.
func Request() llm.Request {
	temperature, topP, seed := 0.0, 0.5, int64(7)
	return llm.Request{
		System: "You look up the weather.",
		Messages: []llm.Message{
			{Role: llm.User, Text: "Paris and <Rome>?"},
			{
				Role: llm.Assistant, Text: "I look.",
				Calls: []llm.Call{
					{ID: "c1", Tool: "get_weather", Arguments: `{"city":"Paris","n":12345678901234567890}`},
					{ID: "c2", Tool: "get_weather", Arguments: ``},
				},
			},
			{
				Role: llm.User, Text: "Go on.",
				Results: []llm.Result{
					{ID: "c1", Tool: "get_weather", Text: "sunny"},
					{ID: "c2", Tool: "get_weather", Text: "no city", Error: true},
				},
			},
		},
		Tools: []llm.Tool{
			{Name: "get_weather", Description: "Looks it up.", Schema: eval.JSON(Schema)},
			{Name: "no_arguments"},
		},
		MustCall: "get_weather",
		Sampling: eval.Sampling{
			Temperature: &temperature, TopP: &topP, Seed: &seed, MaxOutputTokens: 30000,
			Thinking: &eval.Thinking{Effort: "high"},
		},
		Trial: llm.Trial{Case: "weather/two towns", Repeat: 2, Seed: 99, Role: "judge/1"},
	}
}

// Schema is that of a tool, with what a detour over maps and floats would lose.
const Schema = `{"type":"object","properties":{"z":{"type":"integer","maximum":12345678901234567890},"a":{"type":"string","pattern":"^<.&>$"}},"required":["z"],"$defs":{"x.y":{}},"additionalProperties":false}`

// Answer is what the model says in the conformance tests.
func Answer() llm.Response {
	return llm.Response{
		Message: llm.Message{
			Role: llm.Assistant, Text: "Both <again>.", Reasoning: "Two towns, two calls.",
			Calls: []llm.Call{
				{ID: "c3", Tool: "get_weather", Arguments: `{"city": "Paris", "n": 12345678901234567890}`},
				{ID: "c4", Tool: "get_weather", Arguments: `{"city": "Rome"}`},
			},
		},
		Stop:  llm.StopCalls,
		Usage: eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100, Output: 50, Reasoning: 30},
		Model: "model-7-2026",
		ID:    "answer-1",
		Tries: 1,
	}
}

// Conformance tests an adapter.
func Conformance(t *testing.T, w Wire) {
	t.Run("answer", w.answers)
	t.Run("concurrent", w.concurrent)
	t.Run("base URL", w.bases)
	t.Run("headers", w.headers)
	t.Run("environment", w.environment)
	t.Run("statuses", w.statuses)
	t.Run("lost answers", w.lost)
	t.Run("nonsense", w.nonsense)
	t.Run("context", w.context)
	t.Run("redirect", w.redirect)
	t.Run("secrets", w.secrets)
}

// answers compares the answer with what it has to be, but for what differs by
// nature: the word of the stop, the header, and the provider's own form.
func (w Wire) answers(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-Ratelimit-Remaining-Requests", "41")
		reply(rw, 200, w.Answer)
	})
	model := w.open(t, s, llm.Endpoint{})
	for range 2 {
		got, err := model.Generate(t.Context(), Request())
		if err != nil {
			t.Fatal(err)
		}
		if string(got.Raw) != w.Answer {
			t.Errorf("Raw is not what was sent:\n%s", got.Raw)
		}
		if got.Header.Get("X-Ratelimit-Remaining-Requests") != "41" {
			t.Errorf("Header = %v", got.Header)
		}
		if got.Word == "" {
			t.Error("no word for the stop")
		}
		got.Raw, got.Header, got.Word, got.Message.Opaque = nil, nil, "", nil
		if diff := cmp.Diff(Answer(), got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// concurrent is for the race detector.
func (w Wire) concurrent(t *testing.T) {
	model := w.open(t, Serve(t, 200, w.Answer), llm.Endpoint{APIKey: key, Identify: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if got, err := model.Generate(t.Context(), Request()); err != nil || got.ID != Answer().ID {
				t.Errorf("ID %q, err %v", got.ID, err)
			}
		})
	}
	wg.Wait()
}

func (w Wire) bases(t *testing.T) {
	for _, base := range w.Bases {
		t.Run(strings.ReplaceAll(base, "/", "_"), func(t *testing.T) {
			s := serve(t, func(rw http.ResponseWriter, _ *http.Request) { reply(rw, 200, w.Answer) })
			if _, err := w.open(t, s, llm.Endpoint{BaseURL: s.URL + base}).Generate(t.Context(), Request()); err != nil {
				t.Fatal(err)
			}
			if got := s.last().URL.String(); got != w.Path {
				t.Errorf("base %q leads to %s, want %s", base, got, w.Path)
			}
		})
	}
}

func (w Wire) headers(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) { reply(rw, 200, w.Answer) })
	for _, row := range []struct {
		name     string
		endpoint llm.Endpoint
		want     map[string]string
	}{
		{"a key", llm.Endpoint{APIKey: key}, map[string]string{
			"Authorization": "Bearer " + key, "X-Evalfarm-Case": "", "X-Stainless-Retry-Count": "0",
		}},
		{"no key", llm.Endpoint{}, map[string]string{"Authorization": "", "X-Api-Key": ""}},
		{
			"own headers win",
			llm.Endpoint{APIKey: key, Headers: map[string]string{"authorization": "Basic abc", "X-Team": "farm"}},
			map[string]string{"Authorization": "Basic abc", "X-Team": "farm"},
		},
		{"who it is", llm.Endpoint{Identify: true}, map[string]string{
			"X-Evalfarm-Case": "weather/two%20towns", "X-Evalfarm-Repeat": "2", "X-Evalfarm-Seed": "99", "X-Evalfarm-Role": "judge/1",
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := w.open(t, s, row.endpoint).Generate(t.Context(), Request()); err != nil {
				t.Fatal(err)
			}
			for name, want := range row.want {
				if got := s.last().Header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

// environment wants the provider's variables to have no influence: not even on a
// client without a key.
func (w Wire) environment(t *testing.T) {
	wrong := serve(t, func(rw http.ResponseWriter, _ *http.Request) { reply(rw, 200, w.Answer) })
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) { reply(rw, 200, w.Answer) })
	const mark = "from-the-environment"
	for _, name := range w.Addresses {
		t.Setenv(name, wrong.URL)
	}
	for _, name := range w.Variables {
		t.Setenv(name, "X-Any: "+mark) // as good a key as a list of headers
	}
	if _, err := w.open(t, s, llm.Endpoint{}).Generate(t.Context(), Request()); err != nil {
		t.Fatal(err)
	}
	if wrong.count() != 0 {
		t.Error("the request went to the address in the environment")
	}
	for name, values := range s.last().Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, mark) }) {
			t.Errorf("the header %s = %q comes from the environment", name, values)
		}
	}
}
