package score_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/sensitive"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// The page that explains the checks has one of each in a suite that loads, and
// names every kind of sensitive data.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/checks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindSubmatch(text)
	if found == nil {
		t.Fatal("docs/checks.md shows no suite")
	}
	file := t.TempDir() + "/suite.yaml"
	if err := os.WriteFile(file, found[1], 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := suite.Load(file, suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range loaded.Suite.Cases[0].Checks {
		fields := map[string]bool{
			"text": c.Text != nil, "json": c.JSON != nil, "called": c.Called != nil, "not_called": c.NotCalled != nil, "rejected": c.Rejected != nil,
			"trajectory": c.Trajectory != nil, "no_repeats": c.NoRepeats != nil, "at_most": c.AtMost != nil, "no_sensitive_data": c.NoSecrets != nil,
			"verify": c.Verify != nil, "scorer": c.Scorer != nil, "judge": c.Judge != nil, "any": len(c.Any) > 0, "all": len(c.All) > 0,
		}
		for kind, is := range fields {
			seen[kind] = seen[kind] || is
		}
	}
	for kind, is := range seen {
		if !is {
			t.Errorf("docs/checks.md has no example of %s", kind)
		}
	}
	for _, k := range sensitive.Kinds() {
		if !strings.Contains(string(text), k.Name) {
			t.Errorf("docs/checks.md does not name %s", k.Name)
		}
	}
	for _, reason := range []eval.Reason{eval.ReasonNotDiscovered, eval.ReasonNotSelected, eval.ReasonWrongArguments, eval.ReasonGaveUp, eval.ReasonScorerFailed} {
		if !strings.Contains(string(text), "`"+string(reason)+"`") {
			t.Errorf("docs/checks.md does not explain %s", reason)
		}
	}
}
