package anthropic_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/llm/anthropic"
	"github.com/evalfarm/evalfarm/pkg/llm/llmtest"
)

// answer is llmtest.Answer as the API writes it, with what else it has.
const answer = `{
  "id": "answer-1", "type": "message", "role": "assistant", "model": "model-7-2026",
  "content": [
    {"type": "thinking", "thinking": "Two towns, two calls.", "signature": "c2lnbmVkIDx0aGlzPg=="},
    {"type": "redacted_thinking", "data": "b3BhcXVl"},
    {"type": "text", "text": "Both \u003cagain>.", "citations": null},
    {"type": "tool_use", "id": "c3", "name": "get_weather", "input": {"city": "Paris", "n": 12345678901234567890}},
    {"type": "tool_use", "id": "c4", "name": "get_weather", "input": {"city": "Rome"}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null, "container": null, "new_field": [1],
  "usage": {
    "input_tokens": 21, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 100,
    "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 50, "output_tokens_details": {"thinking_tokens": 30}, "service_tier": "standard"
  }
}
`

func open(e llm.Endpoint) (llm.Model, error) { return anthropic.New(e) }

func TestConformance(t *testing.T) {
	llmtest.Conformance(t, llmtest.Wire{
		Open:      open,
		Answer:    answer,
		Path:      "/x/v1/messages",
		Bases:     []string{"/x", "/x/", "/x/v1", "/x/v1/", "/x//"},
		Addresses: []string{"ANTHROPIC_BASE_URL"},
		Variables: []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_PROFILE",
			"ANTHROPIC_ORGANIZATION_ID", "ANTHROPIC_WORKSPACE_ID", "ANTHROPIC_CONFIG_DIR",
		},
	})
}

func TestNew(t *testing.T) {
	for _, row := range []struct {
		name    string
		options anthropic.Options
		want    string // empty for no error
	}{
		{"the provider's own", anthropic.Options{Model: "m"}, ""},
		{"no model", anthropic.Options{}, "anthropic: no name"},
		{"a base URL that is none", anthropic.Options{Model: "m", BaseURL: "api.example/v1"}, "anthropic: base_url"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := anthropic.New(row.options)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("err = %v, want %q", err, row.want)
			}
		})
	}
}
