package suite_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A policy takes the place of the whole gate of a suite, and its mistakes have places
// in it.
func TestPolicy(t *testing.T) {
	files := map[string]string{
		"suite.yaml": head + "gate: {alpha: 0.01, pass_rate: {script: '>= 0.95'}}\ncases: [{id: a, tags: [x], call: t}]\n",
	}
	dir := t.TempDir()
	policy := filepath.Join(dir, "policy.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("unjudged: '<= 0.1'\ntags: {x: {disagreement: '<= 0.2'}}\n")
	opts := options()
	plain := load(t, files, opts)
	opts.Gate = policy
	governed := load(t, files, opts)
	g := governed.Suite.Gate
	if g.Alpha != 0 || len(g.Rules) != 2 || g.Rules[0].Metric != eval.MetricUnjudged || g.Rules[1].Tag != "x" || governed.Rules[1].File() != policy || governed.Rules[1].Line != 2 {
		t.Errorf("got gate %+v at %+v, want that of the policy", g, governed.Rules)
	}
	if governed.Hash == plain.Hash {
		t.Error("the policy is not in the hash of the suite")
	}
	stored, err := suite.LoadGate(policy, governed.Suite, suite.Options{})
	if err != nil || len(stored.Gate.Rules) != 2 {
		t.Errorf("for a stored run: got %+v, %v, want the same gate", stored, err)
	}
	write("tags: {y: {disagreement: '<= 0.2'}}\n")
	_, err = suite.LoadGate(policy, governed.Suite, suite.Options{})
	if problems, ok := errors.AsType[*suite.ProblemsError](err); !ok || !strings.Contains(problems.Error(), policy+":1:8") {
		t.Errorf("an unknown tag: got %v, want its place", err)
	}
}

// Reading a policy never panics, and every rule of one that can be read has its place.
func FuzzLoadGate(f *testing.F) {
	for _, text := range []string{
		"pass_rate: '>= 0.9'", "baseline: main\nregressions: {margin: 0.05, confirm: {repeats: 3}}", "latency_p95: '<= baseline * 1.2'",
		"tools: {t: {latency_p50: '< 1s'}}", "variants: {'model=a': {cost_usd: '<= 0.1'}}", "per: model\ncatalog_fingerprint: same", "[1]", "",
	} {
		f.Add([]byte(text))
	}
	path := filepath.Join(f.TempDir(), "policy.yaml")
	of := eval.Suite{Axes: []eval.Axis{{Name: "model", Points: []eval.Point{{Value: "a"}}}}, Cases: []eval.Case{{ID: "c", Kind: eval.KindAgent}}}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := suite.LoadGate(path, of, suite.Options{})
		if err == nil && len(p.Rules) != len(p.Gate.Rules) {
			t.Errorf("got %d places of %d rules", len(p.Rules), len(p.Gate.Rules))
		}
	})
}
