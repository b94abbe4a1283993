package suite_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

var yamlFenceRE = regexp.MustCompile("(?ms)^```yaml\n(version:.*?)^```$")

// The suites of the page that explains them load without a warning. One without
// cases is there to complete a file in the format of others, and one with
// scenarios is an oracle.
func TestSuitesOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/suite.md")
	if err != nil {
		t.Fatal(err)
	}
	found := yamlFenceRE.FindAllStringSubmatch(string(text), -1)
	if len(found) < 3 {
		t.Fatalf("got %d suites, want some", len(found))
	}
	for _, m := range found {
		if strings.Contains(m[1], "\nscenarios:") {
			if o, err := suite.LoadOracle("oracle.yaml", []byte(m[1])); err != nil || len(o.Warnings) > 0 {
				t.Errorf("the oracle does not load\n%s\n%v", m[1], err)
			}
			continue
		}
		if !strings.Contains(m[1], "\ncases:") {
			if _, err := loadForeign(t, map[string]string{"s.yaml": "user_intent: x\nexpected_trajectory: [{tool: mcp__proxy__t}]\n", "with.yaml": m[1]}, "s.yaml"); err != nil {
				t.Errorf("a scenario does not load with\n%s\n%v", m[1], err)
			}
			continue
		}
		opts := options()
		opts.Rules = nil
		loaded := load(t, map[string]string{"suite.yaml": m[1]}, opts)
		for _, p := range append(loaded.Warnings, loaded.Unsupported...) {
			t.Errorf("got %s", p.Render())
		}
	}
}

var partFenceRE = regexp.MustCompile("(?ms)^```yaml\n((?:models|budget|servers):.*?)^```$")

var firstServerRE = regexp.MustCompile(`^servers:\s+([a-z]+):`)

// So do the models, the budgets and the servers that the docs show, in a suite around them.
func TestPartsOfSuitesOfTheDocs(t *testing.T) {
	for file, least := range map[string]int{"models.md": 4, "suite.md": 3} {
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := partFenceRE.FindAllStringSubmatch(string(text), -1)
		if len(found) < least {
			t.Errorf("%s: got %d parts, want some", file, len(found))
		}
		for _, m := range found {
			around := head + "cases: [{id: a, prompt: x, model: claude, " + checked + "}]\n"
			if first := firstServerRE.FindStringSubmatch(m[1]); first != nil {
				around = "version: 1\ncases: [{id: a, server: " + first[1] + ", call: t}]\n"
			} else if !strings.HasPrefix(m[1], "models:") {
				around += "models: {claude: {provider: anthropic, model: x}}\n"
			}
			loaded := load(t, map[string]string{"suite.yaml": around + m[1]}, options())
			for _, p := range append(loaded.Warnings, loaded.Unsupported...) {
				t.Errorf("got %s", p.Render())
			}
		}
	}
}
