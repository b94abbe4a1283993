package suite_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

func TestKeysWithoutEffectOnAModel(t *testing.T) {
	const scripted = "{provider: scripted, script: p.yaml, "
	for name, test := range map[string]struct {
		model, err string
		warnings   []string
	}{
		"sampling of a scripted model": {
			model:    scripted + "model: x, temperature: 1, top_p: 1, max_output_tokens: 5, seed: 1}",
			warnings: []string{"model", "temperature", "top_p", "max_output_tokens", "seed"},
		},
		"a rate of a scripted model":     {model: scripted + "rate: {concurrent: 2}}", warnings: []string{"rate"}},
		"a price of a scripted model":    {model: scripted + "price: {input: 1, output: 2}}"},
		"a price for each of its tokens": {model: scripted + "price: {input: 1, output: 2}, max_output_tokens: 5}"},
		"keys of a scripted model":       {model: scripted + "api_keys: ['${{ secrets.K }}']}", err: "api_keys has no use in a model of the provider scripted"},
		"thinking of a scripted model":   {model: scripted + "thinking: {effort: low}}", err: "thinking has no use in a model of the provider scripted"},
		"a timeout of a scripted one":    {model: scripted + "call_timeout: 2s}", err: "call_timeout has no use in a model of the provider scripted"},
		"seed of anthropic":              {model: "{provider: anthropic, model: x, seed: trial}", warnings: []string{"seed"}},
		"seed of openai":                 {model: "{provider: openai, model: x, seed: trial, thinking: {effort: low}}"},
		"budget of openai":               {model: "{provider: openai, model: x, thinking: {effort: low, budget_tokens: 9000}}", warnings: []string{"budget_tokens"}},
		"budget of anthropic":            {model: "{provider: anthropic, model: x, thinking: {budget_tokens: 4095}}"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := suite.Load(write(t, map[string]string{
				"p.yaml":     "version: 1\ndefault: [{say: hello}]\n",
				"suite.yaml": head + "models: {m: " + test.model + "}\ncases: [{id: a, prompt: x, " + checked + "}]\n",
			}), options())
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), "suite.yaml:3:") {
					t.Errorf("got %v, want %s at its place", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(loaded.Warnings) != len(test.warnings) {
				t.Fatalf("got warnings %v, want of %v", loaded.Warnings, test.warnings)
			}
			for i, w := range loaded.Warnings {
				if !strings.HasPrefix(w.Message, test.warnings[i]+" has no effect on a model of the provider ") || w.Line != 3 {
					t.Errorf("got warning %q in line %d, want one of %s in line 3", w.Message, w.Line, test.warnings[i])
				}
			}
		})
	}
}

// A model of Anthropic's may think with fewer tokens than it may put out,
// whichever places of the suite say so.
func TestThinkingFitsIntoTheAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		model, agent, own, axes string
		want                    string // empty: the suite is good
	}{
		"in the model":          {model: "thinking: {budget_tokens: 2000}, max_output_tokens: 2000", want: "suite.yaml:3:"},
		"by default":            {model: "thinking: {budget_tokens: 4096}", want: "budget_tokens is 4096 and max_output_tokens 4096"},
		"the case widens":       {model: "thinking: {budget_tokens: 4096}", own: "max_output_tokens: 4097"},
		"the suite narrows":     {model: "thinking: {budget_tokens: 2000}", agent: "max_output_tokens: 2000", want: "suite.yaml:3:"},
		"the suite thinks":      {model: "max_output_tokens: 2000", agent: "thinking: {budget_tokens: 2000}", want: "suite.yaml:4:"},
		"the case thinks":       {model: "max_output_tokens: 2000", own: "thinking: {budget_tokens: 3000}", want: "suite.yaml:6:"},
		"by effort":             {agent: "thinking: {budget_tokens: 9000}", own: "thinking: {effort: low}"},
		"an axis thinks":        {axes: "{how: {little: {}, much: {agent: {thinking: {budget_tokens: 9000}}}}}", want: "suite.yaml:5:"},
		"an axis widens":        {own: "thinking: {budget_tokens: 9000}", axes: "{how: {much: {agent: {max_output_tokens: 10000}}}}"},
		"one point does not":    {own: "thinking: {budget_tokens: 9000}", axes: "{how: {much: {agent: {max_output_tokens: 10000}}, no: {}}}", want: `in case "a/1"`},
		"axes of a model":       {agent: "thinking: {budget_tokens: 9000}", axes: "{model: [m]}", want: "suite.yaml:4:"},
		"another model's agent": {agent: "thinking: {budget_tokens: 9000}", axes: "{model: [other]}"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := suite.Load(write(t, map[string]string{
				"suite.yaml": head + "models: {m: {provider: anthropic, model: x, " + test.model + "}, other: {provider: openai, model: y}}\n" +
					"agent: {loop_after: 3, " + test.agent + "}\naxes: " + cmp.Or(test.axes, "{}") + "\n" +
					"cases: [{id: a, prompt: x, each: {n: [1, 2]}, agent: {loop_after: 3, " + test.own + "}, " + checked + "}]\n" +
					"defaults: {model: m}\n",
			}), options())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err != nil && strings.Count(err.Error(), "error: ") != 1 {
				t.Errorf("got %v, want one error", err)
			}
		})
	}
}
