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
		notify  []string
	}{
		"its verdict":               {eval.Target{On: []eval.Occasion{eval.OnError, eval.OnFail}}, "a", eval.RunFail, "", true, nil},
		"another verdict":           {eval.Target{On: []eval.Occasion{eval.OnError, eval.OnFail}}, "a", eval.RunPass, eval.RunFail, false, nil},
		"always":                    {eval.Target{On: []eval.Occasion{eval.OnAlways}}, "a", eval.RunPass, "", true, nil},
		"no occasion":               {eval.Target{}, "a", eval.RunFail, "", false, nil},
		"a change":                  {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunPass, eval.RunFail, true, nil},
		"no change":                 {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunFail, eval.RunFail, false, nil},
		"a first run that passes":   {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunPass, "", false, nil},
		"a first run that does not": {eval.Target{On: []eval.Occasion{eval.OnChange}}, "a", eval.RunError, "", true, nil},
		"no change, but its verdict": {
			eval.Target{On: []eval.Occasion{eval.OnChange, eval.OnFail}}, "a", eval.RunFail, eval.RunFail, true, nil,
		},
		"a suite of a glob":     {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"b", "nightly-*"}}, "nightly-desk", eval.RunPass, "", true, nil},
		"a suite of no glob":    {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"b", "nightly-*"}}, "desk", eval.RunPass, "", false, nil},
		"a glob that is broken": {eval.Target{On: []eval.Occasion{eval.OnAlways}, Suites: []string{"["}}, "[", eval.RunPass, "", false, nil},
		"named by the run": {
			eval.Target{Name: "us", On: []eval.Occasion{eval.OnFail}, Suites: []string{"b"}}, "a", eval.RunFail, "", true, []string{"them", "us"},
		},
		"named by the run, and it is no occasion": {
			eval.Target{Name: "us", On: []eval.Occasion{eval.OnFail}}, "a", eval.RunPass, "", false, []string{"us"},
		},
		"not named by the run, which names another": {
			eval.Target{Name: "us", On: []eval.Occasion{eval.OnFail}}, "a", eval.RunFail, "", false, []string{"them"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := eval.Run{Suite: test.suite, Verdict: test.verdict, Notify: test.notify}
			if got := test.target.Wants(run, test.before); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
