package agent

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Methods of calls; that of a search is eval.MethodSearch.
const (
	methodCall = "tools/call"
	methodRead = "resources/read"
)

// record puts the calls of a turn into the trajectory and the counts, in the
// model's order, and writes what the model is told of them.
func (c *conversation) record(invocations []*invocation) []llm.Result {
	turns := c.done.Trajectory.Turns
	turn := &turns[len(turns)-1]
	results := make([]llm.Result, len(invocations))
	for i, in := range invocations {
		result := llm.Result{ID: in.id, Tool: in.name, Text: in.told, Error: in.call.Invalid != ""}
		if in.told == "" {
			result.Text, result.Error = c.show(in)
		}
		c.shownBytes += len(result.Text)
		c.count(in)
		turn.Calls = append(turn.Calls, in.call)
		results[i] = result
	}
	for _, in := range invocations {
		if in.made() {
			c.failed[in.name] = in.call.Outcome.Kind != eval.OutcomeOK
		}
	}
	return results
}

// made says whether a server was asked to call a tool.
func (in *invocation) made() bool { return in.call.Invalid == "" && in.call.Method == methodCall }

// show writes the answer of a server for the model and reports what is odd.
func (c *conversation) show(in *invocation) (string, bool) {
	o := in.call.Outcome
	s := present(o, c.task.Settings.ToolOutputBytes)
	where := fmt.Sprintf("turn %d, server %s, %s", len(c.done.Trajectory.Turns), in.server.Name, answer.Quote(in.call.Tool+in.call.URI))
	if o.Kind == eval.OutcomeFailed {
		c.find(string(o.Reason), fmt.Sprintf("%s: %s", where, clip(o.Detail)))
	}
	if s.unreadable != nil {
		c.find(string(eval.ReasonProtocolViolation), fmt.Sprintf("%s: the result cannot be read: %s", where, clip(s.unreadable.Error())))
	}
	if s.injected != "" {
		c.done.Counts.Injections++
		c.find("injection", fmt.Sprintf("%s: the answer tries to instruct: %s", where, answer.Quote(s.injected)))
	}
	if s.cut > 0 {
		in.call.CutBytes = s.cut
		c.done.Counts.CutResults++
	}
	return s.text, s.isError
}

// count adds a call to the trial's counts.
func (c *conversation) count(in *invocation) {
	counts, o := &c.done.Counts, in.call.Outcome
	switch {
	case in.overLimit:
		return
	case in.call.Invalid != "":
		counts.InvalidCalls++
		return
	case in.call.Method == eval.MethodSearch:
		counts.ToolSearches++
		return
	case in.call.Method == methodRead:
		counts.ResourceReads++
	default:
		counts.ToolCalls++
		if c.failed[in.name] {
			counts.Retries++
		}
		if o.Kind != eval.OutcomeOK && answer.Read(o).InvalidArguments() {
			counts.InvalidArguments++
		}
		c.done.Tools = append(c.done.Tools, eval.ToolUse{Tool: c.label(in), LatencyMS: o.LatencyMS, Error: o.Kind != eval.OutcomeOK})
	}
	if o.Kind == eval.OutcomeToolError {
		counts.ToolErrors++
	}
	counts.ResponseBytes += o.ResponseBytes
}

// label names a tool in statistics: as its server does where there is but one.
func (c *conversation) label(in *invocation) string {
	if len(c.task.Servers) > 1 {
		return in.name
	}
	return in.call.Tool
}
