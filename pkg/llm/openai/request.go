package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// params writes a request. A budget of thinking is left out: the API knows only
// an effort.
func (c *Client) params(req llm.Request) sdk.ChatCompletionNewParams {
	s := req.Sampling
	p := sdk.ChatCompletionNewParams{Model: c.options.Model}
	// OpenAI's reasoning models refuse max_tokens; many servers that speak the
	// API know nothing else.
	if c.own {
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxOutput()))
	} else {
		p.MaxTokens = sdk.Int(int64(req.MaxOutput()))
	}
	if req.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(req.System))
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, messagesOf(m)...)
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, toolOf(t))
	}
	if req.MustCall != "" {
		p.ToolChoice = sdk.ToolChoiceOptionFunctionToolChoice(sdk.ChatCompletionNamedToolChoiceFunctionParam{Name: req.MustCall})
	}
	if s.Temperature != nil {
		p.Temperature = sdk.Float(*s.Temperature)
	}
	if s.TopP != nil {
		p.TopP = sdk.Float(*s.TopP)
	}
	if s.Seed != nil {
		p.Seed = sdk.Int(*s.Seed)
	}
	if s.Thinking != nil {
		p.ReasoningEffort = shared.ReasoningEffort(s.Thinking.Effort)
	}
	return p
}

func toolOf(t llm.Tool) sdk.ChatCompletionToolUnionParam {
	f := shared.FunctionDefinitionParam{Name: t.Name}
	if t.Description != "" {
		f.Description = sdk.String(t.Description)
	}
	if len(t.Schema) > 0 {
		// As it is: through the SDK's map it would lose its order.
		f.SetExtraFields(map[string]any{"parameters": t.Schema})
	}
	return sdk.ChatCompletionFunctionTool(f)
}

// messagesOf writes one message as the several that the API wants: each result
// is one of its own.
func messagesOf(m llm.Message) []sdk.ChatCompletionMessageParamUnion {
	if m.Role == llm.Assistant {
		return []sdk.ChatCompletionMessageParamUnion{assistantOf(m)}
	}
	var out []sdk.ChatCompletionMessageParamUnion
	for _, r := range m.Results {
		text := r.Text
		if r.Error {
			text = "Error: " + text // the API has no flag for it
		}
		out = append(out, sdk.ToolMessage(text, r.ID))
	}
	if m.Text != "" || len(out) == 0 {
		out = append(out, sdk.UserMessage(m.Text))
	}
	return out
}

func assistantOf(m llm.Message) sdk.ChatCompletionMessageParamUnion {
	var own map[string]json.RawMessage
	if json.Unmarshal(m.Opaque, &own) == nil && own != nil {
		return param.Override[sdk.ChatCompletionMessageParamUnion](m.Opaque)
	}
	a := &sdk.ChatCompletionAssistantMessageParam{}
	if m.Text != "" || len(m.Calls) == 0 {
		a.Content.OfString = sdk.String(m.Text)
	}
	for _, call := range m.Calls {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       call.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Tool, Arguments: call.Arguments},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: a}
}
