package agent

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// request makes one request of a step, records it and reads the answer. A
// rejection is an answer; a failure is anything that is none.
func (r *run) request(ctx context.Context, s eval.Step, turn *eval.Turn, poll bool) (answer.Answer, *failure) {
	if failed := r.interrupted(ctx); failed != nil {
		return answer.Answer{}, failed
	}
	if limit := r.c.Limits.ToolCalls; s.Call != "" && limit > 0 && r.done.Counts.ToolCalls >= limit {
		r.stop(eval.StopToolCallLimit)
		r.over = failf(eval.ReasonLimit, "the trial's limit of %s is reached", counted(limit, "tool call"))
		return answer.Answer{}, r.over
	}
	call := eval.ToolCall{Tool: s.Call, URI: s.Read, Arguments: s.Arguments, Poll: poll}
	if s.Call != "" {
		call.Method = "tools/call"
		call.Outcome = r.tools.Call(ctx, s.Call, s.Arguments)
	} else {
		call.Method = "resources/read"
		call.Outcome = r.tools.Read(ctx, s.Read)
	}
	turn.Calls = append(turn.Calls, call)
	a := answer.Read(call.Outcome)
	r.count(call, a, !wantsUnknownTool(s))
	switch call.Outcome.Kind {
	case eval.OutcomeOK, eval.OutcomeToolError, eval.OutcomeProtocolError:
		if a.Unreadable != nil {
			return a, failf(eval.ReasonProtocolViolation, "the result cannot be read: %v", a.Unreadable)
		}
		return a, nil
	default:
		return a, r.noValue(ctx, call.Outcome)
	}
}

// count adds a request to the trial's counts. Listed says that the server knows
// the tool, so that what it rejects is the arguments.
func (r *run) count(call eval.ToolCall, a answer.Answer, listed bool) {
	counts, o := &r.done.Counts, call.Outcome
	failed := o.Kind != eval.OutcomeOK
	if call.Tool != "" {
		counts.ToolCalls++
		r.done.Tools = append(r.done.Tools, eval.ToolUse{Tool: call.Tool, LatencyMS: o.LatencyMS, Error: failed})
		if r.failedTool == call.Tool {
			counts.Retries++
		}
		if listed && a.InvalidArguments() {
			counts.InvalidArguments++
		}
	} else {
		counts.ResourceReads++
	}
	r.failedTool = ""
	if failed {
		r.failedTool = call.Tool
	}
	if o.Kind == eval.OutcomeToolError {
		counts.ToolErrors++
	}
	if call.Poll {
		counts.Polls++
	}
	counts.ResponseBytes += o.ResponseBytes
	r.done.Times.ToolMS += o.LatencyMS
}
