package suite_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// asking is a suite with one server and one model.
const asking = head + "models: {m: {provider: openai, model: some-model}}\n"

// checked is a list of checks that decides.
const checked = "checks: [{contains: x}]"

func TestModels(t *testing.T) {
	s := load(t, map[string]string{
		"suite.yaml": head + `
models:
  fast:
    provider: anthropic
    model: some-model
    base_url: http://127.0.0.1:8099/v1
    api_key: ${{ secrets.MY_KEY }}
    headers: {X-Team: "${{ secrets.TEAM }}"}
    temperature: 0
    top_p: 0.9
    seed: -9007199254740993
    max_output_tokens: 2049
    thinking: {effort: low, budget_tokens: 2048}
    call_timeout: 2m
    identify: true
  other: {provider: openai, model: gpt, seed: trial}
  stub: {provider: scripted, script: scripts/stub.yaml, temperature: 1}
cases: [{id: a, model: stub, prompt: hi, ` + checked + `}]
`,
		"scripts/stub.yaml": "version: 1\ndefault: [{say: hello}]\n",
	}, options()).Suite
	want := map[string]eval.Model{
		"fast": {
			Provider: eval.ProviderAnthropic, Model: "some-model", BaseURL: "http://127.0.0.1:8099/v1", APIKey: "${{ secrets.MY_KEY }}",
			Headers: map[string]string{"X-Team": "${{ secrets.TEAM }}"},
			Sampling: eval.Sampling{
				Temperature: new(0.0), TopP: new(0.9), Seed: new(int64(-9007199254740993)), MaxOutputTokens: 2049,
				Thinking: &eval.Thinking{Effort: "low", BudgetTokens: 2048},
			},
			CallTimeout: 2 * time.Minute, Identify: true,
		},
		"other": {Provider: eval.ProviderOpenAI, Model: "gpt", Sampling: eval.Sampling{TrialSeed: true}},
		"stub": {
			Provider: eval.ProviderScripted, Script: "scripts/stub.yaml", Sampling: eval.Sampling{Temperature: new(1.0)},
			Policy: &eval.Policy{Default: []eval.Move{{Say: "hello"}}},
		},
	}
	if diff := cmp.Diff(want, s.Models); diff != "" {
		t.Errorf("models differ (-want +got):\n%s", diff)
	}
}

// A key that somebody wrote into the file by mistake is not printed.
func TestKeysAreNotShown(t *testing.T) {
	for name, model := range map[string]string{
		"in an address":        "{provider: openai, model: x, base_url: \"https://me:sk-12345678@example.org/\"}\n",
		"alone":                "\n    provider: openai\n    model: x\n    api_key: sk-12345678\n",
		"beside other mistake": "{provider: openai, modell: x, api_key: sk-12345678}\n",
		"inside a text":        "{provider: openai, model: x, api_key: \"${{ secrets.A }}sk-12345678\"}\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := suite.Load(write(t, map[string]string{"suite.yaml": head + "models:\n  m: " + model + "cases: [{id: a, prompt: x}]\n"}), options())
			if err == nil || !strings.Contains(err.Error(), "(not shown)") {
				t.Errorf("got %v, want a refusal", err)
			}
			if err != nil && strings.Contains(err.Error(), "12345678") {
				t.Errorf("the key is shown:\n%v", err)
			}
		})
	}
}

func TestAgentCase(t *testing.T) {
	s := load(t, map[string]string{
		"suite.yaml": asking + `
agent: {system: file://prompts/system.md, temperature: 0.5, top_p: 0.5, seed: trial, loop_after: 3, resources: true, descriptions: {a: "A of {{who}}", b: B}}
vars: {who: me}
limits: {turns: 9, tokens: 1000}
defaults: {server: s}
cases:
  - id: a
    prompt: file://prompts/ask.md
    vars: {order: ORD-1}
    labels: {area: refunds}
    threshold: 0.8
    limits: {turns: 4}
    agent: {temperature: 0, seed: 7, tool_output_bytes: 100, descriptions: {b: "{{{{no placeholder}} {{order}}"}}
    user: {turns: ["Yes, {{order}}."]}
    checks: [{contains: "{{order}}"}]
  - id: b
    prompt: hi
    agent: {system: Own.}
    user: {persona: Angry, goal: "{{who}}", stop: BYE, max_turns: 3}
    checks: [{contains: x}]
`,
		"prompts/system.md": "\ufeffYou help {{who}}.\n\n",
		"prompts/ask.md":    "Where is {{order}}?\r\n",
	}, options()).Suite
	suiteSampling := eval.Sampling{Temperature: new(0.5), TopP: new(0.5), TrialSeed: true}
	want := []eval.Case{
		{
			ID: "a", Kind: eval.KindAgent, Server: "s", Model: "m", Prompt: "Where is {{order}}?",
			Vars:   map[string]eval.JSON{"order": eval.JSON(`"ORD-1"`), "who": eval.JSON(`"me"`)},
			Limits: eval.Limits{Turns: 4, Tokens: 1000}, Labels: map[string]string{"area": "refunds"}, Threshold: new(0.8),
			Agent: eval.Agent{
				System:          "You help {{who}}.",
				Sampling:        eval.Sampling{Temperature: new(0.0), TopP: new(0.5), Seed: new(int64(7))},
				ToolOutputBytes: 100, LoopAfter: 3, Resources: true, Descriptions: map[string]string{"a": "A of {{who}}", "b": "{{{{no placeholder}} {{order}}"},
			},
			User:   &eval.User{Turns: []string{"Yes, {{order}}."}},
			Checks: []eval.Check{{ID: "contains", Text: &eval.TextCheck{Contains: new("{{order}}")}}},
		},
		{
			ID: "b", Kind: eval.KindAgent, Server: "s", Model: "m", Prompt: "hi",
			Vars:   map[string]eval.JSON{"who": eval.JSON(`"me"`)},
			Limits: eval.Limits{Turns: 9, Tokens: 1000},
			Agent:  eval.Agent{System: "Own.", Sampling: suiteSampling, LoopAfter: 3, Resources: true, Descriptions: map[string]string{"a": "A of {{who}}", "b": "B"}},
			User:   &eval.User{Model: "m", Persona: "Angry", Goal: "{{who}}", Stop: "BYE", MaxTurns: 3},
			Checks: []eval.Check{{ID: "contains", Text: &eval.TextCheck{Contains: new("x")}}},
		},
	}
	if diff := cmp.Diff(want, s.Cases); diff != "" {
		t.Errorf("cases differ (-want +got):\n%s", diff)
	}
}

func TestWhichModelACaseAsks(t *testing.T) {
	const two = head + "models: {fast: {provider: openai, model: x}, slow: {provider: openai, model: y}}\n"
	tests := []struct{ name, yaml, own, want, err string }{
		{"the only one", asking, "", "m", ""},
		{"its own", two, "model: slow, ", "slow", ""},
		{"the default", two + "defaults: {model: slow}\n", "", "slow", ""},
		{"its own before the default", two + "defaults: {model: slow}\n", "model: fast, ", "fast", ""},
		{"an axis decides", two + "axes: {model: [fast]}\n", "", "", ""},
		{"an axis decides before the default", two + "axes: {model: [fast]}\ndefaults: {model: slow}\n", "", "", ""},
		{"several", two, "", "", "the case names no model, and the suite has several"},
		{"none", head, "", "", "there is no model to ask"},
		{"an unknown one", two, "model: fats, ", "", `did you mean "fast"?`},
		{"an unknown default", two + "defaults: {model: solw}\n", "", "", `did you mean "slow"?`},
		{"an unknown point", two + "axes: {model: [fast, solw]}\n", "", "", `did you mean "slow"?`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, err := suite.Load(write(t, map[string]string{"suite.yaml": test.yaml + "cases: [{id: a, " + test.own + "prompt: x, " + checked + "}]\n"}), options())
			switch {
			case test.err != "":
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
			case err != nil:
				t.Fatal(err)
			default:
				if got := loaded.Suite.Cases[0].Model; got != test.want {
					t.Errorf("got model %q, want %q", got, test.want)
				}
			}
		})
	}
}

func TestServersOfAnAgentCase(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": `
version: 1
servers: {one: {command: [a]}, two: {url: "http://h/"}, three: {command: [c]}}
models: {m: {provider: openai, model: x}}
axes: {server: [one, two], who: {me: {headers: {A: b}}}}
cases:
  - {id: several, servers: [two, three], prompt: x, checks: [{called: mcp__two__t}]}
  - {id: axis, prompt: x, ` + checked + `}
  - {id: commands, servers: [one, three], prompt: x, checks: [{called: mcp__two__t}]}
`}, options()).Suite
	if diff := cmp.Diff([]string{"two", "three"}, s.Cases[0].Servers); diff != "" || s.Cases[0].Server != "" {
		t.Errorf("got server %q and servers (-want +got):\n%s", s.Cases[0].Server, diff)
	}
	got := cells(t, s)
	want := []string{"several who=me", "axis server=one,who=me", "axis server=two,who=me", "commands default"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells differ (-want +got):\n%s", diff)
	}
}

// cells are the cells of a suite, as text.
func cells(t *testing.T, s eval.Suite) []string {
	t.Helper()
	matrix, err := suite.Expand(&s, suite.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, cell := range matrix.Cells {
		out = append(out, s.Cases[cell.Case].ID+" "+matrix.Variants[cell.Variant].ID)
	}
	return out
}

func TestToolsOfServersThatTheCaseDoesNotTalkTo(t *testing.T) {
	loaded := load(t, map[string]string{"suite.yaml": `
version: 1
servers: {one: {command: [a]}, two: {command: [b]}}
models: {m: {provider: openai, model: x}}
cases:
  - {id: a, server: one, prompt: x, checks: [{called: mcp__one__t}, {not_called: mcp__two__t}, {called: plain}]}
`}, options())
	if len(loaded.Warnings) != 1 || !strings.Contains(loaded.Warnings[0].Message, `"mcp__two__t" names no server of the case`) {
		t.Errorf("got %v, want a warning of mcp__two__t", loaded.Warnings)
	}
}

// An axis that sets agents is used by agent cases, and so are axes with the
// vars of the system prompts that a case may get.
func TestWhatAnAgentCaseUses(t *testing.T) {
	s := load(t, map[string]string{"suite.yaml": asking + `
axes:
  loading: [eager, search]
  style: {terse: {agent: {system: "Be terse, {{tone}} ${{ axis.mood }}."}}, warm: {agent: {temperature: 1, descriptions: {t: "{{time}}"}}}}
  tone: {soft: {vars: {tone: soft}}}
  mood: [good]
  season: [dry]
  time: {day: {vars: {time: day}}}
  unused: {x: {vars: {never: 1}}, y: {vars: {never: 2}}}
cases:
  - {id: agent, prompt: x, agent: {descriptions: {u: "{{axis.season}}"}}, ` + checked + `}
  - {id: user, prompt: x, user: {turns: ["{{never}}"]}, ` + checked + `}
  - {id: script, call: t}
`}, options()).Suite
	want := []string{
		"agent loading=eager,mood=good,season=dry,style=terse,time=day,tone=soft", "agent loading=eager,mood=good,season=dry,style=warm,time=day,tone=soft",
		"agent loading=search,mood=good,season=dry,style=terse,time=day,tone=soft", "agent loading=search,mood=good,season=dry,style=warm,time=day,tone=soft",
	}
	var got []string
	for _, cell := range cells(t, s) {
		if !strings.HasPrefix(cell, "user") {
			got = append(got, cell)
		} else if !strings.Contains(cell, "unused=") {
			t.Errorf("got cell %s, want it over unused", cell)
		}
	}
	if diff := cmp.Diff(append(want, "script default"), got); diff != "" {
		t.Errorf("cells differ (-want +got):\n%s", diff)
	}
	point := s.Axes[3].Points[0].Agent.System
	if point != "Be terse, {{tone}} {{axis.mood}}." {
		t.Errorf("got system prompt %q of the point", point)
	}
}

// In system prompts and descriptions {{ begins a placeholder, in labels it is data.
func TestRowsOfAgentCases(t *testing.T) {
	s := load(t, map[string]string{
		"suite.yaml": asking + `
include:
  - dataset: rows.jsonl
    id: "row/{{row.id}}"
    case:
      prompt: "{{row.ask}}"
      labels: {area: "{{row.ask}}"}
      agent: {system: "Say {{row.ask}}", descriptions: {t: "{{row.ask}}"}}
      user: {turns: ["{{row.ask}}"], }
      checks: [{contains: "{{row.ask}}"}]
`,
		"rows.jsonl": `{"id": 1, "ask": "{{7*7}}"}` + "\n",
	}, options()).Suite
	c := s.Cases[0]
	got := []string{c.Prompt, c.Labels["area"], c.Agent.System, c.Agent.Descriptions["t"], c.User.Turns[0], *c.Checks[0].Text.Contains}
	if diff := cmp.Diff([]string{"{{{{7*7}}", "{{7*7}}", "Say {{{{7*7}}", "{{{{7*7}}", "{{{{7*7}}", "{{{{7*7}}"}, got); diff != "" {
		t.Errorf("texts differ (-want +got):\n%s", diff)
	}
}

func TestTextsOfFiles(t *testing.T) {
	outside := write(t, map[string]string{"secret.md": "secret"})
	for name, test := range map[string]struct{ path, text, want string }{
		"nothing there":       {"nothing.md", "", "no such file"},
		"empty":               {"x.md", " \n", "is empty"},
		"no text":             {"x.md", "\xff\xfe", "is no text in UTF-8"},
		"a placeholder":       {"x.md", "{{unknown}}", "nothing gives {{unknown}} a value"},
		"outside the project": {"../secret.md", "", "leaves the project folder"},
		"absolute":            {filepath.ToSlash(filepath.Join(outside, "secret.md")), "", "leaves the project folder"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, yaml := range []string{
				"prompt: file://" + test.path + ", " + checked,
				"prompt: x, agent: {system: file://" + test.path + "}, " + checked,
				"prompt: x, checks: [{judge: {rubric: file://" + test.path + "}}]",
			} {
				files := map[string]string{"suite.yaml": asking + "cases: [{id: a, " + yaml + "}]\n", "go.mod": ""}
				if test.text != "" {
					files[test.path] = test.text
				}
				_, err := suite.Load(write(t, files), options())
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: got %v, want %s", yaml, err, test.want)
				}
			}
		})
	}
}

// What is written once for several cases must be sound in each.
func TestPlaceholdersOfSharedPrompts(t *testing.T) {
	_, err := suite.Load(write(t, map[string]string{"suite.yaml": asking + `
agent: {system: "{{order}}", descriptions: {t: "{{tool}}", u: "{{use}}"}}
axes: {style: {a: {agent: {system: "{{customer}}", descriptions: {v: "{{view}}"}}}}}
cases:
  - {id: a, prompt: x, vars: {order: 1, customer: 2, tool: 3, use: 4, view: 5}, ` + checked + `}
  - {id: b, prompt: x, vars: {order: 1, view: 5, use: 4}, agent: {system: own, descriptions: {t: own}}, ` + checked + `}
  - {id: c, prompt: x, vars: {customer: 1, use: 4}, agent: {descriptions: {w: "{{what}}"}}, ` + checked + `}
`}), options())
	if err == nil {
		t.Fatal("got no error")
	}
	for text, want := range map[string]bool{
		`nothing gives {{customer}} a value in case "b"`: true,
		`nothing gives {{order}} a value in case "c"`:    true,
		`nothing gives {{tool}} a value in case "c"`:     true,
		`nothing gives {{view}} a value in case "c"`:     true,
		`nothing gives {{what}} a value`:                 true,
		`nothing gives {{use}} a value`:                  false,
		`in case "a"`:                                    false,
		`nothing gives {{order}} a value in case "b"`:    false, // it has a system prompt of its own
		`nothing gives {{tool}} a value in case "b"`:     false, // and such a description
	} {
		if got := strings.Contains(err.Error(), text); got != want {
			t.Errorf("got %t for %s, want %t:\n%v", got, text, want, err)
		}
	}
}
