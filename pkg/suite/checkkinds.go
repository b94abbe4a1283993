package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schema"
	"github.com/evalfarm/evalfarm/pkg/sensitive"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

func (b *checkBuild) textCheck(f *textFile) *eval.TextCheck {
	return &eval.TextCheck{In: eval.Place(f.In), IgnoreCase: f.IgnoreCase}
}

// regex checks an expression. One with placeholders is none before they are
// filled.
func (b *checkBuild) regex(n *strictyaml.Node) {
	if n == nil || !b.sound(n) || hasPlaceholders(n) {
		return
	}
	text, err := vars.FillString(n.Text, nil) // {{{{ is {{
	if err != nil {
		return // reported as a placeholder
	}
	if _, err := regexp.Compile(text); err != nil {
		b.report(n.Pos, oneLine(err), "the syntax is that of RE2")
	}
}

// hasPlaceholders says whether a string of a value has a placeholder, or what
// cannot be read as one.
func hasPlaceholders(n *strictyaml.Node) bool {
	has := false
	n.Walk(func(v *strictyaml.Node) {
		if v.Kind == strictyaml.String {
			names, err := vars.NamesIn(v.Text)
			has = has || err != nil || len(names) > 0
		}
	})
	return has
}

func (b *checkBuild) jsonCheck(f *jsonFile) *eval.JSONCheck {
	at := f.Node()
	out := &eval.JSONCheck{Tool: f.Tool, Path: f.Path, Match: raw(f.Match), Schema: raw(f.Schema), Count: (*int)(f.Count)}
	if f.Match == nil && f.Schema == nil && at.Field("count") == nil {
		b.report(at.Pos, "the check wants nothing of the value", "give it match, schema or count")
	}
	b.toolName(at.Get("tool"))
	if n := at.Get("path"); n != nil && !hasPlaceholders(n) {
		b.path(n)
	}
	b.expectation(f.Match)
	b.schema(f.Schema)
	return out
}

// schema checks a JSON Schema. One with placeholders is none before they are
// filled.
func (b *checkBuild) schema(n *strictyaml.Node) {
	if n == nil || !b.sound(n) || hasPlaceholders(n) {
		return
	}
	text, err := vars.Fill(n.JSON(), nil)
	if err != nil {
		return // reported as a placeholder
	}
	if _, err := schema.Compile(text); err != nil {
		b.report(n.Pos, oneLine(err), "")
	}
}

func (b *checkBuild) calledCheck(f *calledFile) *eval.CallCheck {
	at := f.Node()
	out := &eval.CallCheck{CallPattern: b.pattern(&f.callFile, at), Times: (*int)(f.Times), Min: (*int)(f.Min), Max: (*int)(f.Max)}
	if f.Times != nil && (f.Min != nil || f.Max != nil) {
		b.report(at.Place("times"), "times does not go together with min and max", "")
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		b.report(at.Place("min"), "min is more than max", "")
	}
	return out
}

// pattern selects calls; at is the name of the tool, or a map.
func (b *checkBuild) pattern(f *callFile, at *strictyaml.Node) eval.CallPattern {
	tool := inForm(at, "tool")
	b.filledText(tool, "the name of the tool")
	b.toolName(tool)
	b.arguments(f.Arguments)
	b.expectation(f.Arguments)
	return eval.CallPattern{Tool: f.Tool, Arguments: raw(f.Arguments)}
}

// toolName warns of a tool's name for models that has a server which the case
// does not talk to: no call has it.
func (b *checkBuild) toolName(n *strictyaml.Node) {
	if n == nil || !b.sound(n) || !strings.HasPrefix(n.Text, toolPrefix) || hasPlaceholders(n) {
		return
	}
	servers := b.servedBy()
	if len(servers) > 0 && !slices.ContainsFunc(servers, func(s string) bool { return strings.HasPrefix(n.Text, toolPrefix+s+"__") }) {
		b.warn(n.Pos, fmt.Sprintf("%s names no server of the case", strictyaml.Quote(n.Text)), "its servers: "+strings.Join(servers, ", "))
	}
}

// toolPrefix begins the names that models know tools by when a case has several
// servers: mcp__SERVER__TOOL.
const toolPrefix = "mcp__"

// servedBy lists the servers that the case may talk to.
func (b *checkBuild) servedBy() []string {
	switch {
	case len(b.c.Servers) > 0:
		return b.c.Servers
	case b.c.Server != "":
		return []string{b.c.Server}
	}
	return sorted(b.suite.Servers)
}

func (b *checkBuild) rejectedCheck(f *rejectedFile) *eval.RejectedCheck {
	b.toolName(f.Node().Get("tool"))
	return &eval.RejectedCheck{
		Tool:        f.Tool,
		ExpectError: eval.ExpectError{Kind: eval.ErrorKind(f.Kind), Contains: f.Contains, Code: f.Code},
	}
}

func (b *checkBuild) trajectoryCheck(f *trajectoryFile, c *eval.Check) *eval.TrajectoryCheck {
	at := f.Node()
	out := &eval.TrajectoryCheck{Match: eval.Match(f.Match), Baseline: f.Baseline}
	if f.Threshold != nil {
		if c.Threshold != nil {
			b.report(at.Place("threshold"), "the check has a threshold already", "")
		}
		c.Threshold = (*float64)(f.Threshold)
	}
	calls, baseline := at.Get("calls"), at.Get("baseline")
	switch {
	case calls != nil && baseline != nil:
		b.report(at.Place("baseline"), "calls and baseline do not go together", "")
	case calls != nil && len(calls.Items) == 0 && b.sound(calls):
		b.report(calls.Pos, "no calls are expected", "that nothing is called is at_most: {tool_calls: 0}")
	case baseline != nil:
		b.filledText(baseline, "baseline")
	}
	for i := range f.Calls {
		if n := f.Calls[i].Node(); b.keysSound(n) {
			out.Calls = append(out.Calls, b.pattern(&f.Calls[i].callFile, n))
		}
	}
	for _, name := range sorted(f.Compare) {
		if out.Compare == nil {
			out.Compare = map[string]eval.Comparison{}
		}
		out.Compare[name] = b.comparison(f.Compare[name])
	}
	b.compared(f)
	return out
}

func (b *checkBuild) comparison(f compareFile) eval.Comparison {
	out := eval.Comparison{How: string(f.How), Regex: f.Regex}
	b.regex(f.Node().Get("regex"))
	if n := f.Number; n != nil {
		out.Number = &eval.Tolerance{}
		if n.Relative != nil {
			out.Number.Relative = float64(*n.Relative)
		}
		if n.Absolute != nil {
			out.Number.Absolute = float64(*n.Absolute)
		}
	}
	return out
}

func (b *checkBuild) atMostCheck(f *atMostFile) *eval.AtMostCheck {
	at := f.Node()
	if len(at.Fields) == 0 {
		b.report(at.Pos, "the check bounds nothing", "")
	}
	out := &eval.AtMostCheck{
		Turns: (*int)(f.Turns), ToolCalls: (*int)(f.ToolCalls), ToolErrors: (*int)(f.ToolErrors),
		InvalidCalls: (*int)(f.InvalidCalls), Tokens: (*int)(f.Tokens), Time: f.Time.std(),
	}
	if f.CostUSD > 0 {
		cost := int64(f.CostUSD)
		out.CostMicroUSD = &cost
	}
	return out
}

func (b *checkBuild) sensitiveCheck(f *noSensitiveFile) *eval.SensitiveCheck {
	at := f.Node()
	if kinds := at.Get("kinds"); kinds != nil && len(kinds.Items) == 0 && b.sound(kinds) {
		b.report(kinds.Pos, "no kinds to look for", "leave it out for all")
	}
	for i, name := range f.Kinds {
		if n := at.Get("kinds").Items[i]; b.sound(n) && !sensitive.Known(name) {
			b.unknownName(n.Pos, "kind of sensitive data", name, sensitiveKinds())
		}
	}
	return &eval.SensitiveCheck{Kinds: f.Kinds, In: eval.Place(f.In), Allow: f.Allow}
}

// sensitiveKinds are the groups of sensitive data, and the kinds in them.
func sensitiveKinds() []string {
	names := []string{sensitive.Secrets, sensitive.Personal}
	for _, k := range sensitive.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

func (b *checkBuild) judgeCheck(f *judgeFile) *eval.JudgeCheck {
	at := f.Node()
	rubric, reference := b.text(at.Get("rubric")), b.text(at.Get("reference"))
	for _, n := range []*strictyaml.Node{rubric, reference} {
		b.filledText(n, "the text for the judge")
		b.placeholders(n, b.known)
		b.fill(at.Pos, len(textOf(n)))
	}
	otherwise := ""
	if d := b.file.Defaults; d != nil {
		otherwise = d.Judge
	}
	return &eval.JudgeCheck{
		Rubric: textOf(rubric), Reference: textOf(reference), Votes: int(f.Votes),
		Model: b.roleModel(at, otherwise, "write model: in the judge, or defaults: {judge: …}"),
	}
}
