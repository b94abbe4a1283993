package farmfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

func TestGuests(t *testing.T) {
	a, b := strings.Repeat("a1", 32), strings.Repeat("b2", 32)
	f, err := farmfile.Parse("farm.yaml", []byte("version: 1\nserver_url: https://farm.example.com\ncommands:\n  grade: [python3, /opt/grade.py, --strict]\n  check: [/opt/check]\n"+
		"tokens:\n  ci: {scope: run, tenant: team, sha256: "+a+"}\n  box: {scope: worker, sha256: "+b+"}\n"+
		"providers: {openai: {}, gateway: {provider: openai, base_url: 'http://gateway/v1'}}\n"), farmfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{"/opt/check"}, {"python3", "/opt/grade.py", "--strict"}}, f.Commands); diff != "" {
		t.Errorf("commands differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]farmfile.Token{{Name: "box", SHA256: b, Scope: "worker"}, {Name: "ci", SHA256: a, Scope: "run", Tenant: "team"}}, f.Tokens); diff != "" {
		t.Errorf("tokens differ (-want +got):\n%s", diff)
	}
	for name, test := range map[string]struct {
		of   *farmfile.File
		m    eval.Model
		want bool
	}{
		"the provider's own":  {f, eval.Model{Provider: eval.ProviderOpenAI}, true},
		"a gateway":           {f, eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://gateway/v1"}, true},
		"another address":     {f, eval.Model{Provider: eval.ProviderOpenAI, BaseURL: "http://gateway.evil/v1"}, false},
		"another provider":    {f, eval.Model{Provider: eval.ProviderAnthropic}, false},
		"a farm without file": {nil, eval.Model{Provider: eval.ProviderOpenAI}, false},
	} {
		if got := test.of.Covers(test.m); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

func TestGuestsAreRefused(t *testing.T) {
	hash := strings.Repeat("a1", 32)
	for name, test := range map[string]struct{ text, want string }{
		"a relative program":      {"commands: {grade: [./grade]}", "a name on PATH or an absolute path"},
		"an empty command":        {"commands: {grade: []}", "the command is empty"},
		"a token itself":          {"tokens: {ci: {scope: run, sha256: my-token}}", "this is no sha256 of a token"},
		"a scope that is none":    {"tokens: {ci: {scope: admin, sha256: " + hash + "}}", "admin"},
		"no scope":                {"tokens: {ci: {sha256: " + hash + "}}", `missing key "scope"`},
		"a worker of a tenant":    {"tokens: {ci: {scope: worker, tenant: a, sha256: " + hash + "}}", "a worker works for all tenants"},
		"the same token twice":    {"tokens: {a: {scope: run, sha256: " + hash + "}, b: {scope: read, sha256: " + hash + "}}", "two tokens are the same"},
		"a name that is none":     {"tokens: {'a b': {scope: run, sha256: " + hash + "}}", "is no name"},
		"an address of no farm":   {"server_url: farm.example.com", "no address of a farm"},
		"credentials in the URL":  {"server_url: 'https://me:secret@farm.example.com'", "no address of a farm"},
		"a secret in the command": {"commands: {grade: [grade, '${{ secrets.KEY }}']}", "secrets cannot be used here"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := farmfile.Parse("farm.yaml", []byte("version: 1\n"+test.text+"\n"), farmfile.Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "farm.yaml:2:") {
				t.Errorf("got %v, want %q in line 2", err, test.want)
			}
		})
	}
}
