package suite_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const golden = `{
  "name": "golden",
  "description": "about",
  "owner": "somebody",
  "cases": [
    {"id": "plain", "description": "Plain", "tool": "t", "arguments": {"big": 9007199254740993, "note": "${HOME} {{7*7}} ${{ env.X }} ${jndi:ldap://x}"},
     "expect": {"a": "{{b}}", "n": 1.10}, "expectCount": null, "priority": 1},
    {"id": "count", "tool": "t", "expectCount": 0, "expectError": false},
    {"id": "reject", "tool": "t", "arguments": {}, "expectError": true, "errorContains": "must {{match}}"},
    {"id": "useless", "tool": "t", "errorContains": "x"}
  ],
  "workflows": [
    {"id": "flow", "description": "Flow", "steps": [
      {"id": "first", "description": "First", "tool": "t", "extractField": "primaryRegion", "extractAs": "region"},
      {"id": "second", "tool": "u", "arguments": {"zone": "${region}", "text": "in ${region}, {{x}}", "other": "${a b}"}, "extractField": "odd name", "extractAs": "odd"}
    ]}
  ]
}
`

func TestGoldenFile(t *testing.T) {
	dir := write(t, map[string]string{"golden.json": golden})
	opts := options()
	opts.Servers = []string{"srv"}
	loaded, err := suite.Load(filepath.Join(dir, "golden.json"), opts)
	if err != nil {
		t.Fatal(err)
	}
	zero := 0
	want := eval.Suite{
		Name: "golden", Description: "about", Servers: map[string]eval.Server{"default": {Command: []string{"srv"}}},
		Cases: []eval.Case{
			{ID: "plain", Title: "Plain", Kind: eval.KindScript, Server: "default", Steps: []eval.Step{{
				ID: "1", Call: "t", Arguments: eval.JSON(`{"big":9007199254740993,"note":"${HOME} {{{{7*7}} ${{{{ env.X }} ${jndi:ldap://x}"}`),
				Expect: eval.JSON(`{"a":"{{{{b}}","n":1.10}`),
			}}},
			{ID: "count", Kind: eval.KindScript, Server: "default", Steps: []eval.Step{{ID: "1", Call: "t", ExpectCount: &zero}}},
			{ID: "reject", Kind: eval.KindScript, Server: "default", Steps: []eval.Step{{
				ID: "1", Call: "t", Arguments: eval.JSON(`{}`), ExpectError: &eval.ExpectError{Kind: eval.ErrorAny, Contains: "must {{{{match}}"},
			}}},
			{ID: "useless", Kind: eval.KindScript, Server: "default", Steps: []eval.Step{{ID: "1", Call: "t"}}},
			{ID: "flow", Title: "Flow", Kind: eval.KindScript, Server: "default", Workflow: true, Steps: []eval.Step{
				{ID: "first", Title: "First", Call: "t", Extract: map[string]string{"region": "primaryRegion"}},
				{
					ID: "second", Call: "u", Arguments: eval.JSON(`{"zone":"{{region}}","text":"in {{region}}, {{{{x}}","other":"${a b}"}`),
					Extract: map[string]string{"odd": "$['odd name']"},
				},
			}},
		},
	}
	if diff := cmp.Diff(want, loaded.Suite); diff != "" {
		t.Errorf("suite differs (-want +got):\n%s", diff)
	}
	var warnings []string
	for _, w := range loaded.Warnings {
		if !w.Warning {
			t.Errorf("got an error among the warnings: %s", w.Render())
		}
		warnings = append(warnings, w.Message)
	}
	wantWarnings := []string{`unknown key "owner"`, `unknown key "priority"`, "errorContains without expectError: true has no effect"}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
	if pos := loaded.Positions["flow"]; pos.Line != 13 {
		t.Errorf("got flow in line %d, want 13", pos.Line)
	}
}

func TestProblemsOfGoldenFiles(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"no server", `{"cases": [{"id": "a", "tool": "t"}]}`, "pass --server"},
		{"no id", `{"cases": [{"tool": "t"}]}`, `missing key "id"`},
		{"the same id twice", `{"cases": [{"id": "a", "tool": "t"}], "workflows": [{"id": "A", "steps": [{"id": "x", "tool": "t"}]}]}`, `the id "A" is taken`},
		{"wrong types", `{"cases": [{"id": "a", "tool": "t", "expectError": "yes", "expectCount": "6"}]}`, `want true or false, got "yes"`},
		{"half an extract", `{"workflows": [{"id": "a", "steps": [{"id": "x", "tool": "t", "extractAs": "y"}]}]}`, "belong together"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opts := options()
			if test.name != "no server" {
				opts.Servers = []string{"srv"}
			}
			_, err := suite.Load(filepath.Join(write(t, map[string]string{"golden.json": test.json}), "golden.json"), opts)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestGoldenFileWithASuiteBelow(t *testing.T) {
	dir := write(t, map[string]string{
		"golden.json": `{"cases": [{"id": "a", "tool": "t"}]}`,
		"with.yaml":   "version: 1\nvars: {v: 1}\nservers: {s: {command: [srv, '${{ vars.v }}']}}\naxes: {who: {me: {env: {A: b}}}}\nlimits: {time: 5s}\n",
	})
	opts := options()
	opts.With = filepath.Join(dir, "with.yaml")
	loaded, err := suite.Load(filepath.Join(dir, "golden.json"), opts)
	if err != nil {
		t.Fatal(err)
	}
	s := loaded.Suite
	if s.Name != "golden" || s.Servers["s"].Command[1] != "1" || s.Cases[0].Server != "s" || s.Cases[0].Limits.Time == 0 || len(s.Axes) != 1 {
		t.Errorf("got %+v, want the golden file on top of the suite", s)
	}
}
