package stub

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// chat is OpenAI's Chat Completions API, which many others speak as well.
type chat struct{ openai }

type chatRequest struct {
	Model    string
	Messages []chatMessage
	Tools    []struct {
		Type     string
		Function openaiFunction
	}
	ToolChoice          openaiChoice `json:"tool_choice"`
	Temperature         *float64
	TopP                *float64 `json:"top_p"`
	Seed                *int64
	MaxTokens           int    `json:"max_tokens"`
	MaxCompletionTokens int    `json:"max_completion_tokens"`
	ReasoningEffort     string `json:"reasoning_effort"`
	N                   int
	Stream              bool
	StreamOptions       struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role             string
	Content          text
	ReasoningContent string `json:"reasoning_content"`
	ToolCallID       string `json:"tool_call_id"`
	ToolCalls        []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

func (chat) decode(_ *http.Request, body []byte) (call, error) {
	var q chatRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return call{}, fmt.Errorf("decode the request: %w", err)
	}
	if q.N > 1 {
		return call{}, errors.New("n: this stub gives one choice")
	}
	c := call{model: q.Model, stream: q.Stream, usage: q.StreamOptions.IncludeUsage}
	c.Sampling = eval.Sampling{
		Temperature: q.Temperature, TopP: q.TopP, Seed: q.Seed,
		MaxOutputTokens: max(q.MaxTokens, q.MaxCompletionTokens),
	}
	if q.ReasoningEffort != "" {
		c.Sampling.Thinking = &eval.Thinking{Effort: q.ReasoningEffort}
	}
	for _, t := range q.Tools {
		c.Tools = append(c.Tools, t.Function.tool())
	}
	var conv conversation
	for _, m := range q.Messages {
		switch m.Role {
		case "system", "developer":
			c.System = lines(c.System, string(m.Content))
		case "user":
			conv.say(llm.User, string(m.Content))
		case "assistant":
			conv.think(m.ReasoningContent)
			conv.say(llm.Assistant, string(m.Content))
			for _, t := range m.ToolCalls {
				conv.call(llm.Call{ID: t.ID, Tool: t.Function.Name, Arguments: t.Function.Arguments})
			}
		case "tool":
			conv.result(openaiResult(m.ToolCallID, m.Content))
		default:
			return call{}, fmt.Errorf("messages: the role %q is unknown", m.Role)
		}
	}
	c.Messages = conv.messages
	return c, choose(&c.Request, q.ToolChoice.mode, q.ToolChoice.name)
}

func (chat) answer(c call, res llm.Response) any {
	m := object{"role": "assistant", "content": nil, "refusal": nil}
	if res.Message.Text != "" || len(res.Message.Calls) == 0 {
		m["content"] = res.Message.Text
	}
	if res.Message.Reasoning != "" {
		m["reasoning_content"] = res.Message.Reasoning // as vLLM and DeepSeek have it
	}
	var calls []object
	for _, t := range res.Message.Calls {
		calls = append(calls, object{"id": t.ID, "type": "function", "function": object{"name": t.Tool, "arguments": t.Arguments}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	a := chatEnvelope(c, "chat.completion")
	a["choices"] = []object{{"index": 0, "message": m, "logprobs": nil, "finish_reason": chatFinish(res)}}
	a["usage"] = chatUsage(res.Usage)
	return a
}

func (chat) events(c call, res llm.Response) []event {
	var out []event
	chunk := func(delta object, finish any) {
		e := chatEnvelope(c, "chat.completion.chunk")
		e["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": finish}}
		out = append(out, newEvent("", e))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, p := range pieces(res.Message.Reasoning) {
		chunk(object{"reasoning_content": p}, nil)
	}
	for _, p := range pieces(res.Message.Text) {
		chunk(object{"content": p}, nil)
	}
	for i, t := range res.Message.Calls {
		head := object{"index": i, "id": t.ID, "type": "function", "function": object{"name": t.Tool, "arguments": ""}}
		chunk(object{"tool_calls": []object{head}}, nil)
		for _, p := range pieces(t.Arguments) {
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": p}}}}, nil)
		}
	}
	chunk(object{}, chatFinish(res))
	if c.usage {
		e := chatEnvelope(c, "chat.completion.chunk")
		e["choices"], e["usage"] = []object{}, chatUsage(res.Usage)
		out = append(out, newEvent("", e))
	}
	return append(out, event{data: []byte("[DONE]")})
}

func (w chat) broken(f failure) event { return newEvent("", w.failure(f)) }

func chatEnvelope(c call, kind string) object {
	return object{"id": c.id("chatcmpl-"), "object": kind, "created": c.at.Unix(), "model": c.model}
}

func chatFinish(res llm.Response) string {
	switch res.Stop {
	case llm.StopCalls:
		return "tool_calls"
	case llm.StopOutput:
		return "length"
	case llm.StopRefused:
		return "content_filter"
	case llm.StopOther:
		return res.Word
	default:
		return "stop"
	}
}

func chatUsage(u eval.Usage) object {
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Total(),
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning},
	}
}
