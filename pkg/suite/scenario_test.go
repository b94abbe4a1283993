package suite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const scenario = `enabled: true
name: "Find {{a tool}}"
description: about
config_file: configs/minimal.json
owner: somebody
user_intent: "file://x {{7*7}} ${{ env.X }}"
expected_trajectory:
  - action: search
    tool: mcp__proxy__find
    args: {query: "{{files}}", limit: 9007199254740993}
    notes: first
  - {action: list, tool: mcp__proxy__list, args: {}}
  - {action: other, tool: mcp__other_one__look}
  - {tool: plain}
success_criteria:
  - mcp__proxy__find
  - 50
  - "Files were found and {{named}}"
tags: [search, files]
`

const scenarioWith = "version: 1\nmodels: {m: {provider: openai, model: x}}\n"

// loadForeign loads a file or a folder over with.yaml of the same project.
func loadForeign(t *testing.T, files map[string]string, path string, servers ...string) (*suite.Loaded, error) {
	t.Helper()
	dir := write(t, files)
	opts := options()
	opts.Base, opts.Servers = dir, servers
	if files["with.yaml"] != "" {
		opts.With = filepath.Join(dir, "with.yaml")
	}
	return suite.Load(filepath.Join(dir, path), opts)
}

func TestScenario(t *testing.T) {
	loaded, err := loadForeign(t, map[string]string{"find_tool.yaml": scenario, "with.yaml": scenarioWith}, "find_tool.yaml", "proxy=srv", "other_one=http://h/")
	if err != nil {
		t.Fatal(err)
	}
	literal := func(id, text string) eval.Check {
		return eval.Check{ID: id, Title: text, Text: &eval.TextCheck{In: eval.PlaceAll, Contains: &text, IgnoreCase: true}}
	}
	want := eval.Suite{
		Name:    "find_tool",
		Servers: map[string]eval.Server{"proxy": {Command: []string{"srv"}}, "other_one": {URL: "http://h/"}},
		Models:  map[string]eval.Model{"m": {Provider: eval.ProviderOpenAI, Model: "x"}},
		Cases: []eval.Case{{
			ID: "find_tool", Title: "Find {{a tool}}", Kind: eval.KindAgent, Tags: []string{"search", "files"},
			Servers: []string{"proxy", "other_one"}, Namespaced: true, Model: "m",
			Prompt: "file://x {{{{7*7}} ${{{{ env.X }}",
			Checks: []eval.Check{
				{ID: "trajectory", Threshold: new(0.8), Trajectory: &eval.TrajectoryCheck{Match: eval.MatchAligned, Calls: []eval.CallPattern{
					{Tool: "mcp__proxy__find", Arguments: eval.JSON(`{"query":"{{{{files}}","limit":9007199254740993}`)},
					{Tool: "mcp__proxy__list", Arguments: eval.JSON(`{}`)},
					{Tool: "mcp__other_one__look"},
					{Tool: "plain"},
				}}},
				literal("criterion/1", "mcp__proxy__find"),
				literal("criterion/2", "50"),
				{ID: "criterion/3", Title: "Files were found and {{{{named}}", Text: &eval.TextCheck{Contains: new("Files were found and {{{{named}}"), Sentence: true}},
			},
		}},
	}
	if diff := cmp.Diff(want, loaded.Suite); diff != "" {
		t.Errorf("suite differs (-want +got):\n%s", diff)
	}
	var warnings []string
	for _, w := range loaded.Warnings {
		warnings = append(warnings, w.Message)
	}
	if diff := cmp.Diff([]string{"config_file is not read", `unknown key "owner"`}, warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

// A sentence is for a judge when one is named, and without expected calls the
// baseline of the run gives them.
func TestScenarioWithAJudgeAndWithoutCalls(t *testing.T) {
	loaded, err := loadForeign(t, map[string]string{
		"s.yaml":    "user_intent: go\nsuccess_criteria: [It is done.]\nexpected_trajectory: null\n",
		"with.yaml": "version: 1\nservers: {one: {command: [srv]}}\nmodels: {m: {provider: openai, model: x}, j: {provider: openai, model: y}}\naxes: {model: [m]}\ndefaults: {judge: j}\n",
	}, "s.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c := loaded.Suite.Cases[0]
	want := []eval.Check{
		{ID: "trajectory", Threshold: new(0.8), Trajectory: &eval.TrajectoryCheck{Match: eval.MatchAligned}},
		{ID: "criterion/1", Title: "It is done.", Judge: &eval.JudgeCheck{Rubric: "It is done.", Model: "j"}},
	}
	if diff := cmp.Diff(want, c.Checks); diff != "" || c.Server != "one" || c.Model != "" {
		t.Errorf("got server %q, model %q and checks (-want +got):\n%s", c.Server, c.Model, diff)
	}
}

// Tools have the names that the file expects, and those of scenarios where it
// expects none.
func TestNamesOfToolsInScenarios(t *testing.T) {
	for name, test := range map[string]struct {
		yaml string
		want bool
	}{
		"nothing is expected": {"user_intent: x\n", true},
		"an empty list":       {"user_intent: x\nexpected_trajectory: []\n", true},
		"full names":          {"user_intent: x\nexpected_trajectory: [{tool: plain}, {tool: mcp__s__t}]\n", true},
		"plain names":         {"user_intent: x\nexpected_trajectory: [{tool: t}]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := loadForeign(t, map[string]string{"a.yaml": test.yaml, "with.yaml": scenarioWith}, "a.yaml", "s=srv")
			if err != nil {
				t.Fatal(err)
			}
			if got := loaded.Suite.Cases[0].Namespaced; got != test.want {
				t.Errorf("got namespaced %t, want %t", got, test.want)
			}
		})
	}
}

func TestFolderOfScenarios(t *testing.T) {
	files := map[string]string{
		"night/b.yaml": "user_intent: b\nconfig_file: x\n",
		"night/a.yml":  "user_intent: a\nconfig_file: y\n",
		"night/c.json": `{"user_intent": "c", "enabled": false}`,
		"night/README": "no scenario",
		"with.yaml":    "version: 1\nservers: {s: {command: [srv]}}\nmodels: {m: {provider: openai, model: x}}\n",
	}
	loaded, err := loadForeign(t, files, "night")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids(loaded.Suite)); diff != "" {
		t.Errorf("cases differ (-want +got):\n%s", diff)
	}
	if loaded.Suite.Name != "night" || loaded.Skipped != 1 || filepath.Base(loaded.Path) != "night" || filepath.Base(loaded.Dir) != "night" {
		t.Errorf("got suite %q of %s in %s, %d left out; want night, and one", loaded.Suite.Name, loaded.Path, loaded.Dir, loaded.Skipped)
	}
	var warnings []string
	for _, w := range loaded.Warnings {
		warnings = append(warnings, filepath.ToSlash(w.File)+" "+w.Message)
	}
	want := []string{"night/c.json the scenario is disabled, and left out", "night/a.yml config_file is not read"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	if pos := loaded.Positions["b"]; filepath.ToSlash(pos.File()) != "night/b.yaml" || pos.Line != 1 {
		t.Errorf("got case b at %s:%d, want its own file", pos.File(), pos.Line)
	}

	found, err := suite.Find(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].Name != "night" || found[0].Cases != 2 || found[0].Err != nil {
		t.Errorf("found %+v, want the folder alone", found)
	}
}

func TestProblemsOfScenarios(t *testing.T) {
	const with = "version: 1\nservers: {s: {command: [srv]}}\nmodels: {m: {provider: openai, model: x}}\n"
	tests := []struct {
		name, yaml, with string
		servers          []string
		want             string
	}{
		{"no model", "user_intent: x\n", "version: 1\nservers: {s: {command: [srv]}}\n", nil, "pass --with FILE, a suite file with models"},
		{"no server of a tool", "user_intent: x\nexpected_trajectory: [{tool: mcp__proxy__t}]\n", with, nil, "pass --server proxy=COMMAND"},
		{"a server of a tool beside others", "user_intent: x\nexpected_trajectory: [{tool: mcp__proxy__t}]\n", with, []string{"proxy=srv"}, ""},
		{"a server nobody asks for", "user_intent: x\n", with, []string{"proxy=srv"}, `the suite has no server "proxy"`},
		{"no server at all", "user_intent: x\n", scenarioWith, nil, "pass --server"},
		{"no intent", "expected_trajectory: [{tool: t}]\n", with, nil, `missing key "user_intent"`},
		{"an empty intent", "user_intent: ' '\n", with, nil, "the prompt is empty"},
		{"no tool", "user_intent: x\nexpected_trajectory: [{args: {}}]\n", with, nil, `missing key "tool"`},
		{"arguments in a list", "user_intent: x\nexpected_trajectory: [{tool: t, args: [1]}]\n", with, nil, "want a map of arguments"},
		{"a criterion in a map", "user_intent: x\nsuccess_criteria: [{a: b}]\n", with, nil, "want a text, got a map"},
		{"no list of criteria", "user_intent: x\nsuccess_criteria: x\n", with, nil, "want a list"},
		{"all disabled", "user_intent: x\nenabled: false\n", with, nil, "no scenario is enabled"},
		{"wrong types", "user_intent: x\nenabled: maybe\ntags: [[a]]\n", with, nil, "want true or false"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadForeign(t, map[string]string{"s.yaml": test.yaml, "with.yaml": test.with}, "s.yaml", test.servers...)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("got %v, want none", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	_, err := loadForeign(t, map[string]string{"my file.yaml": "user_intent: x\n", "with.yaml": with}, "my file.yaml")
	if err == nil || !strings.Contains(err.Error(), `"my file" is no id`) {
		t.Errorf("got %v, want the name of the file refused", err)
	}
}

// A folder with other files beside scenarios is none, and one that cannot be
// read says why.
func TestFoldersThatAreNotOfScenarios(t *testing.T) {
	for name, test := range map[string]struct{ other, want string }{
		"a suite":   {head + "cases: [{id: a, call: t}]\n", "name one of"},
		"no format": {"a: b\n", "name one of"},
		"broken":    {"user_intent: [\n", "b.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadForeign(t, map[string]string{"x/a.yaml": "user_intent: x\n", "x/b.yaml": test.other, "with.yaml": scenarioWith}, "x", "srv")
			if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
