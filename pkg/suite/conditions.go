package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// fixtureFile compares conditions, which are ways in which an agent gets its
// tools, over the same scenarios.
type fixtureFile struct {
	Version       *strictyaml.Node   `yaml:"version,omitempty"`
	Revision      *strictyaml.Node   `yaml:"fixture_revision,omitempty"`
	MinimumTrials positive           `yaml:"minimum_trials_per_condition,omitempty"`
	Oracle        *oracleFile        `yaml:"external_oracle,omitempty"`
	Controlled    []string           `yaml:"controlled_variables,omitempty"`
	Conditions    []fixtureCondition `yaml:"conditions"`
	Scenarios     []fixtureScenario  `yaml:"scenarios"`
	Semantic      []*strictyaml.Node `yaml:"semantic_metrics,omitempty"`
	Efficiency    []string           `yaml:"efficiency_metrics,omitempty"`
}

type oracleFile struct {
	strictyaml.At
	Version string `yaml:"version,omitempty"`
	SHA256  string `yaml:"sha256"`
}

type fixtureCondition struct {
	strictyaml.At
	ID          *strictyaml.Node `yaml:"id,omitempty"`
	CatalogMode string           `yaml:"catalog_mode,omitempty"`
	LoadingMode *strictyaml.Node `yaml:"loading_mode"`
}

type fixtureScenario struct {
	strictyaml.At
	ID     *strictyaml.Node `yaml:"id"`
	Prompt *strictyaml.Node `yaml:"prompt"`
}

// conditions rewrites a condition fixture as a suite. What it says of the run as
// a whole, and our format has no words for, is kept beside the tree.
func (l *loader) conditions(root, below *strictyaml.Node) *strictyaml.Node {
	var f fixtureFile
	l.data[root.File()] = true
	l.all = append(l.all, strictyaml.Decode(withoutNulls(root), &f, strictyaml.Options{Foreign: true})...)
	cases := listOf(root.Place("scenarios"))
	for _, s := range f.Scenarios {
		at := s.Node()
		cases.Items = append(cases.Items, mapOf(
			at.Pos, entry{"id", s.ID}, entry{"prompt", rewrite(s.Prompt, false)}, entry{"checks", l.semantic(root, f.Semantic)},
		))
	}
	out := mapOf(root.Pos, versionAt(root.Pos), entry{"axes", l.loadings(root, f.Conditions)}, entry{"cases", cases})
	if f.Revision != nil {
		out.Fields = append(out.Fields, mapOf(f.Revision.Pos, entry{"conditions", mapOf(f.Revision.Pos, entry{"fixture", f.Revision})}).Fields...)
	}
	if pos := root.Place("minimum_trials_per_condition"); f.MinimumTrials > 0 && below.Get("repeats") == nil {
		repeats := scalarAt(pos, strictyaml.Number, strconv.Itoa(int(f.MinimumTrials)))
		out.Fields = append(out.Fields, mapOf(pos, entry{"repeats", repeats}).Fields...)
	}
	l.fixture = eval.Suite{MinRepeats: int(f.MinimumTrials), Controlled: f.Controlled, Metrics: f.Efficiency, Oracle: l.oracle(f.Oracle)}
	l.knownWords(root.Get("controlled_variables"), "controlled variable", controlledVariables())
	l.knownWords(root.Get("efficiency_metrics"), "efficiency metric", efficiencyMetrics())
	return out
}

// loadings makes the axis of the conditions, which differ in how tools are
// loaded.
func (l *loader) loadings(root *strictyaml.Node, conditions []fixtureCondition) *strictyaml.Node {
	values := listOf(root.Place("conditions"))
	modes := map[string]eval.Loading{"eager": eval.LoadingEager, "host_tool_search": eval.LoadingSearch}
	for _, c := range conditions {
		if c.CatalogMode != "" && c.CatalogMode != "all" {
			l.unsupported.report(c.Node().Place("catalog_mode"), "a catalog cannot be narrowed yet", "")
		}
		n := c.LoadingMode
		if n == nil {
			continue // reported as missing
		}
		loading, ok := modes[n.Text]
		if !ok {
			l.unknownName(n.Pos, "loading mode", n.Text, sorted(modes))
			continue
		}
		values.Items = append(values.Items, textAt(n.Pos, string(loading)))
	}
	return mapOf(values.Pos, entry{eval.AxisLoading, values})
}

// semantic makes a check of each metric that an oracle or a reviewer decides,
// after the run.
func (l *loader) semantic(root *strictyaml.Node, metrics []*strictyaml.Node) *strictyaml.Node {
	checks := listOf(root.Place("semantic_metrics"))
	for _, n := range metrics {
		words := textAt(n.Pos, strings.ReplaceAll(n.Text, "_", " "))
		judge := mapOf(n.Pos, entry{"rubric", words})
		l.undecided[judge] = true
		checks.Items = append(checks.Items, mapOf(n.Pos, entry{"id", n}, entry{"title", words}, entry{"judge", judge}))
	}
	return checks
}

// sha256RE matches a sha256 in hex.
var sha256RE = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (l *loader) oracle(f *oracleFile) *eval.Oracle {
	if f == nil {
		return nil
	}
	if n := f.Node().Get("sha256"); n != nil && !sha256RE.MatchString(f.SHA256) {
		l.report(n.Pos, strictyaml.Quote(n.Text)+" is no sha256", "64 hex digits")
	}
	return &eval.Oracle{Version: f.Version, SHA256: f.SHA256}
}

// knownWords warns of words of a list that mean nothing to the farm.
func (l *loader) knownWords(list *strictyaml.Node, what string, known []string) {
	if list == nil {
		return
	}
	for _, n := range list.Items {
		if !slices.Contains(known, n.Text) {
			l.warn(n.Pos, fmt.Sprintf("the farm knows no %s %s", what, strictyaml.Quote(n.Text)), strictyaml.DidYouMean(n.Text, known))
		}
	}
}

// controlledVariables are what may be held equal between conditions.
func controlledVariables() []string {
	return []string{"model", "sampling_settings", "catalog_fingerprint", "snapshot_token", "permissions", "task_prompt", "token_budget"}
}

// efficiencyMetrics are what the farm measures of every agent trial.
func efficiencyMetrics() []string {
	return []string{
		"initial_tool_context_tokens", "loaded_tool_context_tokens", "tool_search_calls", "operational_tool_calls",
		"invalid_calls", "latency_ms", "native_fallback",
	}
}
