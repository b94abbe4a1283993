package score

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A call is a tool call with its place.
type call struct {
	eval.ToolCall
	at string // such as "turn 3, call 1"
}

func newExam(t Subject, o Options) *exam {
	x := &exam{Subject: t, options: o}
	for i, turn := range t.Trajectory.Turns {
		for j, c := range turn.Calls {
			x.calls = append(x.calls, call{c, fmt.Sprintf("turn %d, call %d", i+1, j+1)})
		}
	}
	return x
}

// made are the calls that reached a server. A search reaches none, nor does a
// call that went back to the model as invalid.
func (x *exam) made() []call {
	var made []call
	for _, c := range x.calls {
		if c.Method != eval.MethodSearch && c.Invalid == "" && c.Tool != "" {
			made = append(made, c)
		}
	}
	return made
}

// tried are the calls that went back to the model as invalid.
func (x *exam) tried() []call {
	var tried []call
	for _, c := range x.calls {
		if c.Method != eval.MethodSearch && c.Invalid != "" {
			tried = append(tried, c)
		}
	}
	return tried
}

// isTool says whether a pattern's name is that of a tool: the tool's own, or
// mcp__SERVER__TOOL.
func isTool(pattern, server, tool string) bool {
	return pattern == tool || pattern == qualified(server, tool)
}

func qualified(server, tool string) string { return "mcp__" + server + "__" + tool }

// of are the calls of one tool.
func of(calls []call, tool string) []call {
	var found []call
	for _, c := range calls {
		if isTool(tool, c.Server, c.Tool) {
			found = append(found, c)
		}
	}
	return found
}

// offered says whether the agent had a tool before it.
func (x *exam) offered(tool string) bool {
	for _, t := range x.Trajectory.Tools {
		if isTool(tool, t.Server, t.Tool) || tool == t.Name {
			return true
		}
	}
	return false
}

// searching says whether the agent had to find its tools.
func (x *exam) searching() bool {
	if x.Trial.Variant.Axes[eval.AxisLoading] == string(eval.LoadingSearch) {
		return true
	}
	for _, c := range x.calls {
		if c.Method == eval.MethodSearch {
			return true
		}
	}
	return false
}

// gaveUp says whether the agent did nothing: it made no call, and said nothing
// or refused.
func (x *exam) gaveUp() bool {
	return len(x.calls) == 0 && (strings.TrimSpace(x.Trajectory.Answer) == "" || x.Stop == eval.StopRefused)
}

// missing says why there is no call of a tool.
func (x *exam) missing(tool string) (eval.Reason, string) {
	tried := of(x.tried(), tool)
	given := x.offered(tool)
	switch {
	case x.gaveUp():
		return eval.ReasonGaveUp, "nothing: the agent gave up"
	case !given && x.searching():
		return eval.ReasonNotDiscovered, "none: no search brought the tool up" + attempt("it tried without having found it", tried)
	case !given && len(x.Trajectory.Tools) > 0:
		return eval.ReasonMissingTool, "none: the agent was given no such tool"
	case len(tried) > 0 && stopped(tried[0]):
		return eval.ReasonNotSelected, "none" + attempt("it tried too late", tried)
	case len(tried) > 0:
		return eval.ReasonWrongArguments, "none" + attempt("it tried, with invalid arguments", tried)
	default:
		return eval.ReasonNotSelected, "none in " + plural(len(x.made()), "call")
	}
}

// stopped says whether a call was not made because the trial was over: the loop
// says so in these words.
func stopped(c call) bool { return strings.HasPrefix(c.Invalid, "not called: ") }

// attempt tells of the first call that was not made.
func attempt(how string, tried []call) string {
	if len(tried) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s, at %s: %s", how, tried[0].at, answer.Quote(tried[0].Invalid))
}

// pattern writes what is expected of a call.
func pattern(p eval.CallPattern) string {
	if len(p.Arguments) == 0 {
		return answer.Line(p.Tool, maxDifference)
	}
	return answer.Line(p.Tool+" with "+string(p.Arguments), maxDifference)
}

// shown is a call as a score shows it.
func shown(tool string, arguments eval.JSON) any {
	if len(arguments) == 0 {
		return map[string]any{"tool": tool}
	}
	return map[string]any{"tool": tool, "arguments": decoded(arguments)}
}
