package suite

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// steps of a script case: its list, or its single call.
func (b *build) steps(f *caseFile, known *names) []eval.Step {
	if f.Node().Field("steps") == nil {
		step := b.step(&f.actionFile, f.Node(), known)
		step.ID = "1"
		return []eval.Step{step}
	}
	if len(f.Steps) == 0 && b.sound(f.Node().Get("steps")) {
		b.report(f.Node().Place("steps"), "the case has no steps", "")
	}
	for i := range f.Steps {
		for name := range f.Steps[i].Extract {
			known.later[name] = true
		}
	}
	ids := map[string]bool{}
	var out []eval.Step
	for i := range f.Steps {
		s := &f.Steps[i]
		at := s.Node()
		if !b.keysSound(at) {
			continue
		}
		step := b.step(&s.actionFile, at, known)
		step.ID, step.Title = string(s.ID), s.Title
		if step.ID == "" {
			step.ID = strconv.Itoa(i + 1)
		}
		if ids[strings.ToLower(step.ID)] {
			b.report(at.Place("id"), fmt.Sprintf("the step id %q is taken", step.ID), "ids of steps differ inside a case; a step without one has its number")
		}
		ids[strings.ToLower(step.ID)] = true
		for name := range s.Extract {
			known.have[name] = true
		}
		out = append(out, step)
	}
	return out
}

// step builds one call or read. What it extracts is not known to itself.
func (b *build) step(f *actionFile, at *strictyaml.Node, known *names) eval.Step {
	b.checkAction(at)
	step := eval.Step{
		Call: f.Call, Read: f.Read, Arguments: raw(f.Arguments),
		Expect: raw(f.Expect), ExpectNot: raw(f.ExpectNot), ExpectText: raw(f.ExpectText),
		Extract: f.Extract,
	}
	if f.ExpectCount != nil {
		n := int(*f.ExpectCount)
		step.ExpectCount = &n
	}
	if f.ExpectError != nil {
		e := f.ExpectError.ExpectError
		step.ExpectError = &e
	}
	b.arguments(f.Arguments)
	if t := f.ExpectText; t != nil && !t.Bad && t.Kind != strictyaml.String && t.Kind != strictyaml.Map {
		b.report(t.Pos, "want a text or matchers, got "+t.Describe(), "")
	}
	for _, n := range []*strictyaml.Node{f.Expect, f.ExpectNot, asMatchers(f.ExpectText)} {
		b.expectation(n)
	}
	for _, key := range []string{"call", "read", "arguments", "expect", "expect_not", "expect_text", "expect_error"} {
		b.placeholders(at.Get(key), known)
	}
	for _, name := range sorted(f.Extract) {
		field := at.Get("extract").Field(name)
		if !variableNameRE.MatchString(name) {
			b.report(field.Key.Pos, strictyaml.Quote(name)+" is no name for a variable", "letters, digits, _ and -, beginning with a letter or _")
		}
		b.path(field.Value)
	}
	if r := f.RepeatUntil; r != nil {
		step.RepeatUntil = &eval.RepeatUntil{Path: r.Path, Equals: raw(r.Equals), Max: int(r.Max), Every: r.Every.std()}
		b.path(at.Get("repeat_until", "path"))
		b.expectation(r.Equals)
		b.placeholders(r.Equals, known)
	}
	if c := f.Collect; c != nil {
		step.Collect = &eval.Collect{Items: c.Items, Next: c.Next, Argument: c.Argument, Max: int(c.Max), Unique: c.Unique, SameAs: c.SameAs}
		for _, key := range []string{"items", "next", "unique"} {
			b.path(at.Get("collect", key))
		}
		if c.SameAs != "" {
			b.known(at.Get("collect", "same_as"), c.SameAs, known)
		}
	}
	return step
}

// arguments of a call are a map, or a placeholder that stands for one.
func (b *build) arguments(n *strictyaml.Node) {
	if n != nil && !n.Bad && n.Kind != strictyaml.Map && (n.Kind != strictyaml.String || !placeholderRE.MatchString(n.Text)) {
		b.report(n.Pos, "want a map of arguments, got "+n.Describe(), "")
	}
}

// placeholderRE matches a string that is one placeholder and nothing else.
var placeholderRE = regexp.MustCompile(`^\{\{[^{}]+\}\}$`)

// checkAction wants one call or read, and no keys that contradict each other.
func (b *build) checkAction(at *strictyaml.Node) {
	has := func(key string) bool { return at.Field(key) != nil }
	against := func(key string, others []string, why string) {
		if !has(key) {
			return
		}
		for _, other := range others {
			if has(other) {
				b.report(at.Place(other), fmt.Sprintf("%s and %s do not go together", other, key), why)
			}
		}
	}
	switch {
	case has("call") && has("read"):
		b.report(at.Place("read"), "a step has a call or a read, not both", "")
	case !has("call") && !has("read"):
		b.report(at.Pos, "the step does nothing", "give it a call or a read")
	}
	against("read", []string{"arguments", "collect"}, "a resource is read by its URI alone")
	against("expect_error", []string{"expect", "expect_not", "expect_text", "expect_count", "extract", "repeat_until", "collect"},
		"a rejected call has no value; the text of the rejection is expect_error: {contains: …}")
	against("repeat_until", []string{"collect"}, "a step polls or follows pages")
	for _, key := range []string{"call", "read"} {
		if n := at.Get(key); n != nil && n.Text == "" {
			b.report(n.Pos, key+" is empty", "")
		}
	}
}

// path checks a JSON path.
func (b *build) path(n *strictyaml.Node) {
	if n == nil || !b.sound(n) {
		return
	}
	if _, err := match.ParsePath(n.Text); err != nil {
		b.report(n.Pos, fmt.Sprintf("%s is no JSON path: %s", strictyaml.Quote(n.Text), oneLine(err)), "")
	}
}

// expectation checks the matchers of an expectation.
func (b *build) expectation(n *strictyaml.Node) {
	if n == nil || !b.sound(n) {
		return
	}
	value, err := eval.Decode(n.JSON())
	if err != nil {
		b.report(n.Pos, oneLine(err), "")
		return
	}
	for _, p := range match.Check(value) {
		b.report(at(n, p.Pointer), oneLine(p.Message), "")
	}
}

// asMatchers is an expect_text with a $ before each key: all of them are
// matchers there, since a text has no members.
func asMatchers(n *strictyaml.Node) *strictyaml.Node {
	if n == nil || n.Kind != strictyaml.Map {
		return n
	}
	out := *n
	out.Fields = nil
	for _, f := range n.Fields {
		key := *f.Key
		key.Text = "$" + strings.TrimPrefix(key.Text, "$")
		out.Fields = append(out.Fields, strictyaml.Field{Key: &key, Value: f.Value})
	}
	return &out
}

// oneLine is hostile or long text of an error as a message.
func oneLine(text any) string {
	return strings.Join(strings.Fields(fmt.Sprint(text)), " ")
}

// at finds the place that a JSON pointer (RFC 6901) leads to: its key, or the
// item of a list.
func at(n *strictyaml.Node, pointer string) strictyaml.Pos {
	pos := n.Pos
	if pointer == "" {
		return pos
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if f := n.Field(part); f != nil {
			pos, n = f.Key.Pos, f.Value
			continue
		}
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(n.Items) {
			break
		}
		n = n.Items[i]
		pos = n.Pos
	}
	return pos
}

// raw is a value as JSON; nil stays empty.
func raw(n *strictyaml.Node) eval.JSON {
	if n == nil {
		return nil
	}
	return n.JSON()
}
