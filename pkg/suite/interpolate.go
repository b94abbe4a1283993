package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// An interpolation evaluates ${{ … }} on the parsed strings of a suite, so that
// no value can change the structure of the file.
type interpolation struct {
	*problems
	lookupEnv func(string) (string, bool)
	vars      map[string]*strictyaml.Node
	axes      []string
	// lenient takes any value for an environment variable that is not set.
	lenient bool
	// secretless is true of a suite that somebody else has sent.
	secretless bool
}

// Evaluate fills in the ${{ env.NAME }} of a file that is no suite, as [Load] does
// in models, and leaves references to secrets to the worker.
func Evaluate(n *strictyaml.Node, lookupEnv func(string) (string, bool)) []strictyaml.Problem {
	in := interpolation{problems: &problems{}, lookupEnv: lookupEnv}
	in.node(n, scope{secrets: true})
	return in.all
}

// scope says what an expression may refer to at a place, and how what is filled
// in must be written there.
type scope struct {
	vars, axis, secrets bool
	// template marks strings in which {{ begins a placeholder.
	template bool
}

// root evaluates the expressions of a whole suite file.
func (in *interpolation) root(n *strictyaml.Node) {
	in.vars = map[string]*strictyaml.Node{}
	if v := n.Get("vars"); v != nil {
		in.node(v, scope{})
		for _, f := range v.Fields {
			in.vars[f.Key.Text] = f.Value
		}
	}
	if a := n.Get("axes"); a != nil {
		for _, f := range a.Fields {
			in.axes = append(in.axes, f.Key.Text)
		}
	}
	for _, f := range n.Fields {
		switch key := f.Key.Text; {
		case key == "vars" || strings.HasPrefix(key, freePrefix):
		case key == "servers" || key == "models":
			in.node(f.Value, scope{vars: true, secrets: true})
		case key == "axes":
			for _, axis := range f.Value.Fields {
				in.axis(axis.Value)
			}
		case key == "agent":
			in.inCase(f.Value, "agent")
		case key == "cases":
			for _, c := range f.Value.Items {
				in.testCase(c)
			}
		case key == "include":
			for _, entry := range f.Value.Items {
				in.include(entry)
			}
		default:
			in.node(f.Value, scope{vars: true})
		}
	}
}

func (in *interpolation) include(n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		in.node(n, scope{vars: true})
		return
	}
	for _, f := range n.Fields {
		if f.Key.Text == "case" {
			in.testCase(f.Value)
		} else {
			in.node(f.Value, scope{vars: true})
		}
	}
}

// axis evaluates the points of an axis. Secrets are for what reaches servers.
func (in *interpolation) axis(n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		in.node(n, scope{vars: true, secrets: true})
		return
	}
	for _, point := range n.Fields {
		if point.Value.Kind != strictyaml.Map {
			in.node(point.Value, scope{vars: true, secrets: true})
		}
		for _, f := range point.Value.Fields {
			if f.Key.Text == "agent" {
				in.inCase(f.Value, "agent")
			} else {
				in.node(f.Value, scope{vars: true, secrets: true})
			}
		}
	}
}

func (in *interpolation) testCase(n *strictyaml.Node) {
	for _, f := range n.Fields {
		in.inCase(f.Value, f.Key.Text)
	}
}

// inCase evaluates what stands below a key of a case.
func (in *interpolation) inCase(n *strictyaml.Node, key string) {
	if (key == "agent" || key == "user") && n.Kind == strictyaml.Map {
		for _, f := range n.Fields {
			in.inCase(f.Value, key+"."+f.Key.Text)
		}
		return
	}
	in.node(n, scope{vars: true, axis: templated(key), template: templated(key)})
}

// templated says whether {{name}} has a meaning below a key of a case. It has
// none in names, in tags and in the values of variables, which are data.
func templated(key string) bool {
	switch key {
	case "id", "title", "description", "vars", "each", "tags", "labels", "requires", "server", "servers", "model",
		"repeats", "limits", "catalog", "stop_on_failure", "threshold":
		return false
	case "agent.system", "agent.descriptions", "user.turns", "user.persona", "user.goal":
		return true
	}
	return !strings.HasPrefix(key, "agent.") && !strings.HasPrefix(key, "user.")
}

func (in *interpolation) node(n *strictyaml.Node, s scope) {
	n.Walk(func(v *strictyaml.Node) {
		if v.Kind == strictyaml.String && strings.Contains(v.Text, "${{") {
			in.text(v, s)
		}
	})
}

// expressionRE matches ${{ space.NAME | filter(…) | … }} at the start of a text.
// What is in quotes may hold any character but its quote.
var expressionRE = regexp.MustCompile(`^\$\{\{\s*([A-Za-z]+)\.([A-Za-z_][A-Za-z0-9_-]*)\s*((?:\|\s*[a-z]+\s*\(\s*(?:'[^']*'|"[^"]*"|[^'"()|{}]*)\s*\)\s*)*)\}\}`)

var filterRE = regexp.MustCompile(`\|\s*([a-z]+)\s*\(\s*('[^']*'|"[^"]*"|[^'"()|{}]*?)\s*\)`)

// text evaluates the expressions of one string.
func (in *interpolation) text(n *strictyaml.Node, s scope) {
	if m := expressionRE.FindStringSubmatch(n.Text); m != nil && m[0] == n.Text {
		value := in.evaluate(n, m, s)
		if value == nil {
			n.Bad = true
			return
		}
		pos := n.Pos
		*n = *value
		n.Pos, n.Loose = pos, true
		return
	}
	var out strings.Builder
	for rest := n.Text; rest != ""; {
		i := strings.Index(rest, "${{")
		if i < 0 {
			out.WriteString(rest)
			break
		}
		if i > 0 && rest[i-1] == '$' {
			// $${{ stands for ${{. Where secrets stay references the worker would
			// take it for one.
			if s.secrets {
				in.report(n.Pos, "a literal ${{ cannot be used here", "in servers, models and axes ${{ always begins an expression")
				n.Bad = true
				return
			}
			out.WriteString(rest[:i-1] + "$" + written("{{", s))
			rest = rest[i+3:]
			continue
		}
		out.WriteString(rest[:i])
		m := expressionRE.FindStringSubmatch(rest[i:])
		if m == nil {
			in.report(n.Pos, "cannot read the expression "+strictyaml.Quote(rest[i:]),
				"write ${{ env.NAME }}, ${{ env.NAME | default('text') }} or ${{ vars.NAME }}; $${{ for a literal ${{")
			n.Bad = true
			return
		}
		value := in.evaluate(n, m, s)
		if value == nil {
			n.Bad = true
			return
		}
		out.WriteString(asText(value))
		rest = rest[i+len(m[0]):]
	}
	n.Text, n.Loose = out.String(), true
}

// written escapes what a value holds by chance, so that data stays data.
func written(text string, s scope) string {
	if s.template {
		return strings.ReplaceAll(text, "{{", "{{{{")
	}
	return text
}

// asText is a value inside a longer string.
func asText(n *strictyaml.Node) string {
	if n.Kind == strictyaml.List || n.Kind == strictyaml.Map {
		return string(n.JSON())
	}
	return n.Text
}

// clone copies a value, changing its strings.
func clone(n *strictyaml.Node, change func(string) string) *strictyaml.Node {
	out := *n
	if n.Kind == strictyaml.String {
		out.Text = change(n.Text)
	}
	out.Items, out.Fields = nil, nil
	for _, item := range n.Items {
		out.Items = append(out.Items, clone(item, change))
	}
	for _, f := range n.Fields {
		out.Fields = append(out.Fields, strictyaml.Field{Key: f.Key, Value: clone(f.Value, change)})
	}
	return &out
}

// evaluate gives the value of a matched expression, escaped for its place; nil
// means that it reported why there is none.
func (in *interpolation) evaluate(n *strictyaml.Node, m []string, s scope) *strictyaml.Node {
	space, name, filters := m[1], m[2], filterRE.FindAllStringSubmatch(m[3], -1)
	if space == "secrets" || space == "axis" {
		text, ok := in.reference(n, space, name, s)
		if ok && len(filters) > 0 {
			in.report(n.Pos, fmt.Sprintf("%s.%s has no filters", space, name), "its value is known when a trial runs")
			return nil
		}
		return filled(n, text, ok)
	}
	value, ok := in.lookup(n, space, name, s)
	if ok {
		value, ok = in.filtered(n, value, space+"."+name, filters)
	}
	switch {
	case !ok:
		return nil
	case value == nil && space == "env" && in.lenient:
		return filled(n, "", true)
	case value == nil && space == "env":
		in.report(n.Pos, fmt.Sprintf("the environment variable %s is not set", name), fmt.Sprintf("set it, or write ${{ env.%s | default('…') }}", name))
		return nil
	case value == nil:
		in.unknownName(n.Pos, "var", name, sorted(in.vars))
		return nil
	case !in.fill(n.Pos, len(value.JSON())):
		return nil
	case s.secrets && strings.Contains(string(value.JSON()), "${{"):
		in.report(n.Pos, fmt.Sprintf("the value of %s.%s holds ${{, which would be read as a reference", space, name), "")
		return nil
	}
	return clone(value, func(text string) string { return written(text, s) })
}

// filled is a text that takes the place of an expression.
func filled(n *strictyaml.Node, text string, ok bool) *strictyaml.Node {
	if !ok {
		return nil
	}
	return &strictyaml.Node{Pos: n.Pos, Kind: strictyaml.String, Text: text, Loose: true}
}

// reference is what stays of an expression whose value is known only when a
// trial runs. False means that it reported why it is not allowed.
func (in *interpolation) reference(n *strictyaml.Node, space, name string, s scope) (string, bool) {
	switch {
	case space == "secrets" && !s.secrets:
		in.report(n.Pos, fmt.Sprintf("secrets.%s cannot be used here", name), "secrets are for servers, models and axes; they never enter a case")
	case space == "secrets" && in.secretless:
		in.report(n.Pos, fmt.Sprintf("secrets.%s cannot be used here: a suite that is sent has no secrets", name),
			"register what needs it in the scheduler's farm.yaml, under servers or providers, with its secret")
	case space == "secrets" && strings.Contains(name, "-"):
		in.report(n.Pos, strictyaml.Quote(name)+" is no name for a secret", "letters, digits and _")
	case space == "secrets":
		return fmt.Sprintf("${{ secrets.%s }}", name), true
	case !s.axis:
		in.report(n.Pos, fmt.Sprintf("axis.%s cannot be used here", name), "the values of axes are known in cases only")
	case !slices.Contains(in.axes, name):
		in.unknownName(n.Pos, "axis", name, in.axes)
	default:
		return "{{axis." + name + "}}", true
	}
	return "", false
}

// lookup finds the value of a name; nil means that it has none. False means that
// it reported why the name cannot be used.
func (in *interpolation) lookup(n *strictyaml.Node, space, name string, s scope) (*strictyaml.Node, bool) {
	switch space {
	case "env":
		if secretNameRE.MatchString(name) {
			in.report(n.Pos, fmt.Sprintf("env.%s looks like a secret, and values of env are stored with the run", name),
				fmt.Sprintf("use ${{ secrets.%s }} in a server, a model or an axis", name))
			return nil, false
		}
		text, ok := in.lookupEnv(name)
		return filled(n, text, ok && text != ""), true
	case "vars":
		switch {
		case in.vars == nil:
			in.report(n.Pos, "there are no vars here", "vars are those of a suite; only env and secrets may be used here")
			return nil, false
		case !s.vars:
			in.report(n.Pos, "vars cannot refer to vars", "only env may be used here")
			return nil, false
		}
		return in.vars[name], true
	}
	in.unknownName(n.Pos, "namespace", space, []string{"env", "vars", "axis", "secrets"})
	return nil, false
}

// filtered applies default and required. False means that it reported an error.
func (in *interpolation) filtered(n, value *strictyaml.Node, name string, filters [][]string) (*strictyaml.Node, bool) {
	for _, f := range filters {
		argument := literal(n, f[2])
		switch {
		case f[1] != "default" && f[1] != "required":
			in.unknownName(n.Pos, "filter", f[1], []string{"default", "required"})
			return nil, false
		case value != nil:
		case f[1] == "default":
			value = argument
		default:
			message := name + " is required"
			if argument.Text != "" {
				message += ": " + argument.Text
			}
			in.report(n.Pos, message, "")
			return nil, false
		}
	}
	return value, true
}

// literal reads the argument of a filter: a quoted text, a number, true, false
// or null; anything else is text.
func literal(n *strictyaml.Node, s string) *strictyaml.Node {
	out := &strictyaml.Node{Pos: n.Pos, Kind: strictyaml.String, Text: s}
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') {
		out.Text = s[1 : len(s)-1]
		return out
	}
	if v, problems := strictyaml.Parse("literal.json", []byte(s)); v != nil && len(problems) == 0 && len(v.Items)+len(v.Fields) == 0 {
		v.Pos = n.Pos
		return v
	}
	return out
}

// secretNameRE matches names of environment variables that usually hold a secret.
var secretNameRE = regexp.MustCompile(`(?i)(^|_)(API)?(KEYS?|TOKEN|SECRETS?|PASS|PASSWD|PASSWORDS?|PASSPHRASE|CREDENTIALS?|PAT)(_|$)|APIKEY`)

// setVars replaces variables of the suite from the command line. A value for a
// variable that is a number, a boolean, a list or a map is read as JSON.
func (in *interpolation) setVars(n *strictyaml.Node, file string, set map[string]string) {
	for _, name := range sorted(set) {
		old := n.Get("vars", name)
		if old == nil {
			p := strictyaml.Problem{File: file, Message: fmt.Sprintf("there is no var %s to set", strconv.Quote(name))}
			if v := n.Get("vars"); v != nil {
				p.Hint = strictyaml.DidYouMean(name, keys(v))
			}
			in.all = append(in.all, p)
			continue
		}
		value := &strictyaml.Node{Kind: strictyaml.String, Text: set[name]}
		if old.Kind != strictyaml.String && old.Kind != strictyaml.Null {
			v, problems := strictyaml.Parse("value.json", []byte(set[name]))
			if v == nil || len(problems) > 0 || v.Kind != old.Kind {
				in.all = append(in.all, strictyaml.Problem{File: file, Message: fmt.Sprintf(
					"the value %s for var %s has not the type of the suite's %s", strictyaml.Quote(set[name]), name, old.Describe(),
				)})
				continue
			}
			value = v
		}
		pos := old.Pos
		*old = *value
		old.Pos = pos
	}
}

func keys(n *strictyaml.Node) []string {
	var out []string
	for _, f := range n.Fields {
		out = append(out, f.Key.Text)
	}
	return out
}
