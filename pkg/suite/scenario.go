package suite

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// scenarioFile is one scenario in a file of its own: what a user wants, the
// calls that are expected, and what must be found in what was said.
type scenarioFile struct {
	strictyaml.At
	Enabled            *bool              `yaml:"enabled,omitempty"`
	Name               *strictyaml.Node   `yaml:"name,omitempty"`
	Description        *strictyaml.Node   `yaml:"description,omitempty"`
	ConfigFile         *strictyaml.Node   `yaml:"config_file,omitempty"`
	UserIntent         *strictyaml.Node   `yaml:"user_intent"`
	ExpectedTrajectory []scenarioCall     `yaml:"expected_trajectory,omitempty"`
	SuccessCriteria    []*strictyaml.Node `yaml:"success_criteria,omitempty"`
	Tags               *strictyaml.Node   `yaml:"tags,omitempty"`
}

type scenarioCall struct {
	strictyaml.At
	Tool *strictyaml.Node `yaml:"tool"`
	Args *strictyaml.Node `yaml:"args,omitempty"`
	// For people.
	Action *strictyaml.Node `yaml:"action,omitempty"`
	Notes  *strictyaml.Node `yaml:"notes,omitempty"`
}

// scenarios rewrites scenario files as one suite, whose servers and models come
// from what lies below.
func (l *loader) scenarios(roots []*strictyaml.Node, below *strictyaml.Node) *strictyaml.Node {
	cases := listOf(roots[0].Pos)
	var configs []*strictyaml.Node
	for _, root := range roots {
		l.data[root.File()] = true
		if c := l.scenario(root, below); c != nil {
			cases.Items = append(cases.Items, c)
			if f := root.Field("config_file"); f != nil {
				configs = append(configs, f.Key)
			}
		}
	}
	if len(configs) > 0 { // once, and not for each of many files
		l.warn(configs[0].Pos, "config_file is not read", "servers come from --server NAME=VALUE or --with")
	}
	if l.skipped == len(roots) {
		l.report(roots[0].Place("enabled"), "no scenario is enabled", "")
	}
	return mapOf(roots[0].Pos, versionAt(roots[0].Pos), entry{"cases", cases})
}

// scenario rewrites one file as a case; nil means that it is left out.
func (l *loader) scenario(root, below *strictyaml.Node) *strictyaml.Node {
	var f scenarioFile
	l.all = append(l.all, strictyaml.Decode(withoutNulls(root), &f, strictyaml.Options{Foreign: true})...)
	if f.Enabled != nil && !*f.Enabled {
		l.skipped++
		l.warn(root.Place("enabled"), "the scenario is disabled, and left out", "")
		return nil
	}
	// One that expects tools by their plain names gets them so.
	l.namespaced[root.File()] = len(f.ExpectedTrajectory) == 0
	base := filepath.Base(root.File())
	checks := listOf(root.Pos, l.expectedCalls(&f))
	for i, n := range f.SuccessCriteria {
		if c := l.criterion(n, i+1, below); c != nil {
			checks.Items = append(checks.Items, c)
		}
	}
	return mapOf(
		root.Pos,
		entry{"id", textAt(root.Pos, strings.TrimSuffix(base, filepath.Ext(base)))},
		entry{"title", f.Name}, entry{"description", f.Description}, entry{"tags", f.Tags},
		entry{"prompt", rewrite(f.UserIntent, false)}, entry{"servers", serversOfCalls(f.ExpectedTrajectory)}, entry{"checks", checks},
	)
}

// scenarioThreshold is the least similarity with which a scenario passes.
const scenarioThreshold = "0.8"

// expectedCalls is the check of a scenario's trajectory. Without expected calls
// the run's baseline gives them.
func (l *loader) expectedCalls(f *scenarioFile) *strictyaml.Node {
	pos := f.Node().Place("expected_trajectory")
	var calls *strictyaml.Node
	for _, c := range f.ExpectedTrajectory {
		if calls == nil {
			calls = listOf(pos)
		}
		calls.Items = append(calls.Items, mapOf(c.Node().Pos, entry{"tool", rewrite(c.Tool, false)}, entry{"arguments", rewrite(c.Args, false)}))
	}
	return mapOf(pos, entry{"trajectory", mapOf(
		pos, entry{"match", textAt(pos, string(eval.MatchAligned))},
		entry{"threshold", scalarAt(pos, strictyaml.Number, scenarioThreshold)}, entry{"calls", calls},
	)})
}

// criterion is the check of one success criterion. A word or a literal is looked
// for; a sentence is for a judge, if one is named.
func (l *loader) criterion(n *strictyaml.Node, number int, below *strictyaml.Node) *strictyaml.Node {
	text := strings.TrimSpace(n.Text)
	if text == "" {
		l.report(n.Pos, "want a text, got "+n.Describe(), "")
		return nil
	}
	id := entry{"id", textAt(n.Pos, fmt.Sprintf("criterion/%d", number))}
	words := textAt(n.Pos, rewriteText(text, false))
	if !strings.ContainsAny(text, " \t\r\n") {
		return mapOf(n.Pos, id, entry{"title", words}, entry{"contains", mapOf(
			n.Pos, entry{"text", words}, entry{"in", textAt(n.Pos, string(eval.PlaceAll))},
			entry{"ignore_case", scalarAt(n.Pos, strictyaml.Bool, "true")},
		)})
	}
	judge := mapOf(n.Pos, entry{"rubric", words})
	l.undecided[judge] = below.Get("defaults", "judge") == nil
	return mapOf(n.Pos, id, entry{"title", words}, entry{"judge", judge})
}

// prefixedToolRE matches the name of a tool that says which server has it.
var prefixedToolRE = regexp.MustCompile(`^` + toolPrefix + `(.+?)__.+$`)

// serversOfCalls lists the servers that the names of tools begin with; nil means
// that none does.
func serversOfCalls(calls []scenarioCall) *strictyaml.Node {
	var out *strictyaml.Node
	for _, c := range calls {
		if c.Tool == nil {
			continue // reported as missing
		}
		m := prefixedToolRE.FindStringSubmatch(c.Tool.Text)
		if m == nil || out != nil && slices.ContainsFunc(out.Items, func(n *strictyaml.Node) bool { return n.Text == m[1] }) {
			continue
		}
		if out == nil {
			out = listOf(c.Tool.Pos)
		}
		out.Items = append(out.Items, textAt(c.Tool.Pos, m[1]))
	}
	return out
}
