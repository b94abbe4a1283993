package openai

import (
	"encoding/json"
	"fmt"

	sdk "github.com/openai/openai-go/v3"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// extras are the fields of a message that servers add to OpenAI's.
type extras struct {
	// Content as a list of parts: Mistral's reasoning models.
	Content eval.JSON `json:"content"`
	// What the model thought aloud: vLLM and DeepSeek, OpenRouter and Ollama.
	ReasoningContent text `json:"reasoning_content"`
	Reasoning        text `json:"reasoning"`
	// What has to come back unchanged with the message: OpenRouter, Gemini.
	ReasoningDetails eval.JSON `json:"reasoning_details"`
	ExtraContent     eval.JSON `json:"extra_content"`
	ToolCalls        []struct {
		ExtraContent eval.JSON `json:"extra_content"`
	} `json:"tool_calls"`
}

// messageOf reads the message of an answer.
func messageOf(m sdk.ChatCompletionMessage, turn int) (llm.Message, error) {
	var x extras
	if err := json.Unmarshal([]byte(m.RawJSON()), &x); err != nil {
		return llm.Message{}, fmt.Errorf("read the message: %w", err)
	}
	out := llm.Message{Role: llm.Assistant, Text: textOf(x.Content), Reasoning: string(x.ReasoningContent)}
	if out.Text == "" {
		out.Text = m.Refusal
	}
	if out.Reasoning == "" {
		out.Reasoning = string(x.Reasoning)
	}
	for i, call := range m.ToolCalls {
		if call.Function.Name != "" || call.Custom.Name == "" {
			out.Calls = append(out.Calls, callOf(call, turn, i))
		}
	}
	if x.mustReturn(len(out.Calls) > 0) {
		out.Opaque = eval.JSON(m.RawJSON())
	}
	return out, nil
}

// mustReturn says whether the server wants its own form of the message back: one
// that holds what a message has no place for and that the server checks or uses.
// DeepSeek wants its reasoning back with calls, and refuses it without.
func (x extras) mustReturn(calls bool) bool {
	if present(x.ReasoningDetails) || present(x.ExtraContent) || calls && x.ReasoningContent != "" {
		return true
	}
	for _, call := range x.ToolCalls {
		if present(call.ExtraContent) {
			return true
		}
	}
	return false
}

func present(v eval.JSON) bool { return len(v) > 0 && string(v) != "null" }

// callOf reads a call. Arguments that are no text, as some servers send them,
// are kept as the JSON they are, and a missing id is made up: results need one.
func callOf(c sdk.ChatCompletionMessageToolCallUnion, turn, i int) llm.Call {
	out := llm.Call{ID: c.ID, Tool: c.Function.Name, Arguments: c.Function.Arguments}
	if raw := c.Function.JSON.Arguments.Raw(); raw != "" && raw[0] != '"' && raw != "null" {
		out.Arguments = raw
	}
	if out.ID == "" {
		out.ID = fmt.Sprintf("call_%d_%d", turn, i)
	}
	return out
}

// textOf reads a content: a text, or a list of parts of which those with a text
// count.
func textOf(content eval.JSON) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Type string `json:"type"`
		Text text   `json:"text"`
	}
	_ = json.Unmarshal(content, &parts) // what is no list has no text
	for _, p := range parts {
		if p.Type == "text" {
			s += string(p.Text)
		}
	}
	return s
}

// A text is a string in JSON; anything else is read as none.
type text string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		*t = text(s)
	}
	return nil
}
