package suite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// What a suite may not bring that somebody else has sent is refused at its place,
// with what its operator can do.
func TestGrant(t *testing.T) {
	const agents = "models: {m: {provider: scripted, script: p.yaml}}\nservers: {shop: {registered: shop}}\n"
	const prompt = "cases:\n  - id: a\n    prompt: hello\n    checks:\n      - "
	grant := &suite.Grant{
		Model:    func(m eval.Model) bool { return m.Provider == eval.ProviderOpenAI && m.BaseURL == "http://gateway/v1" },
		Commands: [][]string{{"grade", "--strict"}},
	}
	for name, test := range map[string]struct {
		text string
		// want is the line, and parts of message and hint; empty for a suite that may be run.
		line int
		want []string
	}{
		"a registered server": {text: "servers: {shop: {registered: shop, call_timeout: 5s}}\ncases: [{id: a, call: x}]\n"},
		"a registered model": {text: "models: {m: {provider: openai, model: x, base_url: 'http://gateway/v1'}}\nservers: {shop: {registered: shop}}\n" +
			"cases: [{id: a, prompt: hello}]\n"},
		"a scripted model":      {text: agents + "cases: [{id: a, prompt: hello}]\n"},
		"a registered command":  {text: agents + prompt + "scorer: {command: [grade, --strict]}\n"},
		"what was sent of env":  {text: "servers: {shop: {registered: shop}}\ncases: [{id: a, call: x, arguments: {a: '${{ env.SENT }}'}}]\n"},
		"a command as a server": {text: "servers: {shop: {command: [sh, -c, id]}}\ncases: [{id: a, call: x}]\n", line: 2, want: []string{`server "shop" is not registered`, "register it in the scheduler's farm.yaml: servers: {shop: …}"}},
		"an address as a server": {text: "servers:\n  shop: {url: 'http://169.254.169.254/'}\ncases: [{id: a, call: x}]\n", line: 3, want: []string{
			`server "shop" is not registered`, "{registered: shop}",
		}},
		"an image as a server":    {text: "servers: {shop: {image: 'evil:1'}}\ncases: [{id: a, call: x}]\n", line: 2, want: []string{`server "shop" is not registered`}},
		"another address":         {text: "models: {m: {provider: openai, model: x, base_url: 'http://evil/v1'}}\nservers: {shop: {registered: shop}}\ncases: [{id: a, prompt: hello}]\n", line: 2, want: []string{`the provider of model "m" is not registered`, "providers: {m: {provider: openai, base_url: http://evil/v1}}"}},
		"the provider's own":      {text: "models: {m: {provider: anthropic, model: x}}\nservers: {shop: {registered: shop}}\ncases: [{id: a, prompt: hello}]\n", line: 2, want: []string{`the provider of model "m"`, "providers: {anthropic: {}}"}},
		"a key":                   {text: "models:\n  m:\n    provider: openai\n    model: x\n    base_url: 'http://gateway/v1'\n    api_key: '${{ secrets.KEY }}'\nservers: {shop: {registered: shop}}\ncases: [{id: a, prompt: hello}]\n", line: 7, want: []string{"api_key is the operator's to say"}},
		"a price":                 {text: "models:\n  m:\n    provider: openai\n    model: x\n    base_url: 'http://gateway/v1'\n    price: free\nservers: {shop: {registered: shop}}\ncases: [{id: a, prompt: hello}]\n", line: 7, want: []string{"price is the operator's to say"}},
		"a header of a model":     {text: "models:\n  m:\n    provider: openai\n    model: x\n    base_url: 'http://gateway/v1'\n    headers: {X: '1'}\nservers: {shop: {registered: shop}}\ncases: [{id: a, prompt: hello}]\n", line: 7, want: []string{"headers is the operator's to say"}},
		"another command":         {text: agents + prompt + "scorer: {command: [grade, --lax]}\n", line: 8, want: []string{"the command is not registered", `commands: {NAME: ["grade", "--lax"]}`}},
		"a longer command":        {text: agents + prompt + "scorer: {command: [grade, --strict, x]}\n", line: 8, want: []string{"the command is not registered"}},
		"a verify command":        {text: agents + prompt + "verify: {command: [sh, -c, id]}\n", line: 8, want: []string{"the command is not registered"}},
		"another program by env":  {text: agents + prompt + "scorer: {command: [grade, --strict], env: {LD_PRELOAD: /tmp/x.so}}\n", line: 8, want: []string{"env is the operator's to say"}},
		"another server by env":   {text: "servers: {shop: {registered: shop}}\naxes:\n  lib:\n    bad: {env: {LD_PRELOAD: /tmp/x.so}}\ncases: [{id: a, call: x}]\n", line: 5, want: []string{"env is the operator's to say", "axis server"}},
		"a secret in a header":    {text: "servers: {shop: {registered: shop}}\naxes:\n  who:\n    me: {headers: {Authorization: '${{ secrets.KEY }}'}}\ncases: [{id: a, call: x}]\n", line: 5, want: []string{"a suite that is sent has no secrets", "farm.yaml"}},
		"the farm's environment":  {text: "servers: {shop: {registered: shop}}\ncases: [{id: a, call: x, arguments: {a: '${{ env.PATH }}'}}]\n", line: 3, want: []string{"PATH is not set"}},
		"a file above its folder": {text: agents + "cases: [{id: a, prompt: 'file://../outside.txt'}]\n", line: 4, want: []string{"leaves the project folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			// Above the folder of the suite is a project that the options do not name.
			dir := filepath.Join(write(t, map[string]string{
				"go.mod": "module x\n", "outside.txt": "never shown",
				"sent/p.yaml": "version: 1\ndefault: [{say: hello}]\n", "sent/suite.yaml": "version: 1\n" + test.text,
			}), "sent")
			_, err := suite.Load(filepath.Join(dir, "suite.yaml"), suite.Options{
				Base: dir, Grant: grant, Projects: []string{dir}, Registered: map[string]eval.Server{"shop": {Command: []string{"shop"}}},
				LookupEnv: func(name string) (string, bool) { return "sent", name == "SENT" },
			})
			if test.line == 0 {
				if err != nil {
					t.Fatalf("got %v, want a suite", err)
				}
				return
			}
			problems, ok := errors.AsType[*suite.ProblemsError](err)
			if !ok {
				t.Fatalf("got %v, want problems", err)
			}
			for _, p := range problems.Problems {
				text := p.Message + "\n" + p.Hint
				found := p.Line == test.line && p.Column > 0
				for _, part := range test.want {
					found = found && strings.Contains(text, part)
				}
				if found {
					return
				}
			}
			t.Errorf("got\n%v\nwant one in line %d with %q", problems, test.line, test.want)
		})
	}
}

// A suite knows the files that it was read from, so that it can be loaded elsewhere
// from them alone.
func TestFilesOfASuite(t *testing.T) {
	dir := write(t, map[string]string{
		"go.mod":                     "module x\n",
		"base.yaml":                  "version: 1\nmodels: {m: {provider: scripted, script: models/p.yaml}}\n",
		"models/p.yaml":              "version: 1\ndefault: [{say: hello}]\n",
		"nightly/rows.csv":           "id,text\n1,a\n2,b\n",
		"nightly/prompt.md":          "Do it.",
		"nightly/not-asked-for.yaml": "version: 1\n",
		"nightly/cases/a.yaml":       "version: 1\ncases: [{id: a, prompt: 'file://../prompt.md'}]\n",
		"nightly/suite.yaml": `version: 1
extends: ../base.yaml
servers: {shop: {registered: shop}}
include:
  - cases/*.yaml
  - {dataset: rows.csv, id: "row/{{row.id}}", case: {prompt: "{{row.text}}"}}
`,
	})
	registered := map[string]eval.Server{"shop": {Command: []string{"shop"}}}
	loaded, err := suite.Load(filepath.Join(dir, "nightly"), suite.Options{Registered: registered})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	sent := map[string]string{}
	for _, f := range loaded.Files {
		if f.Project != dir {
			t.Errorf("%s is of project %s, want %s", f.Name, f.Project, dir)
		}
		names = append(names, f.Name)
		sent[f.Name] = string(f.Data)
	}
	want := []string{"base.yaml", "models/p.yaml", "nightly/cases/a.yaml", "nightly/prompt.md", "nightly/rows.csv", "nightly/suite.yaml"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("the files differ (-want +got):\n%s", diff)
	}
	there := write(t, sent)
	again, err := suite.Load(filepath.Join(there, "nightly/suite.yaml"), suite.Options{Registered: registered, Projects: []string{there}, Grant: &suite.Grant{}})
	if err != nil || again.Hash != loaded.Hash {
		t.Errorf("loaded from its files alone: %v, want the same suite", err)
	}
}
