package suite

import (
	"fmt"
	"maps"
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
		if !b.sound(f.Node()) {
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
	c := eval.Case{ID: string(f.ID), Title: f.Title, Server: b.serverOf(f), Vars: b.caseVars(f), Limits: b.limits(f.Limits)}
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
	names := b.namesFor(f, c)
	switch {
	case at.Field("catalog") != nil:
		c.Kind = eval.KindCatalog
		c.Catalog = b.catalog(f.Catalog)
	case at.Field("prompt") != nil:
		c.Kind, c.Prompt, c.Checks = eval.KindAgent, f.Prompt, b.checks(f.Checks)
		b.later(at.Place("prompt"), "agent cases cannot be run yet")
		b.placeholders(at.Get("prompt"), names)
		b.placeholders(at.Get("checks"), names)
	default:
		c.Kind = eval.KindScript
		c.StopOnFailure = f.StopOnFailure
		c.Workflow = at.Field("steps") != nil
		c.Steps = b.steps(f, names)
	}
	return c
}

// actionKeys are the keys that a case shares with a step.
var actionKeys = []string{
	"arguments", "expect", "expect_not", "expect_text", "expect_count", "expect_error",
	"extract", "repeat_until", "collect",
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
	}
	return true
}

// serverOf is the server that a case talks to. It is empty when a server axis
// decides.
func (b *build) serverOf(f *caseFile) string {
	if f.Server != "" {
		if _, ok := b.suite.Servers[f.Server]; !ok {
			b.unknownName(f.Node().Get("server").Pos, "server", f.Server, sorted(b.suite.Servers))
		}
		return f.Server
	}
	if _, axis := b.file.Axes[eval.AxisServer]; axis {
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
	if b.homeless || b.opts.lenient || b.broken[placeOf(b.file.Node().Place("servers"))] {
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

// caseVars are the vars of the case on top of those of the suite. What an axis
// sets lies between the two, so it is left to the axis.
func (b *build) caseVars(f *caseFile) map[string]eval.JSON {
	vars := b.values(b.file.Vars)
	for i := range b.suite.Axes {
		for name := range b.axisVars(&b.suite.Axes[i]) {
			delete(vars, name)
		}
	}
	if vars == nil {
		vars = map[string]eval.JSON{}
	}
	maps.Copy(vars, b.values(f.Vars))
	if len(vars) == 0 {
		return nil
	}
	return vars
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

// each makes one case per combination of the values of a case's each.
func (b *build) each(f *caseFile, c eval.Case) []eval.Case {
	at := f.Node().Get("each")
	if at == nil {
		return []eval.Case{c}
	}
	total := 1
	for _, field := range at.Fields {
		total *= len(field.Value.Items)
		if total == 0 || total > maxCases {
			b.report(field.Key.Pos, fmt.Sprintf("each makes no case, or more than %d", maxCases), "every name needs a list of values")
			return nil
		}
	}
	var out []eval.Case
	for i := range total {
		one := c
		one.ID = fmt.Sprintf("%s/%d", c.ID, i+1)
		if bad := badID(one.ID); bad != "" {
			b.report(f.Node().Get("id").Pos, fmt.Sprintf("%s is no id: %s", strictyaml.Quote(one.ID), bad), "")
			return nil
		}
		one.Vars = maps.Clone(c.Vars)
		if one.Vars == nil {
			one.Vars = map[string]eval.JSON{}
		}
		// The last name varies fastest.
		rest := i
		for _, field := range slices.Backward(at.Fields) {
			items := field.Value.Items
			one.Vars[field.Key.Text] = items[rest%len(items)].JSON()
			rest /= len(items)
		}
		out = append(out, one)
	}
	return out
}

func (b *build) catalog(f *catalogFile) *eval.Catalog {
	at := f.Node()
	out := &eval.Catalog{MaxContextTokens: int(f.MaxContextTokens), Fingerprint: f.Fingerprint, Lock: f.Lock}
	if f.Rules != nil {
		out.Rules = f.Rules.Names
		for i, name := range f.Rules.Names {
			if b.opts.Rules != nil && !slices.Contains(b.opts.Rules, name) {
				b.unknownName(f.Rules.Node().Items[i].Pos, "catalog rule", name, b.opts.Rules)
			}
		}
	}
	if f.Lock != "" {
		b.mustExist(at.Get("lock"), f.Lock)
		b.later(at.Place("lock"), "listings cannot be compared with a lock file yet")
	}
	if f.Fingerprint != "" && !fingerprintRE.MatchString(f.Fingerprint) {
		b.report(at.Get("fingerprint").Pos, strictyaml.Quote(f.Fingerprint)+" is no fingerprint", "sha256: and 64 hex digits")
	}
	return out
}

// checks of an agent case.
func (b *build) checks(list []checkFile) []eval.Check {
	var out []eval.Check
	for i := range list {
		f := &list[i]
		if n := len(f.Node().Fields); n != 1 {
			b.report(f.Node().Pos, fmt.Sprintf("a check is exactly one of its keys, not %d", n), "one list item for each check")
			continue
		}
		c := eval.Check{Called: pattern(f.Called), NotCalled: pattern(f.NotCalled)}
		if f.Contains != nil {
			c.Contains = *f.Contains
		}
		if t := f.Trajectory; t != nil {
			c.Trajectory = &eval.TrajectoryCheck{Match: string(t.Match)}
			if t.Threshold != nil {
				c.Trajectory.Threshold = float64(*t.Threshold)
			}
			for i := range t.Calls {
				c.Trajectory.Calls = append(c.Trajectory.Calls, *pattern(&t.Calls[i]))
			}
		}
		if j := f.Judge; j != nil {
			c.Judge = &eval.JudgeCheck{Rubric: j.Rubric, Model: j.Model, Votes: int(j.Votes)}
			at := j.Node()
			if _, ok := b.file.Models[j.Model]; j.Model != "" && !ok {
				b.unknownName(at.Get("model").Pos, "model", j.Model, sorted(b.file.Models))
			}
			if path, ok := strings.CutPrefix(j.Rubric, "file://"); ok {
				b.mustExist(at.Get("rubric"), path)
			}
		}
		out = append(out, c)
	}
	return out
}

func pattern(f *callPatternFile) *eval.CallPattern {
	if f == nil {
		return nil
	}
	return &eval.CallPattern{Tool: f.Tool, Arguments: raw(f.Arguments)}
}

// raw is a value as JSON; nil stays empty.
func raw(n *strictyaml.Node) eval.JSON {
	if n == nil {
		return nil
	}
	return n.JSON()
}
