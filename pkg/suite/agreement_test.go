package suite_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestMinAgreement(t *testing.T) {
	const agent = "models: {m: {provider: openai, model: x}}\ncases: [{id: a, prompt: x, checks: [{judge: {rubric: y}}]}]\n"
	const script = "cases: [{id: a, call: t}]\n"
	tests := []struct {
		name, text  string
		want        float64
		warn, wrong string
	}{
		{name: "none", text: agent},
		{name: "a number", text: "min_agreement: 0.7\n" + agent, want: 0.7},
		{name: "an expression", text: "vars: {least: 0.8}\nmin_agreement: ${{ vars.least }}\n" + agent, want: 0.8},
		{name: "any", text: "min_agreement: 0\n" + agent},
		{name: "no agent case", text: "min_agreement: 0.7\n" + script, want: 0.7, warn: "the suite has no agent case to judge"},
		{name: "too much", text: "min_agreement: 70\n" + agent, wrong: "want a number from 0 to 1, got the number 70"},
		{name: "below nothing", text: "min_agreement: -0.1\n" + agent, wrong: "want a number from 0 to 1"},
		{name: "no number", text: "min_agreement: high\n" + agent, wrong: "want a number from 0 to 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			loaded, err := suite.Load(write(t, map[string]string{"suite.yaml": head + test.text})+"/suite.yaml", options())
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("got %v, want %s", err, test.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := loaded.Suite.MinAgreement; got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			var warnings []string
			for _, w := range loaded.Warnings {
				warnings = append(warnings, w.Message)
			}
			if got := strings.Join(warnings, "; "); got != test.warn {
				t.Errorf("got the warnings %q, want %q", got, test.warn)
			}
		})
	}
}

func TestJudgeAgreement(t *testing.T) {
	const models, gate = "models: {m: {provider: scripted, script: s.yaml}}\ndefaults: {model: m}\n", "gate: {judge_agreement: \">= 0.8\"}\n"
	tests := []struct{ name, text, warn, wrong string }{
		{name: "a judge", text: models + gate + "cases: [{id: a, prompt: x, checks: [{any: [{contains: y}, {judge: {rubric: z}}]}]}]\n"},
		{name: "agents without a judge", text: models + gate + "cases: [{id: a, prompt: x, checks: [{contains: y}]}]\n", warn: "the suite has no check that a judge decides"},
		{name: "no agent", text: gate + "cases: [{id: a, call: t}]\n", warn: "the suite has no check that a judge decides"},
		{name: "a bound above 1", text: "gate: {judge_agreement: \">= 80\"}\ncases: [{id: a, call: t}]\n", wrong: "with a bound from 0 to 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"suite.yaml": head + test.text, "s.yaml": "version: 1\ndefault: [{say: y}]\n"}
			loaded, err := suite.Load(write(t, files)+"/suite.yaml", options())
			if test.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), test.wrong) {
					t.Errorf("got %v, want %s", err, test.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := eval.Rule{Metric: eval.MetricJudgeAgreement, Op: ">=", Bound: 0.8}
			if got := loaded.Suite.Gate.Rules; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
				t.Errorf("got the rules %+v, want %+v", got, want)
			}
			var warnings []string
			for _, w := range loaded.Warnings {
				warnings = append(warnings, w.Message)
			}
			if got := strings.Join(warnings, "; "); got != test.warn {
				t.Errorf("got the warnings %q, want %q", got, test.warn)
			}
		})
	}
}
