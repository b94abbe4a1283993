package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// messages is Anthropic's Messages API.
type messages struct{}

type messagesRequest struct {
	Model     string
	MaxTokens int `json:"max_tokens"`
	System    text
	Messages  []struct {
		Role    string
		Content messagesContent
	}
	Tools []struct {
		Name, Description string
		InputSchema       eval.JSON `json:"input_schema"`
	}
	ToolChoice  struct{ Type, Name string } `json:"tool_choice"`
	Temperature *float64
	TopP        *float64 `json:"top_p"`
	Stream      bool
	Thinking    struct {
		BudgetTokens int `json:"budget_tokens"`
	}
	OutputConfig struct{ Effort string } `json:"output_config"`
}

type messagesBlock struct {
	Type, Text, Thinking string
	ID, Name             string
	Input                eval.JSON
	ToolUseID            string `json:"tool_use_id"`
	Content              text
	IsError              bool `json:"is_error"`
}

// messagesContent is a string or a list of blocks.
type messagesContent []messagesBlock

func (c *messagesContent) UnmarshalJSON(raw []byte) error {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		*c = messagesContent{{Type: "text", Text: whole}}
		return nil
	}
	return json.Unmarshal(raw, (*[]messagesBlock)(c))
}

func (messages) decode(_ *http.Request, body []byte) (call, error) {
	var q messagesRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return call{}, fmt.Errorf("decode the request: %w", err)
	}
	if q.MaxTokens <= 0 {
		return call{}, errors.New("max_tokens: Field required")
	}
	c := call{model: q.Model, stream: q.Stream}
	c.System = string(q.System)
	c.Sampling = eval.Sampling{Temperature: q.Temperature, TopP: q.TopP, MaxOutputTokens: q.MaxTokens}
	if t := (eval.Thinking{Effort: q.OutputConfig.Effort, BudgetTokens: q.Thinking.BudgetTokens}); t != (eval.Thinking{}) {
		c.Sampling.Thinking = &t
	}
	for _, t := range q.Tools {
		c.Tools = append(c.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	var conv conversation
	for _, m := range q.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return call{}, fmt.Errorf("messages: the role %q is unknown", m.Role)
		}
		for _, b := range m.Content {
			b.add(llm.Role(m.Role), &conv)
		}
	}
	c.Messages = conv.messages
	return c, choose(&c.Request, q.ToolChoice.Type, q.ToolChoice.Name)
}

// add adds the block to the conversation.
func (b messagesBlock) add(role llm.Role, conv *conversation) {
	switch b.Type {
	case "text":
		conv.say(role, b.Text)
	case "thinking":
		conv.think(b.Thinking)
	case "redacted_thinking": // holds nothing that can be read
	case "tool_use":
		conv.call(llm.Call{ID: b.ID, Tool: b.Name, Arguments: string(b.Input)})
	case "tool_result":
		conv.result(llm.Result{ID: b.ToolUseID, Text: string(b.Content), Error: b.IsError})
	default:
		conv.say(role, "["+b.Type+"]")
	}
}

func (messages) answer(c call, res llm.Response) any {
	content := []object{}
	if res.Message.Reasoning != "" {
		content = append(content, object{"type": "thinking", "thinking": res.Message.Reasoning, "signature": messagesSignature})
	}
	if res.Message.Text != "" {
		content = append(content, object{"type": "text", "text": res.Message.Text})
	}
	for _, t := range res.Message.Calls {
		var input any = eval.JSON(t.Arguments)
		if !isObject(t.Arguments) {
			// The way that Anthropic's documentation gives for handing on input that
			// is no object.
			input = object{"INVALID_JSON": t.Arguments}
		}
		content = append(content, object{"type": "tool_use", "id": t.ID, "name": t.Tool, "input": input})
	}
	a := messagesEnvelope(c, content, messagesUsage(res.Usage))
	a["stop_reason"] = messagesStop(res)
	return a
}

// messagesSignature stands where Anthropic signs what the model thought.
const messagesSignature = "c3R1Yg=="

func (messages) events(c call, res llm.Response) []event {
	var out []event
	emit := func(kind string, o object) {
		o["type"] = kind
		out = append(out, newEvent(kind, o))
	}
	begun := messagesUsage(res.Usage)
	begun["output_tokens"], begun["output_tokens_details"] = 1, object{"thinking_tokens": 0}
	emit("message_start", object{"message": messagesEnvelope(c, []object{}, begun)})
	emit("ping", object{})
	index := 0
	block := func(start object, deltas ...object) {
		emit("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			emit("content_block_delta", object{"index": index, "delta": d})
		}
		emit("content_block_stop", object{"index": index})
		index++
	}
	if r := res.Message.Reasoning; r != "" {
		deltas := append(messagesDeltas("thinking_delta", "thinking", r), object{"type": "signature_delta", "signature": messagesSignature})
		block(object{"type": "thinking", "thinking": "", "signature": ""}, deltas...)
	}
	if t := res.Message.Text; t != "" {
		block(object{"type": "text", "text": ""}, messagesDeltas("text_delta", "text", t)...)
	}
	for _, t := range res.Message.Calls {
		block(object{"type": "tool_use", "id": t.ID, "name": t.Tool, "input": object{}}, messagesDeltas("input_json_delta", "partial_json", t.Arguments)...)
	}
	emit("message_delta", object{
		"delta": object{"stop_reason": messagesStop(res), "stop_sequence": nil},
		"usage": messagesUsage(res.Usage),
	})
	emit("message_stop", object{})
	return out
}

func messagesDeltas(kind, field, s string) []object {
	var out []object
	for _, p := range pieces(s) {
		out = append(out, object{"type": kind, field: p})
	}
	return out
}

func messagesEnvelope(c call, content []object, usage object) object {
	return object{
		"id": c.id("msg_"), "type": "message", "role": "assistant", "model": c.model, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": usage,
	}
}

func messagesStop(res llm.Response) string {
	switch res.Stop {
	case llm.StopCalls:
		return "tool_use"
	case llm.StopOutput:
		return "max_tokens"
	case llm.StopRefused:
		return "refusal"
	case llm.StopOther:
		return res.Word
	default:
		return "end_turn"
	}
}

// messagesUsage counts the input without what a cache had to do with.
func messagesUsage(u eval.Usage) object {
	return object{
		"input_tokens": max(0, u.Input-u.CacheRead-u.CacheWrite), "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  u.Output, "output_tokens_details": object{"thinking_tokens": u.Reasoning}, "service_tier": "standard",
	}
}

func (messages) failure(f failure) any {
	e := object{"message": f.message}
	switch f.kind {
	case llm.RateLimit:
		e["type"] = "rate_limit_error"
	case llm.Quota:
		e["type"], e["details"] = "rate_limit_error", object{"error_code": "enforced_spend_limit_reached"}
	case llm.Auth:
		e["type"] = "authentication_error"
	case llm.BadRequest, llm.ContextLength, llm.ContentFilter:
		e["type"] = "invalid_request_error"
		if f.status == http.StatusRequestEntityTooLarge {
			e["type"] = "request_too_large"
		}
	case llm.Overloaded:
		e["type"] = "overloaded_error"
	default:
		e["type"] = "api_error"
	}
	return object{"type": "error", "error": e}
}

func (w messages) broken(f failure) event { return newEvent("error", w.failure(f)) }

func (messages) limits(h http.Header, standings []standing, resets bool) {
	for _, s := range standings {
		name := "Anthropic-Ratelimit-" + s.what
		if s.limit > 0 {
			h.Set(name+"-Limit", strconv.Itoa(s.limit))
			h.Set(name+"-Remaining", strconv.Itoa(s.remaining))
		}
		if resets {
			h.Set(name+"-Reset", time.Now().Add(s.full+time.Second-1).UTC().Truncate(time.Second).Format(time.RFC3339))
		}
	}
}
