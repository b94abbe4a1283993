package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/bm25"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// An offer is the tools of a trial and which of them the model has before it.
type offer struct {
	byName map[string]*offered
	// hidden are tools that a search finds, in the order of their servers and
	// listings; nil unless the trial loads by searching.
	hidden []*offered
	index  *bm25.Index
	// shown are in the context, the first few of them from the start.
	shown   []*offered
	initial int
}

// An offered tool is one that the model may call, by its name.
type offered struct {
	eval.OfferedTool
	server *Server // nil for tools of our own
	// method that a call of it comes to.
	method string
	// definition as the model is given it.
	definition llm.Tool
	arguments  validator
	loaded     bool
}

// list asks every server for its tools and makes the offer of them.
func (c *conversation) list(ctx context.Context) bool {
	var listed []*offered
	for i := range c.task.Servers {
		server := &c.task.Servers[i]
		begun := c.loop.Now()
		pages, outcome := server.Tools.ListTools(ctx)
		c.done.Times.ToolMS += milliseconds(c.loop.Now().Sub(begun))
		if outcome.Kind != eval.OutcomeOK {
			return c.notListed(ctx, server, outcome)
		}
		tools := c.readListing(server, pages)
		if len(tools) == 0 {
			c.find("no_tools", fmt.Sprintf("server %s lists no tool that a model could call", server.Name))
		}
		listed = append(listed, tools...)
	}
	if !c.has(listed) {
		return false
	}
	own := c.ownTools()
	c.name(own, listed)
	c.describe(listed)
	c.offer = newOffer(own, listed, c.task.Loading == eval.LoadingSearch)
	return true
}

// notListed ends a trial that has not begun: the agent can do nothing about it.
func (c *conversation) notListed(ctx context.Context, server *Server, o eval.Outcome) bool {
	reason, message := o.Reason, cmp.Or(o.Detail, "no answer")
	switch {
	case errors.Is(context.Cause(ctx), errTimeLimit):
		reason, message = eval.ReasonTimeout, "no listing within the trial's time limit of "+c.task.Case.Limits.Time.String()
	case ctx.Err() != nil, o.Kind == eval.OutcomeCancelled:
		c.cancelled()
		return false
	case o.Kind != eval.OutcomeFailed:
		reason, message = eval.ReasonUnexpectedError, "the rejection "+answer.Quote(answer.Read(o).Complaint())
	}
	c.stop(eval.StopNotStarted)
	return c.decide(server.verdict(reason), reason, clip(fmt.Sprintf("server %s: tools/list: %s", server.Name, message)))
}

// verdict over a trial in which the server was lost: of what it depends on, no
// agent is judged.
func (s *Server) verdict(reason eval.Reason) eval.Verdict {
	if s.UnderTest && !reason.Infra() {
		return eval.Fail
	}
	return eval.Error
}

// ownTools are those that we offer ourselves.
func (c *conversation) ownTools() []*offered {
	var own []*offered
	if c.task.Loading == eval.LoadingSearch {
		own = append(own, searchTool())
	}
	if c.task.Settings.Resources && len(c.task.Servers) > 0 {
		own = append(own, readTool(c.task.Servers))
	}
	return own
}

// name gives every tool the name that the model knows it by. Names that are
// legal as they stand go first: no other tool takes one of them away.
func (c *conversation) name(own, listed []*offered) {
	names := names{}
	for _, t := range own {
		t.Name = names.give(t.Name, t.Name)
	}
	full := func(t *offered) string { return t.Tool }
	if c.task.Namespaced || len(c.task.Servers) > 1 {
		full = func(t *offered) string { return "mcp__" + t.Server + "__" + t.Tool }
	}
	for _, asItStands := range []bool{true, false} {
		for _, t := range listed {
			if wanted := full(t); legal.MatchString(wanted) == asItStands {
				t.Name = names.give(wanted, t.Server+"\x00"+t.Tool)
			}
		}
	}
}

// describe replaces descriptions as the settings say, by the name that the model
// knows, by mcp__SERVER__TOOL or by the tool's own.
func (c *conversation) describe(listed []*offered) {
	used := map[string]bool{}
	for _, t := range listed {
		for _, key := range []string{t.Name, "mcp__" + t.Server + "__" + t.Tool, t.Tool} {
			if text, ok := c.descriptions[key]; ok {
				t.definition.Description = text
				used[key] = true
				break
			}
		}
		t.definition.Name = t.Name
	}
	for _, key := range slices.Sorted(maps.Keys(c.descriptions)) {
		if !used[key] {
			c.find("unused_description", "no tool for the description of "+answer.Quote(key))
		}
	}
}

func newOffer(own, listed []*offered, search bool) *offer {
	o := &offer{byName: map[string]*offered{}, shown: own}
	for _, t := range slices.Concat(own, listed) {
		o.byName[t.Name] = t
	}
	if search {
		o.hide(listed)
	} else {
		o.shown = append(o.shown, listed...)
	}
	o.initial = len(o.shown)
	for _, t := range o.shown {
		t.loaded = true
	}
	return o
}

// definitions are those that the model has before it.
func (o *offer) definitions() []llm.Tool {
	tools := make([]llm.Tool, len(o.shown))
	for i, t := range o.shown {
		tools[i] = t.definition
	}
	return tools
}

// report writes down what was offered and what it cost.
func (o *offer) report(d *Done) {
	d.Counts.InitialToolTokens = cost(o.shown[:o.initial])
	d.Counts.LoadedToolTokens = cost(o.shown[o.initial:])
	for _, t := range o.shown {
		if t.server != nil {
			d.Trajectory.Tools = append(d.Trajectory.Tools, t.OfferedTool)
		}
	}
}

// cost estimates, in tokens, what definitions take of a context.
func cost(tools []*offered) int {
	size := 0
	for _, t := range tools {
		d := t.definition
		size += len(eval.Encode(map[string]any{"name": d.Name, "description": d.Description, "inputSchema": d.Schema}))
	}
	return tokens(size)
}

// unknown tells the model that there is no such tool.
func (o *offer) unknown(name string) string {
	const most = 30 // names are told
	var known []string
	for _, t := range o.shown {
		known = append(known, t.Name)
	}
	if more := len(known) - most; more > 0 {
		known = append(known[:most], fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("There is no tool %s; nothing was called.", visible(answer.Quote(name)))
	if o.index != nil {
		return text + " Find tools with " + o.shown[0].Name + "."
	}
	return text + " The tools are: " + strings.Join(known, ", ") + "."
}
