package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// has says whether the servers list every tool that the case wants called. One
// that they do not list, no agent can call, so none is judged on it before a
// token is spent.
func (c *conversation) has(listed []*offered) bool {
	for _, name := range needed(c.task.Case.Checks) {
		if strings.Contains(name, "{{") {
			continue
		}
		known := slices.ContainsFunc(listed, func(t *offered) bool {
			return name == t.Tool || name == "mcp__"+t.Server+"__"+t.Tool
		})
		if known {
			continue
		}
		verdict := eval.Error
		if slices.ContainsFunc(c.task.Servers, func(s Server) bool { return s.UnderTest }) {
			verdict = eval.Fail
		}
		c.stop(eval.StopNotStarted)
		return c.decide(verdict, eval.ReasonMissingTool, fmt.Sprintf("no server lists the tool %s, which the case wants called", answer.Quote(name)))
	}
	return true
}

// needed lists the tools that checks want called, in order. A group of which any
// will do wants none for certain.
func needed(checks []eval.Check) []string {
	var names []string
	for _, c := range checks {
		switch {
		case c.Not, len(c.Any) > 0:
		case c.Called != nil && (c.Called.Times == nil || *c.Called.Times > 0) && (c.Called.Max == nil || *c.Called.Max > 0):
			names = append(names, c.Called.Tool)
		case c.Trajectory != nil && c.Trajectory.Match != eval.MatchSubset:
			for _, call := range c.Trajectory.Calls {
				names = append(names, call.Tool)
			}
		default:
			names = append(names, needed(c.All)...)
		}
	}
	return names
}
