package stub

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// openai is what OpenAI's two APIs share: errors and limits.
type openai struct{}

// openaiFunction is a tool definition.
type openaiFunction struct {
	Name, Description string
	Parameters        eval.JSON
}

func (f openaiFunction) tool() llm.Tool {
	return llm.Tool{Name: f.Name, Description: f.Description, Schema: f.Parameters}
}

// openaiChoice is a tool_choice: a word, or an object that names a function, in
// either of the two APIs' ways.
type openaiChoice struct{ mode, name string }

func (c *openaiChoice) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &c.mode) == nil { // null too
		return nil
	}
	var o struct {
		Type, Name string
		Function   struct{ Name string }
	}
	if err := json.Unmarshal(raw, &o); err != nil {
		return fmt.Errorf("tool_choice: %w", err)
	}
	c.mode, c.name = o.Type, o.Name+o.Function.Name
	return nil
}

// openaiResult reads what a tool answered. The API has no flag for errors, so by
// convention, that of pkg/llm/openai too, their text begins with "Error: ".
func openaiResult(id string, t text) llm.Result {
	plain, failed := strings.CutPrefix(string(t), "Error: ")
	return llm.Result{ID: id, Text: plain, Error: failed}
}

// error is the error object, whose type and code say what helps.
func (openai) error(f failure) object {
	var typ string
	var code any
	switch f.kind {
	case llm.RateLimit:
		typ, code = "requests", "rate_limit_exceeded"
		if strings.Contains(f.scarce, "tokens") {
			typ = "tokens"
		}
	case llm.Quota:
		typ, code = "insufficient_quota", "insufficient_quota"
	case llm.Auth:
		typ, code = "invalid_request_error", "invalid_api_key"
	case llm.ContextLength:
		typ, code = "invalid_request_error", "context_length_exceeded"
	case llm.ContentFilter:
		typ, code = "invalid_request_error", "content_filter"
	case llm.BadRequest:
		typ = "invalid_request_error"
	case llm.Overloaded:
		typ, code = "server_error", "server_overloaded"
	default:
		typ = "server_error"
	}
	e := object{"message": f.message, "type": typ, "param": nil, "code": code}
	if f.delay > 0 {
		e["details"] = []object{retryInfo(f.delay)} // as Gemini's compatible endpoint has it
	}
	return e
}

func (o openai) failure(f failure) any { return object{"error": o.error(f)} }

// limits sets the x-ratelimit headers. There is one set of them for tokens, so
// they tell of the scarcest.
func (openai) limits(h http.Header, standings []standing, resets bool) {
	shown := map[string]standing{}
	for _, s := range standings {
		what := "tokens"
		if s.what == "requests" {
			what = s.what
		}
		if have, ok := shown[what]; !ok || s.full > have.full {
			shown[what] = s
		}
	}
	for what, s := range shown {
		if s.limit > 0 {
			h.Set("X-Ratelimit-Limit-"+what, strconv.Itoa(s.limit))
			h.Set("X-Ratelimit-Remaining-"+what, strconv.Itoa(s.remaining))
		}
		if resets {
			h.Set("X-Ratelimit-Reset-"+what, s.full.String())
		}
	}
}
