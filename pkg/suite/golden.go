package suite

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// goldenFile is a golden data set in JSON: single calls, and workflows of calls
// that hand values on.
type goldenFile struct {
	Name        *strictyaml.Node `yaml:"name,omitempty"`
	Description *strictyaml.Node `yaml:"description,omitempty"`
	Cases       []goldenCase     `yaml:"cases,omitempty"`
	Workflows   []goldenWorkflow `yaml:"workflows,omitempty"`
}

type goldenWorkflow struct {
	strictyaml.At
	ID          *strictyaml.Node `yaml:"id"`
	Description *strictyaml.Node `yaml:"description,omitempty"`
	Steps       []goldenCase     `yaml:"steps"`
}

type goldenCase struct {
	strictyaml.At
	ID            *strictyaml.Node `yaml:"id"`
	Description   *strictyaml.Node `yaml:"description,omitempty"`
	Tool          *strictyaml.Node `yaml:"tool"`
	Arguments     *strictyaml.Node `yaml:"arguments,omitempty"`
	Expect        *strictyaml.Node `yaml:"expect,omitempty"`
	ExpectCount   *strictyaml.Node `yaml:"expectCount,omitempty"`
	ExpectError   bool             `yaml:"expectError,omitempty"`
	ErrorContains string           `yaml:"errorContains,omitempty"`
	ExtractField  string           `yaml:"extractField,omitempty"`
	ExtractAs     string           `yaml:"extractAs,omitempty"`
}

// golden rewrites a golden data set as a suite: the same tree, in our words and
// with the positions of the file.
func (l *loader) golden(root *strictyaml.Node) *strictyaml.Node {
	var g goldenFile
	l.all = append(l.all, strictyaml.Decode(withoutNulls(root), &g, strictyaml.Options{Foreign: true})...)
	cases := &strictyaml.Node{Pos: root.Place("cases"), Kind: strictyaml.List}
	for i := range g.Cases {
		cases.Items = append(cases.Items, l.goldenCall(&g.Cases[i], false))
	}
	for i := range g.Workflows {
		w := &g.Workflows[i]
		steps := &strictyaml.Node{Pos: w.Node().Place("steps"), Kind: strictyaml.List}
		for j := range w.Steps {
			steps.Items = append(steps.Items, l.goldenCall(&w.Steps[j], true))
		}
		cases.Items = append(cases.Items, mapOf(w.Node().Pos, entry{"id", w.ID}, entry{"title", w.Description}, entry{"steps", steps}))
	}
	return mapOf(root.Pos, versionAt(root.Pos), entry{"name", g.Name}, entry{"description", g.Description}, entry{"cases", cases})
}

// goldenCall rewrites one call; in a workflow it is a step.
func (l *loader) goldenCall(g *goldenCase, step bool) *strictyaml.Node {
	at := g.Node()
	out := mapOf(at.Pos,
		entry{"id", g.ID}, entry{"title", g.Description}, entry{"call", rewrite(g.Tool, false)},
		entry{"arguments", rewrite(g.Arguments, step)}, entry{"expect", rewrite(g.Expect, false)}, entry{"expect_count", g.ExpectCount})
	add := func(key, from string, value *strictyaml.Node) {
		value.Pos = at.Place(from)
		out.Fields = append(out.Fields, mapOf(value.Pos, entry{key, value}).Fields...)
	}
	switch {
	case g.ExpectError:
		add("expect_error", "expectError", &strictyaml.Node{Kind: strictyaml.String, Text: rewriteText(g.ErrorContains, false)})
	case g.ErrorContains != "":
		l.warn(at.Place("errorContains"), "errorContains without expectError: true has no effect", "")
	}
	switch {
	case g.ExtractField != "" && g.ExtractAs != "":
		path := &strictyaml.Node{Pos: at.Place("extractField"), Kind: strictyaml.String, Text: memberPath(g.ExtractField)}
		add("extract", "extractAs", mapOf(path.Pos, entry{g.ExtractAs, path}))
	case g.ExtractField != "" || g.ExtractAs != "":
		l.report(at.Pos, "extractField and extractAs belong together", "")
	}
	return out
}

// rewrite makes a value of a golden file a template of ours: what looks like a
// placeholder is escaped, and in steps ${name} becomes {{name}}.
func rewrite(n *strictyaml.Node, step bool) *strictyaml.Node {
	if n == nil {
		return nil
	}
	return clone(n, func(s string) string { return rewriteText(s, step) })
}

var goldenVariableRE = regexp.MustCompile(`\{\{|\$\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

func rewriteText(s string, step bool) string {
	return goldenVariableRE.ReplaceAllStringFunc(s, func(match string) string {
		switch {
		case match == "{{":
			return "{{{{"
		case step:
			return "{{" + match[len("${"):len(match)-1] + "}}"
		}
		return match
	})
}

// memberPath is the JSON path of one member of the root, whatever its name.
func memberPath(name string) string {
	if variableNameRE.MatchString(name) {
		return name
	}
	return fmt.Sprintf("$['%s']", strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(name))
}
