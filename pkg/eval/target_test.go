package eval_test

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestTargetWants(t *testing.T) {
	for name, test := range map[string]struct {
		target  eval.Target
		suite   string
		verdict eval.RunVerdict
		before  eval.RunVerdict
		want    bool
	}{
		"its verdict":               {eval.Target{On: []eval.Occasion{eval.OnError, eval.OnFail}}, "a", eval.RunFail, "", true},
		"another verdict":           {eval.Target{On: []eval.Occasion{eval.OnError, eval.OnFail}}, "a", eval.RunPass, eval.RunFail, false},
		"always":                    {eval.Target{On: []eval.Occasion{eval.OnAlways}}, "a", eval.RunPass, "", true},
		"no occasion":               {eval.Target{}, "a", eval.RunFail, "", false},
		"a change":                  {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunPass, eval.RunFail, true},
		"no change":                 {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunFail, eval.RunFail, false},
		"a first run that passes":   {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunPass, "", false},
		"a first run that does not": {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunError, "", true},
		"no change, but its verdict": {
			eval.Target{On: []eval.Occasion{eval.OnChange, eval.OnFail}}, "a", eval.RunFail, eval.RunFail, true,
		},
		"a suite of a glob":     {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"b", "nightly-*"}}, "nightly-desk", eval.RunPass, "", true},
		"a suite of no glob":    {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"b", "nightly-*"}}, "desk", eval.RunPass, "", false},
		"a glob that is broken": {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"["}}, "[", eval.RunPass, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			run := eval.Run{Suite: test.suite, Verdict: test.verdict}
			if got := test.target.Wants(run, test.before); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
