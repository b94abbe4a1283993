package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// oldVersion of the API is the last that knows temperature and top_p. The one
// after it, 2026-10-21, which the SDK speaks, refuses them at any value.
const oldVersion = "2023-06-01"

// request writes a request, and in which version of the API it is to be read.
// A seed is left out: the API knows none.
func (c *Client) request(req llm.Request) (sdk.MessageNewParams, []option.RequestOption) {
	p := c.params(req)
	fields := map[string]any{}
	if t := req.Sampling.Temperature; t != nil {
		fields["temperature"] = *t
	}
	if t := req.Sampling.TopP; t != nil {
		fields["top_p"] = *t
	}
	if len(fields) == 0 {
		return p, nil
	}
	p.SetExtraFields(fields)
	return p, []option.RequestOption{option.WithHeader("anthropic-version", oldVersion)}
}

func (c *Client) params(req llm.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{Model: c.options.Model, MaxTokens: int64(req.MaxOutput())}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	for _, m := range req.Messages {
		blocks := blocksOf(m)
		switch {
		case len(blocks) == 0:
		case m.Role == llm.Assistant:
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(blocks...))
		default:
			p.Messages = append(p.Messages, sdk.NewUserMessage(blocks...))
		}
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, toolOf(t))
	}
	if req.MustCall != "" {
		p.ToolChoice = sdk.ToolChoiceParamOfTool(req.MustCall)
	}
	if t := req.Sampling.Thinking; t != nil {
		p.Thinking = thinkingOf(*t)
		if t.Effort != noEffort {
			p.OutputConfig.Effort = sdk.OutputConfigEffort(t.Effort)
		}
	}
	return p
}

// noEffort turns thinking off; the API has no such effort.
const noEffort = "none"

// thinkingOf asks for a number of tokens where there is one, and leaves it to
// the model otherwise. The number is raw JSON, because of its typed form the SDK
// writes warnings to stderr.
func thinkingOf(t eval.Thinking) sdk.ThinkingConfigParamUnion {
	switch {
	case t.BudgetTokens > 0:
		return param.Override[sdk.ThinkingConfigParamUnion](map[string]any{"type": "enabled", "budget_tokens": t.BudgetTokens})
	case t.Effort == noEffort:
		return sdk.ThinkingConfigParamUnion{OfDisabled: &sdk.ThinkingConfigDisabledParam{}}
	default:
		return sdk.ThinkingConfigParamUnion{OfAdaptive: &sdk.ThinkingConfigAdaptiveParam{}}
	}
}

func toolOf(t llm.Tool) sdk.ToolUnionParam {
	schema := t.Schema
	if len(schema) == 0 {
		schema = eval.JSON(`{"type":"object"}`) // the API wants one
	}
	tool := &sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
	if t.Description != "" {
		tool.Description = sdk.String(t.Description)
	}
	return sdk.ToolUnionParam{OfTool: tool}
}

// blocksOf writes the content of a message. It is empty for a message that says
// nothing, which the API refuses to take: it joins the messages around it.
func blocksOf(m llm.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	if own := ownBlocks(m); len(own) > 0 {
		for _, raw := range own {
			blocks = append(blocks, param.Override[sdk.ContentBlockParamUnion](raw))
		}
		return blocks
	}
	for _, r := range m.Results {
		blocks = append(blocks, resultOf(r))
	}
	if m.Text != "" {
		blocks = append(blocks, sdk.NewTextBlock(m.Text))
	}
	for _, call := range m.Calls {
		blocks = append(blocks, sdk.NewToolUseBlock(call.ID, inputOf(call.Arguments), call.Tool))
	}
	return blocks
}

// ownBlocks are those that the API itself made of a message.
func ownBlocks(m llm.Message) (own []json.RawMessage) {
	if m.Role != llm.Assistant || json.Unmarshal(m.Opaque, &own) != nil {
		return nil
	}
	return own
}

func resultOf(r llm.Result) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: r.ID}
	if r.Error {
		block.IsError = sdk.Bool(true)
	}
	if r.Text != "" {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: r.Text}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}

// inputOf writes the arguments of a call, which have to be an object here. Those
// that are none are shown to the model as the text that they were.
func inputOf(arguments string) any {
	var object map[string]json.RawMessage
	switch {
	case arguments == "":
		return struct{}{}
	case json.Unmarshal([]byte(arguments), &object) != nil || object == nil:
		return map[string]string{"malformed": arguments}
	default:
		return json.RawMessage(arguments)
	}
}
