package openai_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/llmtest"
	"github.com/evalfarm/evalfarm/pkg/llm/openai"
)

// answer is llmtest.Answer as the API writes it, with what else it has.
const answer = `{
  "id": "answer-1", "object": "chat.completion", "created": 1790000000, "model": "model-7-2026",
  "choices": [{
    "index": 0, "finish_reason": "tool_calls", "logprobs": null,
    "message": {
      "role": "assistant", "content": "Both \u003cagain>.", "refusal": null, "annotations": [],
      "reasoning_content": "Two towns, two calls.",
      "tool_calls": [
        {"id": "c3", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Paris\", \"n\": 12345678901234567890}"}},
        {"id": "c4", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Rome\"}"}}
      ]
    }
  }],
  "usage": {
    "prompt_tokens": 421, "completion_tokens": 50, "total_tokens": 471, "cost": 0.01,
    "prompt_tokens_details": {"cached_tokens": 300, "cache_write_tokens": 100, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 30}
  },
  "new_field": [1]
}
`

func open(e llm.Endpoint) (llm.Model, error) { return openai.New(e) }

func TestConformance(t *testing.T) {
	llmtest.Conformance(t, llmtest.Wire{
		Open:      open,
		Answer:    answer,
		Path:      "/x/v1/chat/completions",
		Bases:     []string{"/x/v1", "/x/v1/"},
		Addresses: []string{"OPENAI_BASE_URL"},
		Variables: []string{
			"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID",
			"OPENAI_WEBHOOK_SECRET", "OPENAI_CUSTOM_HEADERS",
		},
	})
}

func TestNew(t *testing.T) {
	for _, row := range []struct {
		name    string
		options openai.Options
		want    string // empty for no error
	}{
		{"the provider's own", openai.Options{Model: "m"}, ""},
		{"no model", openai.Options{}, "openai: no name"},
		{"a base URL that is none", openai.Options{Model: "m", BaseURL: "api.example/v1"}, "openai: base_url"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := openai.New(row.options)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want %q", err, row.want)
			}
		})
	}
}
