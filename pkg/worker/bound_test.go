package worker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/anthropic"
	"github.com/evalfarm/evalfarm/pkg/llm/openai"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// texts counts the bytes of all texts in a request as a provider reads it: each
// string, and the JSON of schemas and arguments as a whole.
func texts(t *rapid.T, raw json.RawMessage, key string) int {
	switch v, err := eval.Decode(raw); {
	case err != nil:
		t.Fatalf("%s: %v", raw, err)
		return 0
	case key == "input" || key == "input_schema" || key == "parameters":
		return len(eval.Encode(v))
	default:
		switch v := v.(type) {
		case string:
			return len(v)
		case []any:
			n := 0
			for _, item := range v {
				n += texts(t, eval.Encode(item), "")
			}
			return n
		case map[string]any:
			n := 0
			for k, item := range v {
				n += texts(t, eval.Encode(item), k)
			}
			return n
		default:
			return 0
		}
	}
}

// anyText is a text in any script, with what JSON escapes and what is no UTF-8.
func anyText(t *rapid.T, name string) string {
	parts := rapid.SliceOfN(rapid.OneOf(
		rapid.StringN(0, 20, -1),
		rapid.SampledFrom([]string{"\x00\x1f\x7f", `"\`, "<&>", "\u2028", "漢字", "👩‍👩‍👧", "\xff\xfe", "é", "plain words "}),
	), 0, 5).Draw(t, name)
	out := ""
	for _, p := range parts {
		out += p
	}
	return out
}

func anyJSON(t *rapid.T, name string) eval.JSON {
	object := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, name) {
		object[anyText(t, "key")] = anyText(t, "value")
	}
	return eval.Encode(object)
}

// anyRequest is a conversation with tools, calls, results and reasoning in a
// provider's own form.
func anyRequest(t *rapid.T, opaque func(t *rapid.T) eval.JSON) llm.Request {
	req := llm.Request{System: anyText(t, "system")}
	for i := range rapid.IntRange(0, 4).Draw(t, "tools") {
		tool := llm.Tool{Name: fmt.Sprint("tool", i), Description: anyText(t, "description")}
		if rapid.Bool().Draw(t, "schema") {
			tool.Schema = anyJSON(t, "properties")
		}
		req.Tools = append(req.Tools, tool)
	}
	if len(req.Tools) > 0 && rapid.Bool().Draw(t, "must call") {
		req.MustCall = req.Tools[0].Name
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.User, Text: "x" + anyText(t, "prompt")})
	for range rapid.IntRange(0, 3).Draw(t, "turns") {
		said := llm.Message{Role: llm.Assistant, Text: anyText(t, "text"), Reasoning: anyText(t, "reasoning")}
		heard := llm.Message{Role: llm.User, Text: anyText(t, "more")}
		for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
			call := llm.Call{ID: fmt.Sprint("call-", i), Tool: anyText(t, "tool"), Arguments: string(anyJSON(t, "arguments"))}
			if rapid.Bool().Draw(t, "malformed") {
				call.Arguments = anyText(t, "malformed")
			}
			said.Calls = append(said.Calls, call)
			heard.Results = append(heard.Results, llm.Result{ID: call.ID, Tool: call.Tool, Text: anyText(t, "result"), Error: rapid.Bool().Draw(t, "error")})
		}
		if rapid.Bool().Draw(t, "opaque") {
			said.Opaque = opaque(t)
		}
		req.Messages = append(req.Messages, said, heard)
	}
	return req
}

// What a call may take is reckoned from the request before it is written. It is no
// less than all the text that really goes out, at a token for each byte, whatever
// the adapter of a provider makes of the request.
func TestBoundCoversWhatIsSent(t *testing.T) {
	tests := []struct {
		name   string
		answer string // without usage, so that the call counts at its most
		make   func(url string) (llm.Model, error)
		opaque func(t *rapid.T) eval.JSON
	}{
		{
			"anthropic", `{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi."}],"stop_reason":"end_turn","usage":{}}`,
			func(url string) (llm.Model, error) {
				return anthropic.New(anthropic.Options{Model: "m", APIKey: "k", BaseURL: url})
			},
			func(t *rapid.T) eval.JSON {
				return eval.Encode([]any{
					map[string]any{"type": "thinking", "thinking": anyText(t, "thinking"), "signature": anyText(t, "signature")},
					map[string]any{"type": "text", "text": "x" + anyText(t, "own text")},
				})
			},
		},
		{
			"openai", `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}`,
			func(url string) (llm.Model, error) {
				return openai.New(openai.Options{Model: "m", APIKey: "k", BaseURL: url})
			},
			func(t *rapid.T) eval.JSON {
				return eval.Encode(map[string]any{"role": "assistant", "content": anyText(t, "own text"), "reasoning_content": anyText(t, "thinking")})
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body []byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ = io.ReadAll(r.Body)
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.Copy(w, bytes.NewBufferString(tt.answer))
			}))
			defer server.Close()
			model, err := tt.make(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				req := anyRequest(t, tt.opaque)
				purse := meter.NewPurse(eval.Amount{})
				if _, err := meter.New(model, meter.Options{Purse: purse, Once: true}).Generate(t.Context(), req); err != nil {
					t.Fatal(err)
				}
				sent := texts(t, body, "")
				if bound := int(purse.Spent().Tokens) - req.MaxOutput(); bound < sent {
					t.Fatalf("reckoned with %d tokens in, and %d bytes of text went out:\n%s", bound, sent, body)
				}
			})
		})
	}
}
