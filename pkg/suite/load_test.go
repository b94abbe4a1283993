package suite_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// write makes a project of files, named by path, and returns its folder.
func write(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// load loads suite.yaml of a project that must be good.
func load(tb testing.TB, files map[string]string, opts suite.Options) *suite.Loaded {
	tb.Helper()
	loaded, err := suite.Load(filepath.Join(write(tb, files), "suite.yaml"), opts)
	if err != nil {
		tb.Fatalf("load:\n%v", err)
	}
	return loaded
}

const head = "version: 1\nservers: {s: {command: [srv]}}\n"

func ids(s eval.Suite) []string {
	var out []string
	for _, c := range s.Cases {
		out = append(out, c.ID)
	}
	return out
}

func TestCaseOfOneCallIsOneStep(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": head + `
defaults: {tags: [nightly, slow]}
limits: {time: 2m, tool_calls: 9}
vars: {who: me, n: 9007199254740993, m: 1}
cases:
  - id: one
    title: One
    tags: [slow, own]
    repeats: 4
    limits: {time: 5s, on_limit: fail}
    vars: {who: you}
    call: t
    arguments: {z: 9007199254740993, a: 1.10}
    expect: {b: null, n: "{{n}}"}
    expect_not: {c: 1}
    expect_text: ok
    expect_count: 0
    extract: {x: a.b}
`}, options()).Suite
	zero := 0
	want := eval.Case{
		ID: "one", Title: "One", Kind: eval.KindScript, Tags: []string{"nightly", "slow", "own"}, Server: "s",
		Vars:   map[string]eval.JSON{"who": eval.JSON(`"you"`), "n": eval.JSON(`9007199254740993`)}, // the suite's m is not used
		Limits: eval.Limits{Time: 5 * time.Second, ToolCalls: 9, OnLimit: eval.OnLimitFail},
		Steps: []eval.Step{{
			ID: "1", Call: "t", Arguments: eval.JSON(`{"z":9007199254740993,"a":1.10}`),
			Expect: eval.JSON(`{"b":null,"n":"{{n}}"}`), ExpectNot: eval.JSON(`{"c":1}`), ExpectText: eval.JSON(`"ok"`), ExpectCount: &zero,
			Extract: map[string]string{"x": "a.b"},
		}},
	}
	if diff := cmp.Diff(want, s.Cases[0]); diff != "" {
		t.Errorf("case differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"one": 4}, s.CaseRepeats); diff != "" {
		t.Errorf("repeats differ (-want +got):\n%s", diff)
	}
}

func TestFormsOfAStep(t *testing.T) {
	code := -32602
	tests := []struct {
		name, yaml string
		want       eval.Step
	}{
		{"rejected at all", "{call: t, expect_error: true}", eval.Step{Call: "t", ExpectError: &eval.ExpectError{Kind: eval.ErrorAny}}},
		{"rejected with a text", "{call: t, expect_error: must match}", eval.Step{Call: "t", ExpectError: &eval.ExpectError{Kind: eval.ErrorAny, Contains: "must match"}}},
		{"rejected by the protocol", "{call: t, expect_error: {kind: protocol, code: -32602}}", eval.Step{Call: "t", ExpectError: &eval.ExpectError{Kind: eval.ErrorProtocol, Code: &code}}},
		{"rejected in any way, with a text", "{call: t, expect_error: {contains: x}}", eval.Step{Call: "t", ExpectError: &eval.ExpectError{Kind: eval.ErrorAny, Contains: "x"}}},
		{"a read", "{read: 'x:y', expect_text: {$contains: a}}", eval.Step{Read: "x:y", ExpectText: eval.JSON(`{"$contains":"a"}`)}},
		{"polling", "{call: t, repeat_until: {path: state, equals: {a: 1}, max: 5, every: 1500ms}}", eval.Step{
			Call: "t", RepeatUntil: &eval.RepeatUntil{Path: "state", Equals: eval.JSON(`{"a":1}`), Max: 5, Every: 1500 * time.Millisecond},
		}},
		{"polling for null", "{call: t, repeat_until: {path: state, equals: null}}", eval.Step{Call: "t", RepeatUntil: &eval.RepeatUntil{Path: "state", Equals: eval.JSON(`null`)}}},
		{"pages", "{call: t, collect: {items: rows, next: cursor, argument: after, max: 3, unique: id}}", eval.Step{
			Call: "t", Collect: &eval.Collect{Items: "rows", Next: "cursor", Argument: "after", Max: 3, Unique: "id"},
		}},
		{"named", "{id: look, title: Look, call: t}", eval.Step{ID: "look", Title: "Look", Call: "t"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, map[string]string{"suite.yaml": head + "cases: [{id: a, steps: [" + test.yaml + "]}]\n"}, options()).Suite.Cases[0]
			if test.want.ID == "" {
				test.want.ID = "1"
			}
			if diff := cmp.Diff([]eval.Step{test.want}, c.Steps); diff != "" || !c.Workflow {
				t.Errorf("step of workflow %t differs (-want +got):\n%s", c.Workflow, diff)
			}
		})
	}
}

func TestEachMakesACasePerCombination(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": head + `
cases:
  - {id: a, call: "{{tool}}", arguments: {v: "{{v}}"}, repeats: 2, vars: {v: shadowed}, each: {tool: [t, u], v: [1, "{{7*7}}", null]}}
`}, options()).Suite
	var got []string
	for _, c := range s.Cases {
		got = append(got, c.ID+" "+string(c.Vars["tool"])+" "+string(c.Vars["v"]))
	}
	want := []string{
		`a/1 "t" 1`, `a/2 "t" "{{7*7}}"`, `a/3 "t" null`,
		`a/4 "u" 1`, `a/5 "u" "{{7*7}}"`, `a/6 "u" null`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cases differ (-want +got):\n%s", diff)
	}
	if s.CaseRepeats["a/6"] != 2 {
		t.Errorf("got repeats %v, want 2 for each", s.CaseRepeats)
	}
}

func TestRowsBecomeCases(t *testing.T) {
	loaded := load(t, map[string]string{
		"suite.yaml": head + `
include:
  - dataset: rows.jsonl
    id: "row/{{row.id}}"
    case: {title: "About {{row.title}}", vars: {raw: "{{row.title}}"}, call: "{{row.tool}}", arguments: "{{row.arguments}}", expect: {a: "x{{row.title}}x"}, expect_count: "{{row.meta.count}}"}
cases: [{id: first, call: t}]
`,
		"rows.jsonl": `{"id": "x", "title": "{{7*7}}", "tool": "t", "arguments": {"big": 9007199254740993, "s": "{{own}}"}, "meta": {"count": 2}}
{"id": 2, "title": "b", "tool": "u", "arguments": {}, "meta": {"count": 0}}
`,
	}, options())
	if diff := cmp.Diff([]string{"first", "row/x", "row/2"}, ids(loaded.Suite)); diff != "" {
		t.Fatalf("ids differ (-want +got):\n%s", diff)
	}
	two := 2
	got := loaded.Suite.Cases[1]
	want := eval.Case{
		ID: "row/x", Kind: eval.KindScript, Server: "s",
		// Titles and vars are no templates; in the others, data is escaped.
		Title: "About {{7*7}}", Vars: map[string]eval.JSON{"raw": eval.JSON(`"{{7*7}}"`)},
		Steps: []eval.Step{{
			ID: "1", Call: "t", Arguments: eval.JSON(`{"big":9007199254740993,"s":"{{{{own}}"}`),
			Expect: eval.JSON(`{"a":"x{{{{7*7}}x"}`), ExpectCount: &two,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("case differs (-want +got):\n%s", diff)
	}
	if pos := loaded.Positions["row/2"]; filepath.Base(pos.File()) != "rows.jsonl" || pos.Line != 2 {
		t.Errorf("got case row/2 at %s:%d, want rows.jsonl:2", pos.File(), pos.Line)
	}
}

func TestIncludedFilesCountFromTheirOwnFolder(t *testing.T) {
	s := load(t, map[string]string{
		"go.mod":                  "module x\n",
		"suite.yaml":              "version: 1\nextends: shared/base.yaml\ncases: [{id: own, call: t}]\n",
		"shared/base.yaml":        "version: 1\nextends: deeper/root.yaml\nname: base\ninclude: [cases/*.yaml]\nservers: {s: {env: {A: base, B: base}}}\nexclude: []\ndefaults: {tags: [base]}\n",
		"shared/cases/2.yml":      "not read",
		"shared/cases/1.yaml":     "version: 1\nx-note: hello\ncases: [{id: included, call: t, arguments: {a: '${{ vars.v }}'}}]\n",
		"shared/deeper/root.yaml": "version: 1\nname: root\nvars: {v: [1, 2]}\nservers: {s: {command: [srv], cwd: bin, env: {A: root, C: root}}}\ndefaults: {tags: [root, more]}\n",
		"shared/deeper/bin/x":     "",
	}, options()).Suite
	if diff := cmp.Diff([]string{"own", "included"}, ids(s)); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
	if s.Name != "base" {
		t.Errorf("got name %q, want base", s.Name)
	}
	want := eval.Server{Command: []string{"srv"}, Dir: "shared/deeper/bin", Env: map[string]string{"A": "base", "B": "base", "C": "root"}}
	if diff := cmp.Diff(want, s.Servers["s"]); diff != "" {
		t.Errorf("server differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"base"}, s.Cases[0].Tags); diff != "" {
		t.Errorf("lists replace lists (-want +got):\n%s", diff)
	}
	if got := string(s.Cases[1].Steps[0].Arguments); got != `{"a":[1,2]}` {
		t.Errorf("got arguments %s, want the list", got)
	}
}

func TestLinksDoNotLeaveTheProject(t *testing.T) {
	outside := write(t, map[string]string{"base.yaml": "version: 1\nname: stolen\n"})
	dir := write(t, map[string]string{"go.mod": "module x\n", "suite.yaml": head + "extends: link.yaml\ncases: [{id: a, call: t}]\n"})
	if err := os.Symlink(filepath.Join(outside, "base.yaml"), filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	_, err := suite.Load(dir, options())
	if err == nil || !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestExpressions(t *testing.T) {
	env := map[string]string{"WHO": "me {{x}} \"quoted\": [y]", "EMPTY": "", "N": "7"}
	opts := options()
	opts.LookupEnv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	s := load(t, map[string]string{"suite.yaml": `
version: 1
name: "${{ env.N }}-suite"
vars: {who: "${{ env.WHO }}", n: 3, obj: {a: ["{{not a placeholder}}"]}}
servers: {s: {command: [srv, "${{ vars.n }}", "--who=${{ env.N }}"], env: {T: "Bearer ${{secrets.TOKEN}}"}, call_timeout: "${{ env.TIMEOUT | default('5s') }}"}}
repeats: "${{ env.N }}"
axes: {tenant: [acme]}
cases:
  - id: case-${{ vars.n }}
    call: t
    arguments:
      typed: ${{ vars.n }}
      text: n is ${{ vars.n }}
      env: ${{ env.N }}
      obj: ${{ vars.obj }}
      who: hello ${{ vars.who }}
      null-default: ${{ env.NOTHING | default(null) }}
      empty: ${{ env.EMPTY | default("it's") }}
      chain: ${{ env.NOTHING | default('') | required('never') }}
      axis: ${{ axis.tenant }} and ${{ axis.tenant }}
      literal: $${{ vars.n }} and {{{{ x
      template: "{{n}} {{obj}}"
`}, opts).Suite
	want := `{"typed":3,"text":"n is 3","env":"7","obj":{"a":["{{{{not a placeholder}}"]},` +
		`"who":"hello me {{{{x}} \"quoted\": [y]","null-default":null,"empty":"it's","chain":"",` +
		`"axis":"{{axis.tenant}} and {{axis.tenant}}","literal":"${{{{ vars.n }} and {{{{ x","template":"{{n}} {{obj}}"}`
	if diff := cmp.Diff(want, string(s.Cases[0].Steps[0].Arguments)); diff != "" {
		t.Errorf("arguments differ (-want +got):\n%s", diff)
	}
	server := eval.Server{Command: []string{"srv", "3", "--who=7"}, Env: map[string]string{"T": "Bearer ${{ secrets.TOKEN }}"}, CallTimeout: 5 * time.Second}
	if diff := cmp.Diff(server, s.Servers["s"]); diff != "" {
		t.Errorf("server differs (-want +got):\n%s", diff)
	}
	if s.Name != "7-suite" || s.Repeats.N != 7 || s.Cases[0].ID != "case-3" {
		t.Errorf("got name %q, repeats %d, id %q", s.Name, s.Repeats.N, s.Cases[0].ID)
	}
	if got := string(s.Cases[0].Vars["obj"]); got != `{"a":["{{not a placeholder}}"]}` {
		t.Errorf("got var %s, want it as written: vars are data", got)
	}
}

func TestNamesThatLookLikeSecrets(t *testing.T) {
	for name, secret := range map[string]bool{
		"OPENAI_API_KEY": true, "TOKEN": true, "DB_PASSWORD": true, "MY_SECRET": true, "APIKEY": true, "AWS_SECRET_ACCESS_KEY": true,
		"MAX_TOKENS": false, "KEYBOARD": false, "PATH": false, "MONKEY": false, "TENANT": false, "PASSENGERS": false,
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.LookupEnv = func(string) (string, bool) { return "value", true }
			_, err := suite.Load(write(t, map[string]string{"suite.yaml": head + "cases: [{id: a, call: t, arguments: {a: '${{ env." + name + " }}'}}]\n"}), opts)
			if refused := err != nil && strings.Contains(err.Error(), "looks like a secret"); refused != secret {
				t.Errorf("got refused %t, want %t: %v", refused, secret, err)
			}
		})
	}
}

// Vars of an axis lie above those of the suite and below those of a case, also
// for values of the axis that do not set them.
func TestVarsOfAxes(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": head + `
vars: {own: suite, other: suite}
axes: {tenant: {acme: {vars: {own: acme}}, globex: {}}}
cases: [{id: a, call: "{{own}}{{other}}"}, {id: b, call: "{{own}}", vars: {own: case}}]
`}, options()).Suite
	want := []eval.Axis{{Name: "tenant", Points: []eval.Point{
		{Value: "acme", Vars: map[string]eval.JSON{"own": eval.JSON(`"acme"`)}},
		{Value: "globex", Vars: map[string]eval.JSON{"own": eval.JSON(`"suite"`)}},
	}}}
	if diff := cmp.Diff(want, s.Axes); diff != "" {
		t.Errorf("axes differ (-want +got):\n%s", diff)
	}
	if _, own := s.Cases[0].Vars["own"]; own || string(s.Cases[1].Vars["own"]) != `"case"` {
		t.Errorf("got vars %v and %v, want own left to the axis in a, and the case's in b", s.Cases[0].Vars, s.Cases[1].Vars)
	}
}

// Data that looks like a reference is none, and a reference may be a bare name.
func TestWhatUsesAnAxis(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": head + `
axes: {tenant: {acme: {vars: {own: [1]}}, globex: {vars: {own: [2]}}}}
cases:
  - {id: data, title: "{{own}}", call: t, arguments: {a: "{{v}}"}, vars: {v: "{{own}}"}}
  - {id: name, call: t, collect: {items: rows, next: next, same_as: own}}
`}, options()).Suite
	matrix, err := suite.Expand(&s, suite.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, cell := range matrix.Cells {
		got = append(got, s.Cases[cell.Case].ID+" "+matrix.Variants[cell.Variant].ID)
	}
	if diff := cmp.Diff([]string{"data default", "name tenant=acme", "name tenant=globex"}, got); diff != "" {
		t.Errorf("cells differ (-want +got):\n%s", diff)
	}
}

func TestServerAxisDecidesForCasesWithoutServer(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": `
version: 1
servers: {one: {command: [a]}, two: {url: "http://h/"}}
axes: {server: [one, two]}
cases: [{id: a, call: t}, {id: b, call: t, server: two}]
`}, options()).Suite
	if s.Cases[0].Server != "" || s.Cases[1].Server != "two" {
		t.Errorf("got servers %q and %q, want none and two", s.Cases[0].Server, s.Cases[1].Server)
	}
}

func TestServersOfTheCommandLine(t *testing.T) {
	const two = "version: 1\nservers: {one: {command: [a], env: {A: b}, call_timeout: 5s, revision: '1'}, two: {url: 'http://h/', headers: {A: b}}}\n"
	tests := []struct {
		name, yaml string
		servers    []string
		want       map[string]eval.Server
		err        string
	}{
		{"a suite without servers", "version: 1\n", []string{"srv demo 'a b'"}, map[string]eval.Server{"default": {Command: []string{"srv", "demo", "a b"}, Dir: "/work"}}, ""},
		{"the only server", "version: 1\nservers: {s: {command: [a], env: {A: b}}}\n", []string{"srv"}, map[string]eval.Server{"s": {Command: []string{"srv"}, Env: map[string]string{"A": "b"}, Dir: "/work"}}, ""},
		{"a broken server is put right", "version: 1\nservers: {s: {revision: '1'}}\n", []string{"srv"}, map[string]eval.Server{"s": {Command: []string{"srv"}, Dir: "/work"}}, ""},
		{"a URL with an = in it", "version: 1\n", []string{"http://h/mcp?a=b"}, map[string]eval.Server{"default": {URL: "http://h/mcp?a=b"}}, ""},
		{
			"by name, what belongs to the other kind goes", two + "defaults: {server: one}\n",
			[]string{"one=http://x/", "two=srv"},
			map[string]eval.Server{"one": {URL: "http://x/", CallTimeout: 5 * time.Second}, "two": {Command: []string{"srv"}, Dir: "/work"}},
			"",
		},
		{"the default of the suite", two + "defaults: {server: two}\n", []string{"http://x/"}, map[string]eval.Server{
			"one": {Command: []string{"a"}, Env: map[string]string{"A": "b"}, CallTimeout: 5 * time.Second, Revision: "1"}, "two": {URL: "http://x/", Headers: map[string]string{"A": "b"}},
		}, ""},
		{"no default", two, []string{"srv"}, nil, "the suite has several servers and no default"},
		{"an open quote", "version: 1\n", []string{"srv 'a"}, nil, "a quote is never closed"},
		{"nothing", "version: 1\n", []string{" "}, nil, "the command is empty"},
		{"no host", "version: 1\n", []string{"http:///x"}, nil, "this is no address of a server"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opts := options()
			opts.Servers, opts.Dir = test.servers, "/work"
			loaded, err := suite.Load(write(t, map[string]string{"suite.yaml": test.yaml + "cases: [{id: a, call: t}]\n"}), opts)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Fatalf("got %v, want %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, loaded.Suite.Servers); diff != "" {
				t.Errorf("servers differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithLiesBelowTheSuite(t *testing.T) {
	dir := write(t, map[string]string{
		"suite.yaml": "version: 1\nlimits: {time: 5s}\ncases: [{id: a, call: '{{own}}'}]\n",
		"with.yaml":  "version: 1\nname: below\nservers: {s: {command: [srv]}}\nlimits: {time: 9s, turns: 3}\naxes: {tenant: {acme: {vars: {own: 1}}}}\ndefaults: {tags: [x]}\n",
		"cases.yaml": "version: 1\ncases: []\ninclude: []\n",
	})
	opts := options()
	opts.With = filepath.Join(dir, "with.yaml")
	loaded, err := suite.Load(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	c := loaded.Suite.Cases[0]
	if c.Limits.Time != 5*time.Second || c.Limits.Turns != 3 || len(loaded.Suite.Axes) != 1 || c.Server != "s" || c.Tags[0] != "x" {
		t.Errorf("got %+v, want it completed", loaded.Suite)
	}
	for name, want := range map[string]string{"cases.yaml": "a file for --with has no include", "nothing.yaml": "no such file"} {
		opts.With = filepath.Join(dir, name)
		if _, err := suite.Load(dir, opts); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestSetReplacesVars(t *testing.T) {
	files := map[string]string{"suite.yaml": head + "vars: {who: me, n: 3}\ncases: [{id: a, call: t, arguments: {who: '{{who}}', n: '{{n}}'}}]\n"}
	opts := options()
	opts.Set = map[string]string{"who": "12", "n": "5"}
	vars := load(t, files, opts).Suite.Cases[0].Vars
	if string(vars["who"]) != `"12"` || string(vars["n"]) != "5" {
		t.Errorf("got %s and %s, want a text and a number", vars["who"], vars["n"])
	}
	for name, want := range map[string]string{"whoo": `there is no var "whoo" to set`, "n": `has not the type`} {
		opts.Set = map[string]string{name: "x"}
		if _, err := suite.Load(write(t, files), opts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestWhatCannotBeCarriedOutYet(t *testing.T) {
	loaded, err := suite.Load("testdata/corpus/good/everything.yaml", options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range loaded.Unsupported {
		got = append(got, p.Message)
		if p.Line == 0 || p.File == "" {
			t.Errorf("%s has no place", p.Message)
		}
	}
	want := []string{
		"listings cannot be compared with a lock file yet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("unsupported differ (-want +got):\n%s", diff)
	}
	if loaded := load(t, map[string]string{"suite.yaml": head + "gate: {pass_rate: {script: '>= 0.95', catalog: '> 0.5'}}\ncases: [{id: a, call: t}]\n"}, options()); len(loaded.Unsupported) > 0 {
		t.Errorf("got %v, want gates by kind to be supported", loaded.Unsupported)
	}
}

func TestHash(t *testing.T) {
	const text = "version: 1\nname: x\nservers: {s: {command: [srv], cwd: ., env: {A: a, B: b}}}\naxes: {t: {a: {vars: {v: 1}}, b: {vars: {v: 2}}}}\ncases:\n  - {id: a, call: '{{v}}', arguments: {x: 1, y: 2}}\n  - {id: b, call: t}\n"
	hash := func(t *testing.T, text string, opts suite.Options) string {
		t.Helper()
		return load(t, map[string]string{"suite.yaml": text}, opts).Hash
	}
	want := hash(t, text, options())
	if !strings.HasPrefix(want, "sha256:") || len(want) != len("sha256:")+64 {
		t.Errorf("got %q, want sha256: and 64 digits", want)
	}
	same := map[string]string{
		"comments and white space": "# hello\n" + strings.ReplaceAll(text, "{x: 1, y: 2}", "\n      x:   1\n      y: 2\n"),
		"order of keys":            strings.ReplaceAll(strings.ReplaceAll(text, "{x: 1, y: 2}", "{y: 2, x: 1}"), "{A: a, B: b}", "{B: b, A: a}"),
		"order of an axis":         strings.ReplaceAll(text, "{a: {vars: {v: 1}}, b: {vars: {v: 2}}}", "{b: {vars: {v: 2}}, a: {vars: {v: 1}}}"),
		"quotes":                   strings.ReplaceAll(text, "call: t}", `"call": "t"}`),
		"free keys":                text + "x-owner: me\n",
	}
	same["comments and white space"] = strings.ReplaceAll(same["comments and white space"], "  - {id: a, call: '{{v}}', arguments: \n      x:   1\n      y: 2\n}", "  - id: a\n    call: '{{v}}'\n    arguments:\n      x:   1\n      y: 2")
	for name, text := range same {
		if got := hash(t, text, options()); got != want {
			t.Errorf("%s: got another hash, want the same", name)
		}
	}
	other := map[string]string{
		"a value":        strings.ReplaceAll(text, "x: 1", "x: 3"),
		"order of cases": strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(text, "id: a,", "id: c,"), "id: b,", "id: a,"), "id: c,", "id: b,"),
		"a server":       strings.ReplaceAll(text, "[srv]", "[srv, -v]"),
		"the name":       strings.ReplaceAll(text, "name: x", "name: y"),
	}
	for name, text := range other {
		if got := hash(t, text, options()); got == want {
			t.Errorf("%s: got the same hash, want another", name)
		}
	}
}

func TestPathsOfSuites(t *testing.T) {
	good := head + "cases: [{id: a, call: t}]\n"
	tests := []struct {
		name  string
		files map[string]string
		path  string
		want  string // the suite's name, or a part of the error
	}{
		{"a file", map[string]string{"my.suite.yaml": good}, "my.suite.yaml", "my.suite"},
		{"a folder with suite.yaml", map[string]string{"night/suite.yaml": good, "night/other.yaml": "x"}, "night", "night"},
		{"a folder with one file", map[string]string{"night/cases.yml": good, "night/README.md": "x"}, "night", "cases"},
		{"a folder with several", map[string]string{"a.yaml": good, "b.json": "x"}, ".", "name one of a.yaml, b.json"},
		{"an empty folder", map[string]string{"README.md": ""}, ".", "no suite.yaml"},
		{"no file", nil, "night.yaml", "no such file or folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, err := suite.Load(filepath.Join(write(t, test.files), test.path), options())
			var got string
			switch {
			case err != nil:
				got = err.Error()
				if _, ok := errors.AsType[*suite.ProblemsError](err); ok {
					t.Errorf("got problems of a file, want a plain error")
				}
			default:
				got = loaded.Suite.Name
				if !filepath.IsAbs(loaded.Dir) {
					t.Errorf("got folder %q, want it absolute", loaded.Dir)
				}
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestBaseShortensTheNamesOfFiles(t *testing.T) {
	dir := write(t, map[string]string{"suites/a.yaml": "version: 1\n"})
	opts := options()
	opts.Base = dir
	_, err := suite.Load(filepath.Join(dir, "suites", "a.yaml"), opts)
	var problems *suite.ProblemsError
	if !errors.As(err, &problems) || filepath.ToSlash(problems.Problems[0].File) != "suites/a.yaml" {
		t.Errorf("got %v, want a problem in suites/a.yaml", err)
	}
}

func TestRepeatsWithoutAgentCasesIsAWarning(t *testing.T) {
	loaded := load(t, map[string]string{"suite.yaml": head + "repeats: 10\ncases: [{id: a, call: t}]\n"}, options())
	if len(loaded.Warnings) != 1 || !loaded.Warnings[0].Warning || loaded.Warnings[0].Line != 3 {
		t.Errorf("got %v, want a warning at line 3", loaded.Warnings)
	}
}

func TestFind(t *testing.T) {
	dir := write(t, map[string]string{
		"night/suite.yaml":     head + "name: nightly\ncases: [{id: a, call: '{{x}}', each: {x: [t, u]}}, {id: l, catalog: {}}]\n",
		"night/rubric.yaml":    "a: b\n",
		"golden.json":          `{"cases": [{"id": "a", "tool": "t"}]}`,
		"env.yaml":             head + "name: '${{ env.NAME }}'\ncases: [{id: a, prompt: x}]\n",
		"broken.yaml":          head + "cases: [{id: a, cal: t}]\n",
		"syntax/suite.yaml":    "version: 1\ncases: [\n",
		"base.yaml":            head,
		"package.json":         `{"name": "x"}`,
		".hidden/suite.yaml":   head + "cases: [{id: a, call: t}]\n",
		"node_modules/s.yaml":  head + "cases: [{id: a, call: t}]\n",
		"scenario/simple.yaml": "user_intent: x\n",
		"notes.txt":            "version: 1\ncases:\n",
	})
	found, err := suite.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		rel, err := filepath.Rel(dir, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		kinds, _ := json.Marshal(f.Kinds)
		state := "ok"
		if f.Err != nil {
			state = "broken"
		}
		got = append(got, strings.Join([]string{filepath.ToSlash(rel), f.Name, string(rune('0' + f.Cases)), string(kinds), state}, " "))
	}
	want := []string{
		`broken.yaml broken 0 null broken`,
		`env.yaml env 1 ["agent"] ok`,
		`golden.json golden 1 ["script"] ok`,
		`night/suite.yaml nightly 3 ["catalog","script"] ok`,
		`scenario/simple.yaml simple 1 ["agent"] ok`,
		`syntax/suite.yaml syntax 0 null broken`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("suites differ (-want +got):\n%s", diff)
	}
	if _, err := suite.Find(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("got no error for a folder that is not there")
	}
}
