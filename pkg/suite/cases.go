package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// cases of the suite, each multiplied.
func (b *build) cases() {
	b.ids = map[string]strictyaml.Pos{}
	b.suite.Cases = []eval.Case{}
	if len(b.file.Cases) == 0 && !b.failed() {
		b.report(b.file.Node().Pos, "the suite has no cases", "")
	}
	for i := range b.file.Cases {
		f := &b.file.Cases[i]
		if !b.keysSound(f.Node()) {
			continue
		}
		for _, c := range b.each(f, b.testCase(f)) {
			b.addCase(f, c)
		}
		if len(b.suite.Cases) > maxCases {
			b.report(f.Node().Pos, fmt.Sprintf("the suite has more than %d cases", maxCases), "")
			return
		}
	}
}

func (b *build) addCase(f *caseFile, c eval.Case) {
	pos := f.Node().Get("id").Pos
	if before, dup := b.ids[strings.ToLower(c.ID)]; dup {
		b.report(pos, fmt.Sprintf("the id %q is taken", c.ID), fmt.Sprintf("by %s:%d; ids differ in more than case", before.File(), before.Line))
		return
	}
	b.ids[strings.ToLower(c.ID)] = pos
	b.loaded.Positions[c.ID] = pos
	b.suite.Cases = append(b.suite.Cases, c)
	b.written = append(b.written, f)
	if f.Repeats > 0 {
		if b.suite.CaseRepeats == nil {
			b.suite.CaseRepeats = map[string]int{}
		}
		b.suite.CaseRepeats[c.ID] = int(f.Repeats)
	}
}

// testCase builds one case before it is multiplied.
func (b *build) testCase(f *caseFile) eval.Case {
	at := f.Node()
	c := eval.Case{
		ID: string(f.ID), Title: f.Title, Server: b.serverOf(f), Servers: b.serversOf(f), Labels: b.labels(f),
		Namespaced: len(f.Servers) > 0 || b.namespaced[at.File()],
		Vars:       b.values(f.Vars), Limits: b.limits(f.Limits),
	}
	c.Requires = slices.Concat(capabilities(b.file.Requires), capabilities(f.Requires))
	if b.file.Defaults != nil {
		c.Tags = slices.Clone(b.file.Defaults.Tags)
	}
	for _, tag := range f.Tags {
		if !slices.Contains(c.Tags, tag) {
			c.Tags = append(c.Tags, tag)
		}
	}
	if !b.checkPlaces(f) {
		return c
	}
	if f.Limits != nil && at.Field("prompt") == nil {
		b.agentLimits(f.Limits)
	}
	names := b.namesFor(f)
	switch {
	case at.Field("catalog") != nil:
		c.Kind = eval.KindCatalog
		c.Catalog = b.catalog(f.Catalog)
	case at.Field("prompt") != nil:
		b.agentCase(f, &c, names)
	default:
		c.Kind = eval.KindScript
		c.StopOnFailure = f.StopOnFailure
		c.Workflow = at.Field("steps") != nil
		c.Steps = b.steps(f, names)
	}
	b.suiteVars(f, &c, names)
	return c
}

// checkPlaces wants exactly one kind of case, and no key that its kind does not
// use. False means that the case has no one kind.
func (b *build) checkPlaces(f *caseFile) bool {
	at := f.Node()
	var kinds []string
	for _, key := range []string{"prompt", "call", "read", "steps", "catalog"} {
		if at.Field(key) != nil {
			kinds = append(kinds, key)
		}
	}
	switch len(kinds) {
	case 0:
		b.report(at.Pos, "the case does nothing", "give it a prompt, a call, a read, steps or catalog")
		return false
	case 1:
	default:
		b.report(at.Place(kinds[1]), fmt.Sprintf("a case has %s or %s, not both", kinds[0], kinds[1]), "a case has exactly one of prompt, call, read, steps and catalog")
		return false
	}
	kind := kinds[0]
	// What a case with one call shares with a step.
	actionKeys := []string{
		"arguments", "expect", "expect_not", "expect_text", "expect_count", "expect_error",
		"extract", "repeat_until", "collect",
	}
	forbid := func(keys []string, hint string) {
		for _, key := range keys {
			if at.Field(key) != nil {
				b.report(at.Place(key), fmt.Sprintf("%s has no use in a case with %s", key, kind), hint)
			}
		}
	}
	switch kind {
	case "steps":
		forbid(actionKeys, "it belongs into a step")
	case "prompt", "catalog":
		forbid(actionKeys, "it is for cases with call or read")
	}
	if kind != "steps" {
		forbid([]string{"stop_on_failure"}, "it is for cases with steps")
	}
	if kind != "prompt" {
		forbid([]string{"checks"}, "it is for cases with prompt; a step has expect")
		forbid([]string{"servers", "model", "agent", "user", "threshold"}, "it is for cases with prompt")
	}
	return true
}

// serverOf is the server that a case talks to. It is empty when a server axis
// decides.
func (b *build) serverOf(f *caseFile) string {
	if f.Node().Field("servers") != nil {
		return ""
	}
	if n := f.Node().Get("server"); n != nil && b.sound(n) {
		if _, ok := b.suite.Servers[f.Server]; !ok {
			b.unknownName(f.Node().Get("server").Pos, "server", f.Server, sorted(b.suite.Servers))
		}
		return f.Server
	}
	if _, axis := b.file.Axes[eval.AxisServer]; axis || f.Node().Get("server") != nil {
		return ""
	}
	name, ok := b.defaultServer()
	if !ok || len(b.suite.Servers) == 0 {
		b.noServer(f)
		return ""
	}
	return name
}

// noServer reports, once, that cases have no server.
func (b *build) noServer(f *caseFile) {
	if b.homeless || b.opts.lenient || !b.sound(b.file.Node().Get("servers")) {
		return
	}
	b.homeless = true
	if len(b.suite.Servers) == 0 {
		b.report(f.Node().Pos, "there is no server to talk to: the suite declares none", `pass --server with a command or a URL, as in --server "node server.js"`)
		return
	}
	b.report(f.Node().Pos, "the case names no server, and the suite has several",
		"write server: or defaults: {server: …}, with one of "+strings.Join(sorted(b.suite.Servers), ", "))
}

// suiteVars gives a case the vars of the suite that it refers to, below its own.
// What an axis sets lies between the two, so it is left to the axis.
func (b *build) suiteVars(f *caseFile, c *eval.Case, names *names) {
	for _, name := range sorted(b.vars) {
		_, own := c.Vars[name]
		if own || !names.used[name] || b.axisSets[name] || !b.fill(f.Node().Pos, len(b.vars[name])) {
			continue
		}
		if c.Vars == nil {
			c.Vars = map[string]eval.JSON{}
		}
		c.Vars[name] = b.vars[name]
	}
}

// agentLimits refuses limits that bound a model in a case that has none.
func (b *build) agentLimits(l *limitsFile) {
	for _, key := range []string{"turns", "tokens", "cost_usd"} {
		if n := l.Node().Field(key); n != nil {
			b.report(n.Key.Pos, key+" bounds agent cases, and there is none here", "script and catalog cases have tool_calls and time")
		}
	}
}

// idleLimits warns of limits of the suite that bound a model when no case has
// one.
func (b *build) idleLimits() {
	l := b.file.Limits
	if l == nil || b.failed() || slices.ContainsFunc(b.suite.Cases, func(c eval.Case) bool { return c.Kind == eval.KindAgent }) {
		return
	}
	for _, key := range []string{"turns", "tokens", "cost_usd"} {
		if n := l.Node().Field(key); n != nil {
			b.warn(n.Key.Pos, key+" bounds agent cases, and the suite has none", "")
		}
	}
}

// limits of the suite with those of a case on top.
func (b *build) limits(own *limitsFile) eval.Limits {
	var out eval.Limits
	for _, l := range []*limitsFile{b.file.Limits, own} {
		if l == nil {
			continue
		}
		over(&out.Turns, int(l.Turns))
		over(&out.ToolCalls, int(l.ToolCalls))
		over(&out.Tokens, int(l.Tokens))
		over(&out.Time, l.Time.std())
		over(&out.CostMicroUSD, int64(l.CostUSD))
		over(&out.OnLimit, eval.OnLimit(l.OnLimit))
	}
	return out
}

// over sets what is given.
func over[T comparable](into *T, value T) {
	var zero T
	if value != zero {
		*into = value
	}
}
