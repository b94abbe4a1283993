package agent

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// perServer bounds the calls that are made to one server at once.
const perServer = 8

// An invocation is one call that the model asks for.
type invocation struct {
	id   string
	name string // as the model wrote it
	// server that is asked; nil when none is.
	server *Server
	call   eval.ToolCall
	// overLimit marks a call that was not made and is no fault of the model's.
	overLimit bool
	// told is what the model is told of a call that no server answers; why is a word
	// for it.
	told, why string
}

// Why no server sees a call.
const (
	unknownTool      = "unknown_tool"
	notLoaded        = "tool_not_loaded"
	invalidArguments = "invalid_arguments"
	overLimit        = "tool_call_limit"
	ended            = "ended"
)

// act makes the calls of a turn, all at once, tells the model what came of them
// in its own order, and says whether the conversation goes on.
func (c *conversation) act(ctx context.Context, asked []llm.Call) bool {
	invocations := make([]*invocation, len(asked))
	planned := c.done.Counts.ToolCalls
	over, why := "", ""
	if ctx.Err() != nil {
		over, why = "not called: the trial has ended", ended
	}
	for i, call := range asked {
		in := c.prepare(call)
		invocations[i] = in
		if in.call.Method == methodCall && in.call.Invalid == "" {
			if limit := c.task.Case.Limits.ToolCalls; limit > 0 && planned >= limit && over == "" {
				over, why = "not called: the trial's limit of "+counted(limit, "tool call")+" is reached", overLimit
			}
			planned++
		}
		if over != "" && in.call.Invalid == "" {
			in.call.Invalid, in.why, in.overLimit = over, why, true
		}
	}
	c.invoke(ctx, invocations)
	results := c.record(invocations)
	c.messages = append(c.messages, llm.Message{Role: llm.User, Results: results})
	return c.goesOn(ctx, invocations, over != "")
}

// prepare finds the tool of a call and checks the arguments. What is wrong goes
// back to the model, and no server sees it.
func (c *conversation) prepare(asked llm.Call) *invocation {
	in := &invocation{id: asked.ID, name: asked.Tool, call: eval.ToolCall{Method: methodCall, ID: asked.ID, Tool: asked.Tool}}
	arguments, unread := readArguments(asked.Arguments)
	if unread != nil {
		in.call.RawArguments = asked.Arguments
	}
	in.call.Arguments = arguments
	tool, known := c.offer.byName[asked.Tool]
	if !known {
		return in.refuse(unknownTool, c.offer.unknown(asked.Tool))
	}
	in.call.Method, in.call.Server, in.call.Tool = tool.method, tool.Server, cmp.Or(tool.Tool, tool.Name)
	if !tool.loaded {
		return in.refuse(notLoaded, fmt.Sprintf("The tool %s is not loaded; nothing was called. Find it with %s, then call it in your next message.", tool.Name, c.offer.shown[0].Name))
	}
	if unread != nil {
		return in.refuse(invalidArguments, fmt.Sprintf("The arguments are no JSON object; nothing was called. %s. Correct them and call the tool again.", clip(unread.Error())))
	}
	if problem := tool.arguments.prepare(); problem != nil {
		c.find("schema_not_checked", fmt.Sprintf("tool %s: its inputSchema cannot be applied: %s", tool.Name, clip(problem.Error())))
	}
	if err := tool.arguments.check(arguments); err != nil {
		return in.refuse(invalidArguments, fmt.Sprintf("The arguments do not fit the tool's schema; nothing was called. %s. Correct them and call the tool again.", visible(clip(err.Error()))))
	}
	in.server = tool.server
	if tool.method == methodRead {
		in.call.URI, in.server = c.resource(arguments)
		in.call.Server, in.call.Tool = in.server.Name, ""
	}
	return in
}

// refuse has the model told why no server sees the call.
func (in *invocation) refuse(why, told string) *invocation {
	in.why, in.call.Invalid = why, told
	return in
}

// invoke asks the servers, all at once, a few at each.
func (c *conversation) invoke(ctx context.Context, invocations []*invocation) {
	begun := c.loop.Now()
	room := map[*Server]chan struct{}{}
	var all sync.WaitGroup
	for _, in := range invocations {
		switch {
		case in.call.Invalid != "":
			in.told = in.call.Invalid
			in.show(ctx)
		case in.server == nil:
			in.told = c.offer.search(in.call.Arguments)
			in.call.Outcome = eval.Outcome{Kind: eval.OutcomeOK, Result: textResult(in.told)}
			in.show(ctx)
		default:
			if room[in.server] == nil {
				room[in.server] = make(chan struct{}, perServer)
			}
			places := room[in.server]
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				defer in.survive()
				in.call.Outcome = in.ask(ctx)
			})
		}
	}
	all.Wait()
	c.done.Times.ToolMS += milliseconds(c.loop.Now().Sub(begun))
}

// survive turns a panic of ours into a failure of the call: it happens beside the
// goroutine that the worker guards.
func (in *invocation) survive() {
	if p := recover(); p != nil {
		in.call.Outcome = eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonFarm, Detail: fmt.Sprintf("panic: %v", p)}
	}
}

// show shows a call that no server sees in a trace.
func (in *invocation) show(ctx context.Context) {
	span := telemetry.Uncalled(telemetry.Asks(ctx, in.id), in.name)
	defer span.End()
	if in.why != "" {
		span.NotMade(in.why, in.told)
	}
	if span.Content() {
		span.With([]byte(cmp.Or(in.call.RawArguments, string(in.call.Arguments))))
		span.Gave([]byte(in.told))
	}
}

// ask makes one request.
func (in *invocation) ask(ctx context.Context) eval.Outcome {
	ctx = telemetry.Asks(ctx, in.id)
	if in.call.Method == methodRead {
		return in.server.Tools.Read(ctx, in.call.URI)
	}
	return in.server.Tools.Call(ctx, in.call.Tool, in.call.Arguments)
}

// textResult is a result with one text.
func textResult(text string) eval.JSON {
	return eval.Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
}

// goesOn looks at what came of a turn's calls and says whether the model is told.
func (c *conversation) goesOn(ctx context.Context, invocations []*invocation, over bool) bool {
	if c.interrupted(ctx) {
		return false
	}
	var calls []eval.ToolCall
	for _, in := range invocations {
		o := in.call.Outcome
		if o.Kind == eval.OutcomeCancelled {
			c.cancelled()
			return false
		}
		if in.lost() {
			c.stop(eval.StopServerLost)
			return c.decide(in.server.verdict(o.Reason), o.Reason, clip(fmt.Sprintf("server %s: %s", in.server.Name, cmp.Or(o.Detail, "no answer"))))
		}
		calls = append(calls, in.call)
	}
	if over {
		c.limit(eval.StopToolCallLimit, counted(c.task.Case.Limits.ToolCalls, "tool call"))
		return false
	}
	if c.repeats.looping(calls, c.task.Settings.LoopAfter) {
		c.find("loop", fmt.Sprintf("the same calls with the same answers, up to turn %d: %s", len(c.done.Trajectory.Turns), clip(calls[0].Tool+" "+string(calls[0].Arguments))))
		return c.stop(eval.StopLoop)
	}
	return true
}

// lost says whether the server can be asked nothing more.
func (in *invocation) lost() bool {
	o := in.call.Outcome
	if in.server == nil || o.Kind != eval.OutcomeFailed {
		return false
	}
	session, known := in.server.Tools.(interface{ Dead() bool })
	return endsSession(o.Reason) || o.Reason.Infra() || known && session.Dead()
}
