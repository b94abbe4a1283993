package meter

import (
	"cmp"
	"context"
	"errors"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// chat begins the span of a call, linked to that of the call before.
func (r *request) chat(ctx context.Context) (context.Context, telemetry.Span) {
	ctx, span := telemetry.Chat(ctx, func() telemetry.Call {
		turn := 1
		for _, m := range r.req.Messages {
			if m.Role == llm.Assistant {
				turn++
			}
		}
		return telemetry.Call{
			Model: r.o.Model, Sampling: r.req.Sampling, MaxOutput: r.req.MaxOutput(), Role: r.req.Trial.Role, Turn: turn,
		}
	}, r.span)
	if span.Content() {
		span.Told(r.req.System, shown(r.req.Messages...))
	}
	return ctx, span
}

// tell tells the span of a call what that came to.
func (r *request) tell(ctx context.Context, res llm.Response, err error, took eval.Amount) {
	if !r.span.On() {
		return
	}
	if r.o.Price != nil {
		r.span.Cost(took.MicroUSD)
	}
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil:
		r.span.Answered(telemetry.Answer{ID: res.ID, Model: res.Model, Finish: finish(res), Usage: res.Usage})
		if r.span.Content() {
			r.span.Said(shown(res.Message)[0])
		}
	case ok:
		r.span.Refused(string(e.Kind), e.Status, e.Code, err.Error())
	case ctx.Err() != nil:
		r.span.Fail(kind(ctx, err), context.Cause(ctx).Error())
	default:
		r.span.Refused(kind(ctx, err), 0, "", err.Error())
	}
}

// finish is why an answer ended, in the conventions' words, or in the provider's
// where they have none.
func finish(res llm.Response) string {
	switch res.Stop {
	case llm.StopEnd:
		return "stop"
	case llm.StopCalls:
		return "tool_call"
	case llm.StopOutput:
		return "length"
	case llm.StopRefused:
		return "content_filter"
	default:
		return cmp.Or(res.Word, string(res.Stop))
	}
}

// shown is how a trace shows messages.
func shown(messages ...llm.Message) []telemetry.Message {
	var out []telemetry.Message
	for _, m := range messages {
		var results, parts []telemetry.Part
		for _, x := range m.Results {
			results = append(results, telemetry.Part{Type: telemetry.PartResult, ID: x.ID, Text: x.Text})
		}
		if len(results) > 0 {
			out = append(out, telemetry.Message{Role: "tool", Parts: results})
		}
		if m.Reasoning != "" {
			parts = append(parts, telemetry.Part{Type: telemetry.PartReasoning, Text: m.Reasoning})
		}
		if m.Text != "" || len(results)+len(m.Calls) == 0 {
			parts = append(parts, telemetry.Part{Type: telemetry.PartText, Text: m.Text})
		}
		for _, c := range m.Calls {
			parts = append(parts, telemetry.Part{Type: telemetry.PartCall, ID: c.ID, Tool: c.Tool, Text: c.Arguments})
		}
		if len(parts) > 0 {
			out = append(out, telemetry.Message{Role: string(m.Role), Parts: parts})
		}
	}
	return out
}
