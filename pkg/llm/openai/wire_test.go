package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
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
	model, err := open(llm.Endpoint{Model: "m", BaseURL: s.URL + "/v1", HTTPClient: s.Client()})
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
		"model": "m",
		"max_tokens": 30000,
		"temperature": 0, "top_p": 0.5, "seed": 7, "reasoning_effort": "high",
		"messages": [
			{"role": "system", "content": "You look up the weather."},
			{"role": "user", "content": "Paris and <Rome>?"},
			{"role": "assistant", "content": "I look.", "tool_calls": [
				{"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Paris\",\"n\":12345678901234567890}"}},
				{"id": "c2", "type": "function", "function": {"name": "get_weather", "arguments": ""}}
			]},
			{"role": "tool", "tool_call_id": "c1", "content": "sunny"},
			{"role": "tool", "tool_call_id": "c2", "content": "Error: no city"},
			{"role": "user", "content": "Go on."}
		],
		"tools": [
			{"type": "function", "function": {"name": "get_weather", "description": "Looks it up.", "parameters": `+llmtest.Schema+`}},
			{"type": "function", "function": {"name": "no_arguments"}}
		],
		"tool_choice": {"type": "function", "function": {"name": "get_weather"}}
	}`)
}

// A recorder answers without a network, whatever the address.
type recorder struct{ body []byte }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var err error
	if r.body, err = io.ReadAll(req.Body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(answer)), Request: req}, nil
}

// TestBound: OpenAI's own models want one name for the bound of an answer, other
// servers know the other.
func TestBound(t *testing.T) {
	for base, want := range map[string]string{
		"":                                      "max_completion_tokens",
		"https://api.openai.com/v1":             "max_completion_tokens",
		"https://eu.api.openai.com/v1/":         "max_completion_tokens",
		"https://me.openai.azure.com/openai/v1": "max_completion_tokens",
		"https://api.openai.com.example/v1":     "max_tokens",
		"https://notapi.openai.com/v1":          "max_tokens",
		"http://127.0.0.1:8000/v1":              "max_tokens",
	} {
		t.Run(base, func(t *testing.T) {
			r := &recorder{}
			model, err := open(llm.Endpoint{Model: "m", BaseURL: base, HTTPClient: &http.Client{Transport: r}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := model.Generate(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hi."}}}); err != nil {
				t.Fatal(err)
			}
			same(t, "request", r.body, `{"model": "m", "messages": [{"role": "user", "content": "Hi."}], "`+want+`": 4096}`)
		})
	}
}

func TestMessages(t *testing.T) {
	for _, row := range []struct {
		name    string
		message llm.Message
		want    string
	}{
		{"a user who says nothing", llm.Message{Role: llm.User}, `[{"role": "user", "content": ""}]`},
		{"a model that says nothing", llm.Message{Role: llm.Assistant}, `[{"role": "assistant", "content": ""}]`},
		{
			"arguments that are no JSON",
			llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "a", Tool: "x", Arguments: `{"city":`}}},
			`[{"role": "assistant", "tool_calls": [{"id": "a", "type": "function", "function": {"name": "x", "arguments": "{\"city\":"}}]}]`,
		},
		{
			"results alone",
			llm.Message{Role: llm.User, Results: []llm.Result{{ID: "a"}, {ID: "b", Error: true}}},
			`[{"role": "tool", "tool_call_id": "a", "content": ""}, {"role": "tool", "tool_call_id": "b", "content": "Error: "}]`,
		},
		{
			"what another adapter keeps of its own is not ours",
			llm.Message{Role: llm.Assistant, Text: "Hi.", Opaque: eval.JSON(`[{"type":"text"}]`)},
			`[{"role": "assistant", "content": "Hi."}]`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := llmtest.Serve(t, 200, answer)
			ask(t, s, llm.Request{Messages: []llm.Message{row.message}})
			var sent struct{ Messages json.RawMessage }
			if err := json.Unmarshal(s.LastBody(), &sent); err != nil {
				t.Fatal(err)
			}
			same(t, "messages", sent.Messages, row.want)
		})
	}
}

// choice is an answer with a message and a reason to stop.
func choice(message, reason string) string {
	return `{"choices":[{"message":` + message + `,"finish_reason":"` + reason + `"}]}`
}

func TestStop(t *testing.T) {
	const text = `{"role":"assistant","content":"x"}`
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"b","arguments":"{}"}}]}`
	for _, row := range []struct {
		reason, message string
		want            llm.Stop
	}{
		{"stop", text, llm.StopEnd},
		{"stop", call, llm.StopCalls},
		{"tool_calls", call, llm.StopCalls},
		{"length", call, llm.StopOutput},
		{"content_filter", text, llm.StopRefused},
		{"stop", `{"role":"assistant","content":null,"refusal":"No."}`, llm.StopRefused},
		{"tool_calls", text, llm.StopOther},
		{"something_new", text, llm.StopOther},
		{"", text, llm.StopOther},
	} {
		t.Run(row.reason, func(t *testing.T) {
			got := ask(t, llmtest.Serve(t, 200, choice(row.message, row.reason)), llmtest.Request())
			if got.Stop != row.want || got.Word != row.reason {
				t.Errorf("stop %s, word %s; want %s", got.Stop, got.Word, row.want)
			}
			if got.Usage != (eval.Usage{}) {
				t.Errorf("usage %+v of a server that counts none", got.Usage)
			}
		})
	}
}

// TestDialects has the messages of servers that speak the API in their own way.
func TestDialects(t *testing.T) {
	call := llm.Call{ID: "a", Tool: "b", Arguments: "{}"}
	function := `"id":"a","type":"function","function":{"name":"b","arguments":"{}"}`
	for _, row := range []struct {
		name, message string
		want          llm.Message
		back          bool // the message goes back as it came
	}{
		{"refusal", `{"content":null,"refusal":"No."}`, llm.Message{Text: "No."}, false},
		{"no content at all", `{"tool_calls":[{` + function + `}]}`, llm.Message{Calls: []llm.Call{call}}, false},
		{"reasoning of OpenRouter", `{"content":"x","reasoning":"y"}`, llm.Message{Text: "x", Reasoning: "y"}, false},
		{"reasoning that is null", `{"content":"x","reasoning":null,"reasoning_content":""}`, llm.Message{Text: "x"}, false},
		{"reasoning of DeepSeek, without calls", `{"content":"x","reasoning_content":"y"}`, llm.Message{Text: "x", Reasoning: "y"}, false},
		{
			"reasoning of DeepSeek, with calls", `{"content":"","reasoning_content":"y","tool_calls":[{` + function + `}]}`,
			llm.Message{Reasoning: "y", Calls: []llm.Call{call}},
			true,
		},
		{"details of OpenRouter", `{"content":"x","reasoning_details":[{"signature":"s"}]}`, llm.Message{Text: "x"}, true},
		{"signature of Gemini", `{"content":"x","extra_content":{"google":{"thought_signature":"s"}}}`, llm.Message{Text: "x"}, true},
		{
			"signature of Gemini, in a call", `{"tool_calls":[{` + function + `,"extra_content":{"google":{"thought_signature":"s"}}}]}`,
			llm.Message{Calls: []llm.Call{call}},
			true,
		},
		{
			"parts of Mistral", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"y"}]},{"type":"text","text":"x"},{"type":"text","text":"z"}]}`,
			llm.Message{Text: "xz"},
			false,
		},
		{
			"calls without an id", `{"tool_calls":[{"function":{"name":"b","arguments":"{}"}},{"function":{"name":"b","arguments":"{"}}]}`,
			llm.Message{Calls: []llm.Call{{ID: "call_3_0", Tool: "b", Arguments: "{}"}, {ID: "call_3_1", Tool: "b", Arguments: "{"}}},
			false,
		},
		{
			"arguments that are no text", `{"tool_calls":[{"id":"a","function":{"name":"b","arguments":{"n":12345678901234567890}}}]}`,
			llm.Message{Calls: []llm.Call{{ID: "a", Tool: "b", Arguments: `{"n":12345678901234567890}`}}},
			false,
		},
		{"no arguments", `{"tool_calls":[{"id":"a","function":{"name":"b"}}]}`, llm.Message{Calls: []llm.Call{{ID: "a", Tool: "b"}}}, false},
		{"a call without a name", `{"tool_calls":[{"id":"a","function":{}}]}`, llm.Message{Calls: []llm.Call{{ID: "a"}}}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := llmtest.Serve(t, 200, choice(row.message, "stop"))
			got := ask(t, s, llmtest.Request()).Message
			row.want.Role = llm.Assistant
			if row.back {
				row.want.Opaque = eval.JSON(row.message)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if !row.back {
				return
			}
			ask(t, s, llm.Request{Messages: []llm.Message{got}})
			var sent struct{ Messages []json.RawMessage }
			if err := json.Unmarshal(s.LastBody(), &sent); err != nil {
				t.Fatal(err)
			}
			same(t, "message", sent.Messages[0], row.message)
		})
	}
}

// TestFailedHalfWay: a gateway that has promised success says in the choice that
// the provider behind it failed.
func TestFailedHalfWay(t *testing.T) {
	s := llmtest.Serve(t, 200, `{"choices":[{"message":{"content":"I"},"finish_reason":"error","error":{"code":502,"message":"gone"}}]}`)
	model, err := open(llm.Endpoint{Model: "m", BaseURL: s.URL, HTTPClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Generate(t.Context(), llmtest.Request())
	if err == nil || !strings.Contains(err.Error(), "network") || !strings.Contains(err.Error(), "gone") {
		t.Errorf("err = %v, want one of the network that says what the gateway said", err)
	}
}
