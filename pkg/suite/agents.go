package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// agentCase fills the fields of an agent case.
func (b *build) agentCase(f *caseFile, c *eval.Case, known *names) {
	at := f.Node()
	prompt := b.text(at.Get("prompt"))
	b.filledText(prompt, "the prompt")
	b.placeholders(prompt, known)
	c.Kind, c.Prompt, c.Model = eval.KindAgent, textOf(prompt), b.modelOf(f)
	c.Agent = b.agents(f, known)
	b.fill(at.Pos, len(c.Prompt)+len(c.Agent.System))
	c.User = b.user(f.User, known)
	c.Threshold = (*float64)(f.Threshold)
	c.Checks = b.checks(f, c, known)
}

// agents are the settings of a case over those of the suite. The placeholders
// of what applies to the case, points of axes included, must be known in it.
func (b *build) agents(f *caseFile, known *names) eval.Agent {
	own := b.agent(f.Agent)
	out := b.agent(b.file.Agent).Over(own)
	if own.System != "" {
		b.placeholders(b.text(f.Agent.Node().Get("system")), known)
	} else if b.file.Agent != nil {
		b.sharedPlaceholders(f, b.text(b.file.Agent.Node().Get("system")), known)
	}
	b.describe(f, known)
	for _, name := range sorted(b.file.Axes) {
		for _, p := range b.file.Axes[name].Points {
			if p.Agent != nil {
				at := p.Agent.Node()
				b.sharedPlaceholders(f, b.text(at.Get("system")), known)
				b.sharedPlaceholders(f, at.Get("descriptions"), known)
			}
		}
	}
	return out
}

// describe checks the placeholders of the descriptions of a case, and of those of
// the suite that the case does not replace.
func (b *build) describe(f *caseFile, known *names) {
	var own *strictyaml.Node
	if f.Agent != nil {
		own = f.Agent.Node().Get("descriptions")
		b.placeholders(own, known)
	}
	if b.file.Agent == nil {
		return
	}
	if shared := b.file.Agent.Node().Get("descriptions"); shared != nil {
		for _, field := range shared.Fields {
			if own.Field(field.Key.Text) == nil {
				b.sharedPlaceholders(f, field.Value, known)
			}
		}
	}
}

// agent settings of one place.
func (b *build) agent(f *agentFile) eval.Agent {
	if f == nil || !b.keysSound(f.Node()) {
		return eval.Agent{}
	}
	at := f.Node()
	system := b.text(at.Get("system"))
	b.filledText(system, "the system prompt")
	return eval.Agent{
		System: textOf(system), Sampling: f.sampling(),
		ToolOutputBytes: int(f.ToolOutputBytes), LoopAfter: int(f.LoopAfter), Descriptions: f.Descriptions,
		Resources: f.Resources,
	}
}

// sharedPlaceholders checks a text that is written once for several cases. What
// it refers to must be known in each.
func (b *build) sharedPlaceholders(f *caseFile, n *strictyaml.Node, known *names) {
	if n == nil {
		return
	}
	inCase := *known
	inCase.where = fmt.Sprintf(" in case %q", f.ID)
	b.placeholders(n, &inCase)
}

// user is what the user's side does after the prompt.
func (b *build) user(f *userFile, known *names) *eval.User {
	if f == nil || !b.keysSound(f.Node()) {
		return nil
	}
	at := f.Node()
	modelKeys := []string{"model", "persona", "goal", "stop", "max_turns"}
	has := func(key string) bool { return at.Field(key) != nil }
	for _, key := range []string{"turns", "persona", "goal"} {
		b.placeholders(at.Get(key), known)
	}
	if has("turns") {
		for _, key := range modelKeys {
			if has(key) {
				b.report(at.Place(key), key+" and turns do not go together", "a user says given lines, or a model plays the user")
			}
		}
		if len(f.Turns) == 0 && b.sound(at.Get("turns")) {
			b.report(at.Place("turns"), "the user has no turns", "leave user out")
		}
		for _, n := range at.Get("turns").Items {
			b.filledText(n, "what the user says")
		}
		return &eval.User{Turns: f.Turns}
	}
	if f.Persona == "" && f.Goal == "" && b.sound(at) {
		b.report(at.Pos, "the user says nothing", "give it turns, or a model with a persona or a goal")
	}
	return &eval.User{
		Model: b.roleModel(at, "", "write model: in the user"), Persona: f.Persona, Goal: f.Goal,
		Stop: f.Stop, MaxTurns: int(f.MaxTurns),
	}
}

// serverInToolRE matches names of servers that can be a part of tool names,
// which models accept in letters, digits, dashes and underscores only.
var serverInToolRE = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// serversOf are the several servers of an agent case.
func (b *build) serversOf(f *caseFile) []string {
	list := f.Node().Get("servers")
	if list == nil || !b.sound(list) {
		return nil
	}
	if len(f.Servers) == 0 {
		b.report(list.Pos, "the list of servers is empty", "leave it out for the default server")
	}
	if f.Node().Field("server") != nil {
		b.report(f.Node().Place("servers"), "servers and server do not go together", "server: one, whose tools keep their names; servers: several")
	}
	for i, name := range f.Servers {
		n := list.Items[i]
		switch _, ok := b.suite.Servers[name]; {
		case !ok && b.data[n.File()]:
			b.noServerOfTool(n)
		case !ok:
			b.unknownName(n.Pos, "server", name, sorted(b.suite.Servers))
		case slices.Contains(f.Servers[:i], name):
			b.report(n.Pos, fmt.Sprintf("the server %q is named twice", name), "")
		case !serverInToolRE.MatchString(name):
			b.report(n.Pos, strictyaml.Quote(name)+" cannot be a part of tool names", "at most 40 letters, digits, _ and -")
		}
	}
	return f.Servers
}

// noServerOfTool reports, once for each server, that the name of a tool begins
// with that of a server which nobody has declared.
func (b *build) noServerOfTool(n *strictyaml.Node) {
	if b.opts.lenient && len(b.suite.Servers) == 0 || b.unserved[n.Text] {
		return
	}
	if b.unserved == nil {
		b.unserved = map[string]bool{}
	}
	b.unserved[n.Text] = true
	b.report(n.Pos, fmt.Sprintf("there is no server %s, which this tool is of", strictyaml.Quote(n.Text)),
		fmt.Sprintf("pass --server %s=COMMAND or --server %s=URL, or --with a file that has it", n.Text, n.Text))
}

// labels of a case.
func (b *build) labels(f *caseFile) map[string]string {
	at := f.Node().Get("labels")
	if at == nil || !b.sound(at) {
		return nil
	}
	for _, field := range at.Fields {
		if !variableNameRE.MatchString(field.Key.Text) {
			b.report(field.Key.Pos, strictyaml.Quote(field.Key.Text)+" is no name for a label", "letters, digits, _ and -, beginning with a letter or _")
		}
		if text := strings.TrimSpace(field.Value.Text); text == "" || strings.ContainsAny(text, "\r\n") {
			b.report(field.Value.Pos, "a label is one line", "")
		}
	}
	return f.Labels
}
