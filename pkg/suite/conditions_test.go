package suite_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const fixture = `{
  "version": "tool-eval.v5", "fixture_revision": "r1", "minimum_trials_per_condition": 3, "owner": "somebody",
  "external_oracle": {"version": "oracle.v5", "sha256": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
  "controlled_variables": ["model", "token_budgets"],
  "conditions": [
    {"id": "all_eager", "catalog_mode": "all", "loading_mode": "eager"},
    {"id": "all_search", "catalog_mode": "all", "loading_mode": "host_tool_search"}
  ],
  "scenarios": [{"id": "research", "prompt": "Look at {{this}}."}, {"id": "compare", "prompt": "Compare."}],
  "semantic_metrics": ["task_success"],
  "efficiency_metrics": ["latency_ms", "invalid_calls"]
}
`

func TestConditions(t *testing.T) {
	loaded, err := loadForeign(t, map[string]string{"public.json": fixture, "with.yaml": scenarioWith + "defaults: {judge: m}\n"}, "public.json", "srv")
	if err != nil {
		t.Fatal(err)
	}
	// A judge that is named is none for these: what an oracle decides is left to it.
	checks := []eval.Check{{ID: "task_success", Title: "task success", Text: &eval.TextCheck{Contains: new("task success"), Sentence: true}}}
	want := eval.Suite{
		Name:    "public",
		Servers: map[string]eval.Server{"default": {Command: []string{"srv"}}},
		Models:  map[string]eval.Model{"m": {Provider: eval.ProviderOpenAI, Model: "x"}},
		Axes:    []eval.Axis{{Name: eval.AxisLoading, Points: []eval.Point{{Value: "eager"}, {Value: "search"}}}},
		Repeats: eval.Repeats{N: 3},
		Cases: []eval.Case{
			{ID: "research", Kind: eval.KindAgent, Server: "default", Model: "m", Prompt: "Look at {{{{this}}.", Checks: checks},
			{ID: "compare", Kind: eval.KindAgent, Server: "default", Model: "m", Prompt: "Compare.", Checks: checks},
		},
		Conditions: map[string]string{"fixture": "r1"},
		MinRepeats: 3,
		Controlled: []string{"model", "token_budgets"},
		Metrics:    []string{"latency_ms", "invalid_calls"},
		Oracle:     &eval.Oracle{Version: "oracle.v5", SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	}
	if diff := cmp.Diff(want, loaded.Suite); diff != "" {
		t.Errorf("suite differs (-want +got):\n%s", diff)
	}
	var warnings []string
	for _, w := range loaded.Warnings {
		warnings = append(warnings, w.Message+": "+w.Hint)
	}
	wantWarnings := []string{`unknown key "owner": `, `the farm knows no controlled variable "token_budgets": did you mean "token_budget"?`}
	if len(warnings) != 2 || !strings.HasPrefix(warnings[0], wantWarnings[0]) || warnings[1] != wantWarnings[1] {
		t.Errorf("got warnings %q, want %q", warnings, wantWarnings)
	}
}

// What the file below says of repeats goes before what the fixture asks for.
func TestRepeatsOfConditions(t *testing.T) {
	loaded, err := loadForeign(t, map[string]string{"public.json": fixture, "with.yaml": scenarioWith + "repeats: 1\n"}, "public.json", "srv")
	if err != nil {
		t.Fatal(err)
	}
	if s := loaded.Suite; s.Repeats.N != 1 || s.MinRepeats != 3 {
		t.Errorf("got %d repeats and at least %d, want 1 and 3", s.Repeats.N, s.MinRepeats)
	}
}

func TestProblemsOfConditions(t *testing.T) {
	const eager, research = `{"loading_mode": "eager"}`, `{"id": "a", "prompt": "x"}`
	for name, test := range map[string]struct{ conditions, scenarios, more, want string }{
		"a loading mode":        {`{"loading_mode": "host_tool_serch"}`, research, "", `did you mean "host_tool_search"?`},
		"no loading mode":       {`{"id": "a"}`, research, "", `missing key "loading_mode"`},
		"the same twice":        {eager + "," + eager, research, "", `axis "loading" has the value "eager" twice`},
		"no conditions":         {"", research, "", `axis "loading" has no values`},
		"no scenarios":          {eager, "", "", "the suite has no cases"},
		"no id":                 {eager, `{"prompt": "x"}`, "", `missing key "id"`},
		"the same id twice":     {eager, research + "," + research, "", `the id "a" is taken`},
		"no prompt":             {eager, `{"id": "a"}`, "", `missing key "prompt"`},
		"no hash":               {eager, research, `, "external_oracle": {"sha256": "abc"}`, "is no sha256"},
		"no number":             {eager, research, `, "minimum_trials_per_condition": "3"`, "want a whole number from 1"},
		"a metric without name": {eager, research, `, "semantic_metrics": ["a b"]`, "is no id"},
	} {
		t.Run(name, func(t *testing.T) {
			json := `{"conditions": [` + test.conditions + `], "scenarios": [` + test.scenarios + `]` + test.more + `}`
			_, err := loadForeign(t, map[string]string{"c.json": json, "with.yaml": scenarioWith}, "c.json", "srv")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestCatalogsCannotBeNarrowed(t *testing.T) {
	loaded, err := loadForeign(t, map[string]string{
		"c.json":    `{"conditions": [{"loading_mode": "eager", "catalog_mode": "few"}], "scenarios": [{"id": "a", "prompt": "x"}]}`,
		"with.yaml": scenarioWith,
	}, "c.json", "srv")
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Unsupported) != 1 || loaded.Unsupported[0].Message != "a catalog cannot be narrowed yet" {
		t.Errorf("got %v, want the catalog mode to be unsupported", loaded.Unsupported)
	}
}
