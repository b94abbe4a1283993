package stub

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

var update = flag.Bool("update", false, "rewrite golden files")

// A modelFunc is a model for tests.
type modelFunc func(context.Context, llm.Request) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return f(ctx, req)
}

// always answers the same, whatever is asked.
func always(res llm.Response) llm.Model {
	return modelFunc(func(context.Context, llm.Request) (llm.Response, error) { return res, nil })
}

// wirePath is where each wire is asked, by the names of the files in testdata.
func wirePath(name string, stream bool) string {
	switch name {
	case "chat":
		return "/v1/chat/completions"
	case "responses":
		return "/v1/responses"
	case "messages":
		return "/v1/messages"
	default:
		if stream {
			return "/v1beta/models/m-1:streamGenerateContent?alt=sse"
		}
		return "/v1beta/models/m-1:generateContent"
	}
}

var wireNames = []string{"chat", "responses", "messages", "gemini"}

// hello is the shortest sound request of a wire.
func hello(name string, stream bool) string {
	switch name {
	case "chat":
		return fmt.Sprintf(`{"model":"m-1","messages":[{"role":"user","content":"Hi"}],"stream":%t,"stream_options":{"include_usage":true}}`, stream)
	case "responses":
		return fmt.Sprintf(`{"model":"m-1","input":"Hi","stream":%t}`, stream)
	case "messages":
		return fmt.Sprintf(`{"model":"m-1","max_tokens":100,"messages":[{"role":"user","content":"Hi"}],"stream":%t}`, stream)
	default:
		return `{"contents":[{"parts":[{"text":"Hi"}]}]}`
	}
}

// A reaction is what a client sees of an answer.
type reaction struct {
	StatusCode int
	Header     http.Header
	body       string
}

// post asks a server, in a bubble of synctest or out of it: no network is used.
func post(tb testing.TB, s *Server, path, body string, headers ...string) reaction {
	tb.Helper()
	r := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return reaction{w.Code, w.Header(), w.Body.String()}
}

// The same conversation in each of the wire formats is the same to the model.
func TestDecode(t *testing.T) {
	want := llm.Request{
		System: "You are a support agent.\nBe terse.",
		Messages: []llm.Message{
			{Role: llm.User, Text: "Where is ORD-1?\n[image]"},
			{Role: llm.Assistant, Text: "I look.", Calls: []llm.Call{
				{ID: "c1", Tool: "get_order", Arguments: `{"order_id":"ORD-1"}`},
				{ID: "c2", Tool: "get_user", Arguments: `{"user_id":7}`},
			}},
			{Role: llm.User, Text: "And?", Results: []llm.Result{
				{ID: "c1", Tool: "get_order", Text: `{"status":"SHIPPED"}`},
				{ID: "c2", Tool: "get_user", Text: "not found", Error: true},
			}},
		},
		Tools: []llm.Tool{
			{Name: "get_order", Description: "Look up an order", Schema: eval.JSON(`{"type":"object"}`)},
			{Name: "get_user", Schema: eval.JSON(`{"type":"object","required":["user_id"]}`)},
		},
		MustCall: "get_user",
		Sampling: eval.Sampling{Temperature: new(0.5), TopP: new(0.9), MaxOutputTokens: 300, Thinking: &eval.Thinking{Effort: "low"}},
		Trial:    llm.Trial{Case: "refund/over limit", Repeat: 3, Seed: 18446744073709551615, Role: "judge/2"},
	}
	images := map[string]string{"chat": "[image_url]", "responses": "[input_image]", "messages": "[image]", "gemini": "[data]"}
	for _, name := range wireNames {
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(filepath.Join("testdata/requests", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var got llm.Request
			s := New(Options{Model: modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
				got = req
				return llm.Response{Model: "x"}, nil
			})})
			h := want.Trial.Header()
			res := post(t, s, wirePath(name, false), string(body),
				"X-Evalfarm-Case", h.Get("X-Evalfarm-Case"), "X-Evalfarm-Repeat", h.Get("X-Evalfarm-Repeat"),
				"X-Evalfarm-Seed", h.Get("X-Evalfarm-Seed"), "X-Evalfarm-Role", h.Get("X-Evalfarm-Role"))
			if res.StatusCode != http.StatusOK {
				t.Fatalf("status %d: %s", res.StatusCode, res.body)
			}
			got.Messages[0].Text = strings.Replace(got.Messages[0].Text, images[name], "[image]", 1)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// answers are what models say, for the golden files of each wire.
func answers() map[string]llm.Response {
	usage := eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100, Output: 50, Reasoning: 30}
	calls := []llm.Call{{ID: "call_1", Tool: "get_order", Arguments: `{"order_id":"ORD-1","note":"a<b & ß"}`}, {ID: "call_2", Tool: "get_user", Arguments: `{}`}}
	return map[string]llm.Response{
		"text":      {Message: llm.Message{Text: "ORD-1 is on its way to Zürich."}, Stop: llm.StopEnd, Usage: usage},
		"calls":     {Message: llm.Message{Text: "I look.", Calls: calls}, Stop: llm.StopCalls, Usage: usage},
		"reasoning": {Message: llm.Message{Text: "42", Reasoning: "Six times seven."}, Stop: llm.StopEnd, Usage: usage},
		"malformed": {Message: llm.Message{Calls: []llm.Call{{ID: "call_1", Tool: "get_order", Arguments: `{"order_id":`}}}, Stop: llm.StopCalls},
		"limit":     {Message: llm.Message{Text: "ORD-1 is"}, Stop: llm.StopOutput},
		"refused":   {Message: llm.Message{Text: "No."}, Stop: llm.StopRefused},
		"nothing":   {Stop: llm.StopEnd},
		"other":     {Message: llm.Message{Text: "…"}, Stop: llm.StopOther, Word: "pause"},
	}
}

// The answers of each wire, whole and streamed, are as written down.
func TestAnswers(t *testing.T) {
	for _, wire := range wireNames {
		for name, res := range answers() {
			for suffix, stream := range map[string]bool{".json": false, ".sse": true} {
				t.Run(wire+"/"+name+suffix, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { // whose clock stands still
						got := post(t, New(Options{Model: always(res)}), wirePath(wire, stream), hello(wire, stream))
						if got.StatusCode != http.StatusOK {
							t.Fatalf("status %d", got.StatusCode)
						}
						text := got.body
						if !stream {
							text = indented(t, text)
						}
						golden(t, filepath.Join("testdata/answers", wire, name+suffix), text)
					})
				})
			}
		}
	}
}

func indented(tb testing.TB, doc string) string {
	tb.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(doc), "", "  "); err != nil {
		tb.Fatalf("%v: %s", err, doc)
	}
	return b.String() + "\n"
}

func golden(tb testing.TB, path, got string) {
	tb.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			tb.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// What a provider would refuse, the stub refuses.
func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct{ path, body, want string }{
		"no JSON":                 {"/v1/chat/completions", `{`, "decode the request"},
		"no messages":             {"/v1/chat/completions", `{"messages":[]}`, "there are no messages"},
		"unknown role":            {"/v1/chat/completions", `{"messages":[{"role":"boss","content":"x"}]}`, `the role "boss"`},
		"content is a number":     {"/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, "want a string or a list"},
		"several choices":         {"/v1/chat/completions", `{"n":2,"messages":[{"role":"user","content":"x"}]}`, "one choice"},
		"a call without result":   {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1"}]},{"role":"user","content":"x"}]}`, `no result for the call with the id "c1"`},
		"a call at the end":       {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1"}]}]}`, `no result for the call with the id "c1"`},
		"a result without call":   {"/v1/chat/completions", `{"messages":[{"role":"tool","tool_call_id":"c9","content":"x"}]}`, `the id "c9"`},
		"a result of before":      {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1"}]},{"role":"tool","tool_call_id":"c1"},{"role":"assistant","content":"x"},{"role":"tool","tool_call_id":"c1"}]}`, `the id "c1"`},
		"two results":             {"/v1/chat/completions", `{"messages":[{"role":"assistant","tool_calls":[{"id":"c1"}]},{"role":"tool","tool_call_id":"c1"},{"role":"tool","tool_call_id":"c1"}]}`, `two results`},
		"unknown tool chosen":     {"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"function","function":{"name":"t"}}}`, `names the tool "t"`},
		"a call of no tools":      {"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tool_choice":"required"}`, `there are no tools`},
		"unknown choice":          {"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tool_choice":"perhaps"}`, `"perhaps" is unknown`},
		"responses: no JSON":      {"/v1/responses", `[]`, "decode the request"},
		"responses: input":        {"/v1/responses", `{"input":5}`, "want a string or a list"},
		"responses: state":        {"/v1/responses", `{"input":"x","previous_response_id":"resp_1"}`, "keeps nothing"},
		"responses: item":         {"/v1/responses", `{"input":[{"type":"computer_call"}]}`, `"computer_call"`},
		"responses: role":         {"/v1/responses", `{"input":[{"role":"tool"}]}`, `the role "tool"`},
		"anthropic: no JSON":      {"/v1/messages", `"x"`, "decode the request"},
		"anthropic: no limit":     {"/v1/messages", `{"messages":[{"role":"user","content":"x"}]}`, "max_tokens"},
		"anthropic: role":         {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"system","content":"x"}]}`, `the role "system"`},
		"anthropic: content":      {"/v1/messages", `{"max_tokens":1,"messages":[{"role":"user","content":{}}]}`, "decode the request"},
		"gemini: no JSON":         {"/v1beta/models/m:generateContent", ``, "decode the request"},
		"gemini: role":            {"/v1beta/models/m:generateContent", `{"contents":[{"role":"assistant"}]}`, `the role "assistant"`},
		"gemini: method":          {"/v1beta/models/m:countTokens", `{}`, `"countTokens"`},
		"gemini: stream":          {"/v1beta/models/m:streamGenerateContent", `{}`, "alt=sse"},
		"gemini: uncalled result": {"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"functionResponse":{"name":"f"}}]}]}`, `"f", which was not called`},
	} {
		t.Run(name, func(t *testing.T) {
			res := post(t, New(Options{Model: Say{Text: "never"}}), tt.path, tt.body)
			body := res.body
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(strings.ReplaceAll(body, `\"`, `"`), tt.want) {
				t.Errorf("got %d %s, want 400 with %q", res.StatusCode, body, tt.want)
			}
			if e := llm.Classify(res.StatusCode, res.Header, []byte(body), epoch); e.Kind != llm.BadRequest {
				t.Errorf("kind: got %s, want %s", e.Kind, llm.BadRequest)
			}
		})
	}
}

// Gemini's calls may have no ids: then responses go by the names of functions.
func TestGeminiWithoutIDs(t *testing.T) {
	var got llm.Request
	s := New(Options{Model: modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
		got = req
		return llm.Response{}, nil
	})})
	post(t, s, "/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"x"}]},
		{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1}}},{"functionCall":{"name":"g"}},{"functionCall":{"name":"f","args":{"a":2}}},{"text":"hm","thought":true}]},
		{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"result":"G"}}},{"functionResponse":{"name":"f","response":{"output":"F1"}}},{"functionResponse":{"name":"f","response":{"output":"F2"}}}]}]}`)
	want := []llm.Message{
		{Role: llm.User, Text: "x"},
		{Role: llm.Assistant, Reasoning: "hm", Calls: []llm.Call{{ID: "call_1_0", Tool: "f", Arguments: `{"a":1}`}, {ID: "call_1_1", Tool: "g"}, {ID: "call_1_2", Tool: "f", Arguments: `{"a":2}`}}},
		{Role: llm.User, Results: []llm.Result{{ID: "call_1_0", Tool: "f", Text: "F1"}, {ID: "call_1_1", Tool: "g", Text: "G"}, {ID: "call_1_2", Tool: "f", Text: "F2"}}},
	}
	if diff := cmp.Diff(want, got.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestToolChoice(t *testing.T) {
	for name, tt := range map[string]struct {
		choice string
		want   string
		tools  int
	}{
		"left to the model": {`"auto"`, "", 2},
		"not given":         {`null`, "", 2},
		"none":              {`"none"`, "", 0},
		"any of them":       {`"required"`, "a", 2},
		"one of them":       {`{"type":"function","function":{"name":"b"}}`, "b", 2},
	} {
		t.Run(name, func(t *testing.T) {
			var got llm.Request
			s := New(Options{Model: modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
				got = req
				return llm.Response{}, nil
			})})
			post(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"b"}}],"tool_choice":`+tt.choice+`}`)
			if got.MustCall != tt.want || len(got.Tools) != tt.tools {
				t.Errorf("got %q of %d tools, want %q of %d", got.MustCall, len(got.Tools), tt.want, tt.tools)
			}
		})
	}
}

// FuzzCall sends what a stranger may send: whatever it is, the answer is JSON,
// or a stream of it, and no handler dies.
func FuzzCall(f *testing.F) {
	for i, name := range wireNames {
		body, err := os.ReadFile(filepath.Join("testdata/requests", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), body)
		f.Add(uint8(i), []byte(hello(name, true)))
	}
	s := New(Options{Model: Say{Text: "Hello there."}, Limits: Limits{Tokens: 1 << 40}})
	f.Fuzz(func(t *testing.T, i uint8, body []byte) {
		name := wireNames[int(i)%len(wireNames)]
		res := post(t, s, wirePath(name, i&4 != 0), string(body))
		text := res.body
		if res.Header.Get("Content-Type") == "application/json" {
			if !json.Valid([]byte(text)) {
				t.Fatalf("no JSON: %s", text)
			}
			return
		}
		for line := range strings.Lines(text) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" && !json.Valid([]byte(data)) {
				t.Fatalf("no JSON: %s", line)
			}
		}
	})
}
