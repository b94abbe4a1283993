package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/llmtest"
)

// ask sends a request to a server that gives an answer.
func ask(t *testing.T, s *llmtest.Server, req llm.Request) llm.Response {
	t.Helper()
	model, err := open(llm.Endpoint{Model: "claude-opus-4-6", BaseURL: s.URL, HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := model.Generate(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// same compares JSON by what it says, with numbers to the last digit.
func same(t *testing.T, what string, got []byte, want string) {
	t.Helper()
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func decode(t *testing.T, raw []byte) any {
	t.Helper()
	v, err := eval.Decode(raw)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func TestRequest(t *testing.T) {
	s := llmtest.Serve(t, 200, answer)
	ask(t, s, llmtest.Request())
	same(t, "request", s.LastBody(), `{
		"model": "claude-opus-4-6",
		"max_tokens": 30000,
		"temperature": 0, "top_p": 0.5,
		"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"},
		"system": [{"type": "text", "text": "You look up the weather."}],
		"messages": [
			{"role": "user", "content": [{"type": "text", "text": "Paris and <Rome>?"}]},
			{"role": "assistant", "content": [
				{"type": "text", "text": "I look."},
				{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Paris", "n": 12345678901234567890}},
				{"type": "tool_use", "id": "c2", "name": "get_weather", "input": {}}
			]},
			{"role": "user", "content": [
				{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "sunny"}]},
				{"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{"type": "text", "text": "no city"}]},
				{"type": "text", "text": "Go on."}
			]}
		],
		"tools": [
			{"name": "get_weather", "description": "Looks it up.", "input_schema": `+llmtest.Schema+`},
			{"name": "no_arguments", "input_schema": {"type": "object"}}
		],
		"tool_choice": {"type": "tool", "name": "get_weather"}
	}`)
}

// TestVersion: the API refuses temperature and top_p from 2026-10-21 on, so a
// request that has them is written in the version before.
func TestVersion(t *testing.T) {
	half := 0.5
	for _, row := range []struct {
		name     string
		sampling eval.Sampling
		old      bool
	}{
		{"neither", eval.Sampling{MaxOutputTokens: 100}, false},
		{"temperature", eval.Sampling{Temperature: &half}, true},
		{"top_p", eval.Sampling{TopP: &half}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := llmtest.Serve(t, 200, answer)
			ask(t, s, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}, Sampling: row.sampling})
			if got := s.LastHeader().Get("Anthropic-Version"); (got == "2023-06-01") != row.old || got == "" {
				t.Errorf("version %q", got)
			}
		})
	}
}

func TestRequestFields(t *testing.T) {
	hi := llm.Message{Role: llm.User, Text: "Hi."}
	for _, row := range []struct {
		name  string
		req   llm.Request
		field string
		want  string // JSON; empty for absent
	}{
		{"the bound of an answer is always sent", llm.Request{Messages: []llm.Message{hi}}, "max_tokens", "4096"},
		{"no temperature", llm.Request{Messages: []llm.Message{hi}}, "temperature", ""},
		{"no thinking", llm.Request{Messages: []llm.Message{hi}}, "thinking", ""},
		{"no choice of tools", llm.Request{Messages: []llm.Message{hi}}, "tool_choice", ""},
		{"no system", llm.Request{Messages: []llm.Message{hi}}, "system", ""},
		{
			"thinking by budget",
			llm.Request{Messages: []llm.Message{hi}, Sampling: eval.Sampling{Thinking: &eval.Thinking{BudgetTokens: 2000}}},
			"thinking", `{"type": "enabled", "budget_tokens": 2000}`,
		},
		{
			"thinking turned off",
			llm.Request{Messages: []llm.Message{hi}, Sampling: eval.Sampling{Thinking: &eval.Thinking{Effort: "none"}}},
			"thinking", `{"type": "disabled"}`,
		},
		{
			"no effort with thinking turned off",
			llm.Request{Messages: []llm.Message{hi}, Sampling: eval.Sampling{Thinking: &eval.Thinking{Effort: "none"}}},
			"output_config", "",
		},
		{
			"no effort with a budget alone",
			llm.Request{Messages: []llm.Message{hi}, Sampling: eval.Sampling{Thinking: &eval.Thinking{BudgetTokens: 2000}}},
			"output_config", "",
		},
		{
			"a message that says nothing is left out",
			llm.Request{Messages: []llm.Message{hi, {Role: llm.Assistant}, {Role: llm.User, Text: "Still there?"}}},
			"messages", `[{"role": "user", "content": [{"type": "text", "text": "Hi."}]}, {"role": "user", "content": [{"type": "text", "text": "Still there?"}]}]`,
		},
		{
			"a result that says nothing",
			llm.Request{Messages: []llm.Message{{Role: llm.User, Results: []llm.Result{{ID: "a"}}}}},
			"messages", `[{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]}]`,
		},
		{
			"arguments that are no object",
			llm.Request{Messages: []llm.Message{hi, {Role: llm.Assistant, Calls: []llm.Call{
				{ID: "a", Tool: "x", Arguments: `{"city":`},
				{ID: "b", Tool: "x", Arguments: `["Paris"]`},
				{ID: "c", Tool: "x", Arguments: `null`},
			}}}},
			"messages", `[{"role": "user", "content": [{"type": "text", "text": "Hi."}]}, {"role": "assistant", "content": [
				{"type": "tool_use", "id": "a", "name": "x", "input": {"malformed": "{\"city\":"}},
				{"type": "tool_use", "id": "b", "name": "x", "input": {"malformed": "[\"Paris\"]"}},
				{"type": "tool_use", "id": "c", "name": "x", "input": {"malformed": "null"}}
			]}]`,
		},
		{
			"what another adapter keeps of its own is not ours",
			llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Text: "Hi.", Opaque: eval.JSON(`{"role":"assistant"}`)}}},
			"messages", `[{"role": "assistant", "content": [{"type": "text", "text": "Hi."}]}]`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := llmtest.Serve(t, 200, answer)
			ask(t, s, row.req)
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(s.LastBody(), &fields); err != nil {
				t.Fatal(err)
			}
			got, present := fields[row.field]
			if row.want == "" {
				if present {
					t.Errorf("%s = %s, want none", row.field, got)
				}
				return
			}
			same(t, row.field, got, row.want)
		})
	}
}

// TestThinkingComesBack sends an answer back: the signed blocks have to be as
// they were, in their order.
func TestThinkingComesBack(t *testing.T) {
	s := llmtest.Serve(t, 200, answer)
	res := ask(t, s, llmtest.Request())
	ask(t, s, llm.Request{Messages: []llm.Message{
		{Role: llm.User, Text: "Hi."},
		res.Message,
		{Role: llm.User, Results: []llm.Result{{ID: "c3", Text: "a"}, {ID: "c4", Text: "b"}}},
	}})
	var sent struct {
		Messages []struct{ Content json.RawMessage }
	}
	var got struct{ Content json.RawMessage }
	if err := json.Unmarshal(s.LastBody(), &sent); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	same(t, "content", sent.Messages[1].Content, string(got.Content))
}

func TestStop(t *testing.T) {
	const text, call = `{"type":"text","text":"x"}`, `{"type":"tool_use","id":"a","name":"b","input":{}}`
	for _, row := range []struct {
		reason, content string
		want            llm.Stop
	}{
		{"end_turn", text, llm.StopEnd},
		{"end_turn", "", llm.StopEnd},
		{"stop_sequence", text, llm.StopEnd},
		{"tool_use", call, llm.StopCalls},
		{"end_turn", call, llm.StopCalls},
		{"max_tokens", call, llm.StopOutput},
		{"model_context_window_exceeded", text, llm.StopOutput},
		{"refusal", "", llm.StopRefused},
		{"pause_turn", text, llm.StopOther},
		{"something_new", text, llm.StopOther},
	} {
		t.Run(row.reason, func(t *testing.T) {
			s := llmtest.Serve(t, 200, fmt.Sprintf(`{"type":"message","content":[%s],"stop_reason":%q}`, row.content, row.reason))
			got := ask(t, s, llmtest.Request())
			if got.Stop != row.want || got.Word != row.reason {
				t.Errorf("stop %s, word %s; want %s", got.Stop, got.Word, row.want)
			}
			if got.Message.Opaque != nil {
				t.Errorf("Opaque = %s, want none: the message says it all", got.Message.Opaque)
			}
			if got.Usage != (eval.Usage{}) {
				t.Errorf("usage %+v of a server that counts none", got.Usage)
			}
		})
	}
}

// TestLargeAnswersAreNotStreamed: above 21 333 tokens the SDK wants a stream
// unless a timeout is set.
func TestUsage(t *testing.T) {
	for _, row := range []struct {
		name, usage string
		want        eval.Usage
	}{
		{
			"a sum and lifetimes",
			`{"input_tokens": 21, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 100,
				"cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40},
				"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}}`,
			eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100, CacheWrite1H: 40, Output: 50, Reasoning: 30},
		},
		{
			"a sum alone",
			`{"input_tokens": 21, "cache_creation_input_tokens": 100, "cache_creation": null, "output_tokens": 50}`,
			eval.Usage{Input: 121, CacheWrite: 100, Output: 50},
		},
		{
			"lifetimes alone",
			`{"input_tokens": 21, "cache_creation": {"ephemeral_5m_input_tokens": 60, "ephemeral_1h_input_tokens": 40}, "output_tokens": 50}`,
			eval.Usage{Input: 121, CacheWrite: 100, CacheWrite1H: 40, Output: 50},
		},
		{
			"more or less than can be",
			`{"input_tokens": -5, "cache_creation": {"ephemeral_1h_input_tokens": 9223372036854775807}, "output_tokens": 50}`,
			eval.Usage{Input: 1 << 40, CacheWrite: 1 << 40, CacheWrite1H: 1 << 40, Output: 50},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			body := `{"id": "a", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
				"content": [{"type": "text", "text": "Yes."}], "usage": ` + row.usage + `}`
			got := ask(t, llmtest.Serve(t, 200, body), llmtest.Request())
			if diff := cmp.Diff(row.want, got.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLargeAnswersAreNotStreamed(t *testing.T) {
	s := llmtest.Serve(t, 200, answer)
	ask(t, s, llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}, Sampling: eval.Sampling{MaxOutputTokens: 128000}})
	if body := string(s.LastBody()); strings.Contains(body, `"stream"`) || !strings.Contains(body, `"max_tokens":128000`) {
		t.Errorf("request %s", body)
	}
}
