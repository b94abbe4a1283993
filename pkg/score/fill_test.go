package score_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// everything is a check with a placeholder in every string that may hold one.
// Left alone are ids, the names of variables of the environment and of compared
// arguments, keywords, the step and the trajectories of a baseline.
const everything = `{"id":"id","title":"{{x}}","all":[{"id":"id","any":[{"id":"id","text":{"contains":"{{x}}"}}]}],
"text":{"equals":"{{x}}","contains":"{{x}}","regex":"{{x}}"},
"json":{"tool":"{{x}}","path":"{{x}}","match":{"a":["{{x}}"],"n":"{{n}}"},"schema":{"const":"{{x}}"}},
"called":{"tool":"{{x}}","arguments":{"a":"{{x}}"}},
"not_called":{"tool":"{{x}}","arguments":{"a":"{{x}}"}},
"rejected":{"tool":"{{x}}","contains":"{{x}}"},
"trajectory":{"calls":[{"tool":"{{x}}","arguments":{"a":"{{x}}"}}],"trajectories":[[{"tool":"{{KEEP}}","arguments":{"a":"{{KEEP}}"}}]],"compare":{"a":{"regex":"{{x}}"}}},
"no_repeats":{"tool":"{{x}}"},
"no_sensitive_data":{"allow":["{{x}}"]},
"verify":{"server":"{{x}}","step":{"id":"s","call":"{{KEEP}}"},"command":["{{x}}"],"env":{"A":"{{x}}"}},
"scorer":{"command":["{{x}}"],"env":{"A":"{{x}}"}},
"judge":{"rubric":"{{x}}","reference":"{{x}}"}}`

func TestFill(t *testing.T) {
	decode := func(raw string) eval.Check {
		var c eval.Check
		if err := json.Unmarshal([]byte(raw), &c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	values := map[string]eval.JSON{"x": eval.JSON(`"{{y}}"`), "n": eval.JSON(`7`)}
	lookup := vars.Lookup(func(name string) (eval.JSON, bool) { v, ok := values[name]; return v, ok })
	before := decode(everything)
	got, err := score.Fill(before, lookup)
	if err != nil {
		t.Fatal(err)
	}
	// What was filled in is data and is not filled again.
	want := decode(strings.NewReplacer("{{x}}", "{{y}}", `"{{n}}"`, "7").Replace(everything))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(decode(everything), before); diff != "" {
		t.Errorf("filling changed what it was given (-want +got):\n%s", diff)
	}
}

func TestFillWithoutAValue(t *testing.T) {
	c := contains("{{gone}}")
	c.ID = "c"
	_, err := score.Fill(eval.Check{ID: "g", Any: []eval.Check{c}}, func(string) (eval.JSON, bool) { return nil, false })
	if missing, ok := errors.AsType[*vars.MissingError](err); !ok || missing.Name != "gone" {
		t.Errorf("got %v, want an error that names the variable", err)
	}
}
