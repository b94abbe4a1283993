package suite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestLoadPolicy(t *testing.T) {
	got, err := suite.LoadPolicy("testdata/policy/desk.yaml", "")
	if err != nil {
		t.Fatal(err)
	}
	raw := "{not json"
	want := eval.Policy{
		Cases: map[string][]eval.Move{
			"refund/over-limit": {
				{Calls: []eval.ScriptedCall{{Tool: "get_order", Arguments: eval.JSON(`{"order_id":"ORD-1","big":9007199254740993}`)}}},
				{Say: "Two at once.", Calls: []eval.ScriptedCall{{Tool: "a", Arguments: eval.JSON(`{}`)}, {Tool: "b", Raw: &raw}, {Tool: "c"}}},
				{Choose: []eval.Choice{
					{Weight: 70, Moves: []eval.Move{{Calls: []eval.ScriptedCall{{Tool: "escalate", Arguments: eval.JSON(`{"note":"{{last.items.0.note}} for {{prompt}}"}`)}}}}},
					{Weight: 29.5, Moves: []eval.Move{{Say: "I give up."}}},
					{Weight: 0.5},
				}},
				{
					If:   &eval.Condition{Contains: "not found", Error: true},
					Then: []eval.Move{{Say: "It is not there: {{last}}"}},
					Else: []eval.Move{{Calls: []eval.ScriptedCall{{Tool: "poll"}}, Times: 3}},
				},
			},
			"poll/*": {{Calls: []eval.ScriptedCall{{Tool: "poll"}}, Times: -1}},
			"broken": {{Fail: &eval.ScriptedFailure{Kind: "overloaded", RetryAfterMS: 1000}, LatencyMS: 50}},
			"silent": {{}},
		},
		Default: []eval.Move{{
			Say: "Done: {{last.status}}", LatencyMS: 200,
			Usage: &eval.Usage{Input: 10, Output: 5, CacheRead: 4, CacheWrite: 1, Reasoning: 2},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy differs (-want +got):\n%s", diff)
	}
}

func TestPolicyProblems(t *testing.T) {
	move := func(text string) string { return "version: 1\ndefault:\n  - " + text + "\n" }
	tests := []struct {
		name, yaml string
		// want has "LINE:COLUMN message" of every problem, with | before a hint.
		want []string
	}{
		{"no version", "default: [{say: x}]", []string{`1:1 missing key "version"`}},
		{"a newer version", "version: 2\ndefault: [{say: x}]", []string{`1:10 this evalfarm reads policy format 1, got 2`}},
		{"no moves at all", "version: 1", []string{`1:1 a policy without moves|add "cases" or "default"`}},
		{"no cases", "version: 1\ncases: {}", []string{`1:1 a policy without moves|add "cases" or "default"`}},
		{"empty lists of moves", "version: 1\ndefault: []\ncases: {a: []}", []string{
			`2:10 no moves|a model that keeps silent is {say: ""}`, `3:12 no moves|a model that keeps silent is {say: ""}`,
		}},
		{"unknown key at the top", "version: 1\ncase: {}\ndefault: [{say: x}]", []string{`2:1 unknown key "case"|did you mean "cases"?`}},
		{"bad glob", "version: 1\ncases: {\"a[\": [{say: x}]}", []string{`2:9 "a[" is no case id and no glob of them|* and ? match inside one part of an id, […] one character of several`}},
		{"moves are no list", "version: 1\ndefault: {say: x}", []string{`2:10 want a list, got a map`}},
		{"a move is no map", move("say"), []string{`3:5 want a map, got "say"`}},
		{"unknown key of a move", move("{sya: x}"), []string{
			`3:5 a move that does nothing|it has one of say, call, calls, choose, if and fail`, `3:6 unknown key "sya"|did you mean "say"?`,
		}},
		{"a move that is two things", move("{call: a, fail: {kind: quota}}"), []string{`3:5 a move is one thing, got call and fail|only "say" may stand beside "call" or "calls"`}},
		{"say beside choose", move("{say: x, choose: [{weight: 1}]}"), []string{`3:5 a move is one thing, got choose and say|only "say" may stand beside "call" or "calls"`}},
		{"say and call are one thing", move("{say: x, call: a}"), nil},
		{"then without if", move("{say: x, then: [{say: y}]}"), []string{`3:14 "then" has no meaning beside "say"|it goes with if`}},
		{"if alone", move("{if: {error: true}}"), []string{`3:5 "if" without "then" and "else"`}},
		{"times of a failure", move("{fail: {kind: network}, times: 2}"), []string{`3:29 "times" has no meaning beside "fail"|the same call to a model fails each time it is tried`}},
		{"times 0", move("{say: x, times: 0}"), []string{`3:21 want a whole number from 1, or -1 for ever, got the number 0`}},
		{"unknown kind of failure", move("{fail: {kind: overload}}"), []string{
			`3:19 want one of rate_limit, overloaded, quota, auth, bad_request, context_length, content_filter, network; got "overload"|did you mean "overloaded"?`,
		}},
		{"failure without a kind", move("{fail: {}}"), []string{`3:12 missing key "kind"`}},
		{"arguments and raw", move("{call: a, arguments: {}, raw: x}"), []string{`3:30 "raw" and "arguments" in one call|"raw" is sent in the place of arguments`}},
		{"arguments that are no object", move("{calls: [{tool: a, arguments: [1]}]}"), []string{`3:35 want a map, got a list of 1|for arguments that are malformed on purpose write raw: "…"`}},
		{"arguments beside calls", move("{calls: [{tool: a}], arguments: {}}"), []string{`3:26 "arguments" has no meaning beside "calls"|it goes with call`}},
		{"a call without a tool", move("{calls: [{arguments: {}}]}"), []string{`3:14 missing key "tool"`}},
		{"no calls", move("{calls: []}"), []string{`3:13 an empty list`}},
		{"no choices", move("{choose: []}"), []string{`3:14 an empty list`}},
		{"a weight is missing", move("{choose: [{moves: [{say: x}]}]}"), []string{`3:15 missing key "weight"`}},
		{"a weight below 0", move("{choose: [{weight: -1}, {weight: 1}]}"), []string{`3:24 want a number from 0, got the number -1`}},
		{"weights that come to nothing", move("{choose: [{weight: 0}, {weight: 0.0}]}"), []string{`3:14 all weights are 0|one choice at least needs a weight above 0`}},
		{"a condition on nothing", move(`{if: {contains: ""}, then: [{say: x}]}`), []string{`3:10 a condition that asks for nothing|write {contains: TEXT} or {error: true}`}},
		{"error: false", move("{if: {error: false}, then: [{say: x}]}"), []string{`3:18 want true, got false|write {error: true} and exchange "then" and "else"`}},
		{"an unknown placeholder", move(`{say: "of {{order}}"}`), []string{`3:11 {{order}} is not known here|a policy knows {{last}}, {{last.PATH}} and {{prompt}}; {{{{ stands for a literal {{`}},
		{"a placeholder that is not closed", move(`{call: a, arguments: {b: ["{{last"]}}`), []string{`3:31 {{ is never closed by }}; write {{{{ for a literal {{`}},
		{"a placeholder with a bad path", move(`{say: "{{last..x}}"}`), []string{`3:11 {{last..x}} holds no path: path ".x": a name is empty`}},
		{"raw text holds no placeholders", move(`{call: a, raw: "{{"}`), nil},
		{"a latency without a unit", move("{say: x, latency: 5}"), []string{`3:23 want a duration such as 90s, 2m or 1h30m, got the number 5|a duration has a unit: 5s`}},
		{"usage below 0", move("{say: x, usage: {input: -1}}"), []string{`3:29 want a whole number from 0, got the number -1`}},
		{"deep down", move("{choose: [{weight: 1, moves: [{if: {error: true}, then: [{say: 1}]}]}]}"), []string{`3:68 want a string, got the number 1|quote it: "1"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, map[string]string{"p.yaml": test.yaml})
			_, err := suite.LoadPolicy(filepath.Join(dir, "p.yaml"), dir)
			if diff := cmp.Diff(test.want, places(t, err)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyFileThatIsNotThere(t *testing.T) {
	dir := t.TempDir()
	_, err := suite.LoadPolicy(filepath.Join(dir, "p.yaml"), dir)
	if bad, ok := errors.AsType[*suite.ProblemsError](err); !ok || !strings.Contains(bad.Error(), `cannot read "p.yaml": no such file`) {
		t.Errorf("got %v, want a problem that says that there is no such file", err)
	}
}

func TestPoliciesOfASuite(t *testing.T) {
	const cases = "cases: [{id: a, call: t}]\n"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"beside the file that names it", map[string]string{
			"suite.yaml": "version: 1\nextends: shared/base.yaml\n" + cases, "shared/p.yaml": "version: 1\ndefault: [{say: x}]\n",
			"shared/base.yaml": head + "models: {m: {provider: scripted, script: p.yaml}}\n",
		}, nil},
		{"a problem in the policy is shown where it is", map[string]string{
			"suite.yaml": head + "models: {m: {provider: scripted, script: p.yaml}}\n" + cases, "p.yaml": "version: 1\ndefault: [{sya: x}]\n",
		}, []string{
			"2:11 a move that does nothing|it has one of say, call, calls, choose, if and fail", `2:12 unknown key "sya"|did you mean "say"?`,
		}},
		{"two models of one policy have its problems once", map[string]string{
			"suite.yaml": head + "models: {m: {provider: scripted, script: p.yaml}, n: {provider: scripted, script: p.yaml}}\n" + cases, "p.yaml": "version: 1\n",
		}, []string{`1:1 a policy without moves|add "cases" or "default"`}},
		{"no such file", map[string]string{"suite.yaml": head + "models: {m: {provider: scripted, script: p.yaml}}\n" + cases}, []string{
			`3:42 cannot read "p.yaml": no such file`,
		}},
		{"outside of the project", map[string]string{"go.mod": "", "suite.yaml": head + "models: {m: {provider: scripted, script: ../p.yaml}}\n" + cases}, []string{
			`3:42 "../p.yaml" leaves the project folder|the project is the nearest folder above with a .git or a go.mod`,
		}},
		{"only text is a path", map[string]string{"suite.yaml": head + "models: {m: {provider: scripted, script: 7}}\n" + cases}, []string{
			`3:42 want a string, got the number 7|quote it: "7"`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, test.files)
			loaded, err := suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{Base: dir})
			if diff := cmp.Diff(test.want, places(t, err)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
			if err == nil && loaded.Suite.Models["m"].Policy.Default[0].Say != "x" {
				t.Errorf("got model %+v, want it with its policy", loaded.Suite.Models["m"])
			}
		})
	}
}

func TestMovesThatAreNeverMade(t *testing.T) {
	loaded := load(t, map[string]string{
		"suite.yaml": head + "models: {m: {provider: scripted, script: p.yaml}}\ncases: [{id: a, call: t}]\n",
		"p.yaml": `version: 1
cases:
  a:
    - {fail: {kind: quota}}
    - {say: never}
    - {say: nor this}
  b:
    - if: {error: true}
      then: [{call: poll, times: -1}, {say: never}]
      else: [{choose: [{weight: 1, moves: [{say: x, times: -1}, {say: never}]}]}]
    - {say: perhaps}
  c:
    - {if: {error: true}, then: [{call: poll}], times: -1}
    - {say: perhaps}
    - {fail: {kind: quota}}
`,
	}, suite.Options{})
	want := []string{
		"5:7 the one before it fails, and fails again when the call is tried again",
		"9:39 the one before it is made for ever",
		"10:65 the one before it is made for ever",
	}
	var got []string
	for _, p := range loaded.Warnings {
		got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Hint))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings differ (-want +got):\n%s", diff)
	}
}

// The policy that docs/scripted.md shows is one.
func TestPolicyOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/scripted.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yaml\n# scripts/desk.yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("docs/scripted.md shows no scripts/desk.yaml")
	}
	loaded := load(t, map[string]string{
		"suite.yaml":        head + "models: {stub: {provider: scripted, script: scripts/desk.yaml}}\ncases: [{id: a, call: t}]\n",
		"scripts/desk.yaml": text,
	}, suite.Options{})
	if len(loaded.Warnings) > 0 || len(loaded.Suite.Models["stub"].Policy.Cases) != 3 {
		t.Errorf("got %+v with warnings %v, want three cases", loaded.Suite.Models["stub"].Policy, loaded.Warnings)
	}
}

// Loading a policy never panics, and one that loads has moves.
func FuzzLoadPolicy(f *testing.F) {
	seed, err := os.ReadFile("testdata/policy/desk.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("version: 1\ndefault: [{say: x, times: -1}, {if: {error: true}, else: [{choose: [{weight: 0}]}]}]"))
	f.Add([]byte("version: 1\ndefault: &a [{if: {error: true}, then: *a}]"))
	path := filepath.Join(f.TempDir(), "p.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := suite.LoadPolicy(path, "")
		switch {
		case err != nil:
			_ = err.Error()
		case len(p.Cases) == 0 && len(p.Default) == 0:
			t.Errorf("got no moves from %q", text)
		default:
			eval.Encode(p)
		}
	})
}

// places renders the problems of an error, one a line.
func places(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	bad, ok := errors.AsType[*suite.ProblemsError](err)
	if !ok {
		t.Fatalf("got error %v, want a ProblemsError", err)
	}
	var out []string
	for _, p := range bad.Problems {
		line := fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Message)
		if p.Hint != "" {
			line += "|" + p.Hint
		}
		out = append(out, line)
	}
	return out
}
