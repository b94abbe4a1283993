package agent

import (
	"cmp"
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
	lacking := c.lacking(eval.Check{All: c.task.Case.Checks}, false, listed)
	if lacking == "" {
		return true
	}
	verdict := eval.Error
	if slices.ContainsFunc(c.task.Servers, func(s Server) bool { return s.UnderTest }) {
		verdict = eval.Fail
	}
	c.stop(eval.StopNotStarted)
	return c.decide(verdict, eval.ReasonMissingTool, fmt.Sprintf("no server lists the tool %s, which the case wants called", answer.Quote(lacking)))
}

// lacking is the first tool without which a check cannot hold and which no
// server lists; empty if there is none. Turned says that the check is part of a
// group that is turned around. A check that cannot fail without its tool is
// reported.
func (c *conversation) lacking(check eval.Check, turned bool, listed []*offered) string {
	turned = turned != check.Not
	if parts := slices.Concat(check.Any, check.All); len(parts) > 0 {
		return c.lackingOf(parts, len(check.Any) > 0 != turned, turned, listed)
	}
	tools, wanted := named(check)
	for _, tool := range tools {
		switch {
		case tool == "" || strings.Contains(tool, "{{") || isListed(tool, listed):
		case wanted != turned:
			return tool
		default:
			c.find("unlisted_tool", fmt.Sprintf("no server lists the tool %s, which the check %s names", answer.Quote(tool), answer.Quote(check.ID)))
		}
	}
	return ""
}

// lackingOf is the first tool that the parts of a group lack. Where one part is
// enough, each must lack one. Parts that decide nothing want nothing.
func (c *conversation) lackingOf(parts []eval.Check, oneIsEnough, turned bool, listed []*offered) string {
	first, possible := "", false
	for _, part := range parts {
		if part.Weight != nil && *part.Weight == 0 {
			continue
		}
		tool := c.lacking(part, turned, listed)
		first, possible = cmp.Or(first, tool), possible || tool == ""
	}
	if oneIsEnough && possible {
		return ""
	}
	return first
}

func isListed(tool string, listed []*offered) bool {
	return slices.ContainsFunc(listed, func(t *offered) bool {
		return tool == t.Tool || tool == "mcp__"+t.Server+"__"+t.Tool
	})
}

// named are the tools that a check, which is no group, names, and whether it
// wants them called or holds best if they are not.
func named(c eval.Check) (tools []string, wanted bool) {
	switch {
	case c.Called != nil:
		least, _ := c.Called.Bounds()
		return []string{c.Called.Tool}, least > 0
	case c.JSON != nil:
		return []string{c.JSON.Tool}, true
	case c.Rejected != nil && c.Rejected.Kind != eval.ErrorUnknownTool:
		return []string{c.Rejected.Tool}, true
	case c.Trajectory != nil && c.Trajectory.Match != eval.MatchSubset:
		for _, call := range c.Trajectory.Calls {
			tools = append(tools, call.Tool)
		}
		return tools, true
	case c.NotCalled != nil:
		return []string{c.NotCalled.Tool}, false
	case c.NoRepeats != nil:
		return []string{c.NoRepeats.Tool}, false
	default:
		return nil, false
	}
}
