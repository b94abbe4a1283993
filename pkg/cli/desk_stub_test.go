package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm/scripted"
	"github.com/evalfarm/evalfarm/pkg/stub"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// stubbed writes a copy of the support desk in which the scripted models are
// asked over HTTP, in a provider's wire format and by its real client: a stub
// with the same policy answers.
func stubbed(t *testing.T, provider eval.Provider, base string) string {
	t.Helper()
	path, _ := supportDesk(t)
	dir := filepath.Join(t.TempDir(), "support-desk")
	if err := os.CopyFS(dir, os.DirFS(path)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "suite.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for model, script := range map[string]string{"agent": "desk", "customer": "customer", "judge": "judge"} {
		policy, err := suite.LoadPolicy(filepath.Join(dir, "scripts", script+".yaml"), dir)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(stub.New(stub.Options{Model: scripted.New(policy, scripted.Options{})}))
		t.Cleanup(server.Close)
		line := fmt.Sprintf("%s: {provider: scripted, script: scripts/%s.yaml}", model, script)
		if !strings.Contains(string(text), line) {
			t.Fatalf("the suite has no line %q", line)
		}
		text = []byte(strings.Replace(string(text), line,
			fmt.Sprintf("%s: {provider: %s, model: stub, base_url: %q, identify: true}", model, provider, server.URL+base), 1))
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// what each trial of the agents did, by hash, and what it came to.
func trajectories(t *testing.T, path string, more ...string) map[string]string {
	t.Helper()
	s := newShop(t)
	args := append([]string{"run", path, "-n", "2", "--seed", "7", "--progress", "none", "-o", "jsonl=trials.jsonl"}, more...)
	if out, code := s.run(args...); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	did := map[string]string{}
	text, err := os.ReadFile(filepath.Join(s.dir, "trials.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var l struct {
			Case, Variant, Kind, Verdict, Reason string
			Repeat                               int
			Hash                                 string `json:"trajectory_hash"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Kind == string(eval.KindAgent) {
			did[fmt.Sprintf("%s [%s] #%d", l.Case, l.Variant, l.Repeat)] = l.Verdict + " " + l.Reason + " " + l.Hash
		}
	}
	return did
}

// verdictOnly leaves out the trajectory of the agent whose arguments are no JSON:
// Anthropic's messages hold arguments as an object, so what reaches us there is
// another kind of wrong arguments.
func verdictOnly(did map[string]string) map[string]string {
	out := maps.Clone(did)
	for trial, what := range out {
		if strings.HasPrefix(trial, "order/malformed") {
			out[trial], _, _ = strings.Cut(what, " ")
		}
	}
	return out
}

// The same agents, asked through each provider's real client, do the same.
func TestSupportDeskThroughTheProvidersClients(t *testing.T) {
	path, _ := supportDesk(t)
	var more []string
	if underRace {
		more = []string{"--case", "refund/*"}
	}
	want := trajectories(t, path, more...)
	if len(want) == 0 {
		t.Fatal("no agent did anything")
	}
	for _, tt := range []struct {
		name     string
		provider eval.Provider
		base     string
	}{
		{"anthropic", eval.ProviderAnthropic, ""},
		{"openai", eval.ProviderOpenAI, "/v1"},
		{"gemini by its openai endpoint", eval.ProviderOpenAI, "/v1beta/openai"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, got := want, trajectories(t, stubbed(t, tt.provider, tt.base), more...)
			if tt.provider == eval.ProviderAnthropic {
				want, got = verdictOnly(want), verdictOnly(got)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the agents did something else (-scripted +%s):\n%s", tt.name, diff)
			}
		})
	}
}
