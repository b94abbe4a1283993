package suite_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// modelWith is a model of OpenAI's with more keys, as it is loaded.
func modelWith(t *testing.T, keys string) eval.Model {
	t.Helper()
	loaded := load(t, map[string]string{
		"suite.yaml": head + "vars: {price: 0.25, all: {input: 3, output: 4}}\nmodels: {m: {provider: openai, model: x, " + keys + "}}\ncases: [{id: a, prompt: x, " + checked + "}]\n",
	}, options())
	for _, p := range append(loaded.Warnings, loaded.Unsupported...) {
		t.Errorf("got %s", p.Render())
	}
	return loaded.Suite.Models["m"]
}

func TestPricesOfModels(t *testing.T) {
	const dollar = 1_000_000 // a dollar for a million tokens
	flat := func(in, out int64) eval.TokenPrice {
		return eval.TokenPrice{Input: in, CacheRead: in, CacheWrite: in, CacheWrite1H: in, Output: out, Reasoning: out}
	}
	for name, test := range map[string]struct {
		price    string
		want     *eval.Price
		override *eval.PriceOverride
	}{
		"two numbers are enough": {"{input: 1, output: 5}", &eval.Price{TokenPrice: flat(dollar, 5*dollar), From: "suite"}, nil},
		"decimals are exact":     {"{input: 0.075, output: 0.000001}", &eval.Price{TokenPrice: flat(75_000, 1), From: "suite"}, nil},
		"every number": {
			"{input: 1, output: 2, cache_read: 3, cache_write: 4, cache_write_1h: 5, reasoning: 6}",
			&eval.Price{TokenPrice: eval.TokenPrice{Input: dollar, Output: 2 * dollar, CacheRead: 3 * dollar, CacheWrite: 4 * dollar, CacheWrite1H: 5 * dollar, Reasoning: 6 * dollar}, From: "suite"},
			nil,
		},
		"an hour costs what a write costs": {
			"{input: 1, output: 2, cache_write: 4}",
			&eval.Price{TokenPrice: eval.TokenPrice{Input: dollar, CacheRead: dollar, CacheWrite: 4 * dollar, CacheWrite1H: 4 * dollar, Output: 2 * dollar, Reasoning: 2 * dollar}, From: "suite"},
			nil,
		},
		"what is not said may cost nothing": {"{input: 0, output: 1, cache_read: 0}", &eval.Price{TokenPrice: flat(0, dollar), From: "suite"}, nil},
		"a factor multiplies, rounded up":   {"{input: 0.000001, output: 3, factor: 0.5}", &eval.Price{TokenPrice: flat(1, 3*dollar/2), From: "suite"}, nil},
		"the largest price by the most":     {"{input: 100000, output: 100000, factor: 100}", &eval.Price{TokenPrice: flat(10_000_000*dollar, 10_000_000*dollar), From: "suite"}, nil},
		"tiers, and the factor is of them too": {
			"{input: 1, output: 2, factor: 0.5, tiers: [{over: 10, input: 2, output: 4}, {over: 20, input: 4, output: 8, cache_read: 1}]}",
			&eval.Price{
				TokenPrice: flat(dollar/2, dollar), From: "suite",
				Tiers: []eval.PriceTier{
					{Over: 10, TokenPrice: flat(dollar, 2*dollar)},
					{Over: 20, TokenPrice: eval.TokenPrice{Input: 2 * dollar, CacheRead: dollar / 2, CacheWrite: 2 * dollar, CacheWrite1H: 2 * dollar, Output: 4 * dollar, Reasoning: 4 * dollar}},
				},
			},
			nil,
		},
		"nothing, in a number": {"0", &eval.Price{From: "suite"}, nil},
		"nothing, in a word":   {"free", &eval.Price{From: "suite"}, nil},
		"like another model":   {"{like: anthropic/claude-haiku-4-5}", nil, &eval.PriceOverride{Like: "anthropic/claude-haiku-4-5"}},
		"half of another":      {"{like: openai/gpt-5, factor: 0.5}", nil, &eval.PriceOverride{Like: "openai/gpt-5", Factor: 500_000}},
		"a part of its own":    {"{factor: 0.9}", nil, &eval.PriceOverride{Factor: 900_000}},
		"a var":                {"{input: '${{ vars.price }}', output: 1}", &eval.Price{TokenPrice: flat(dollar/4, dollar), From: "suite"}, nil},
		"a var with all":       {"'${{ vars.all }}'", &eval.Price{TokenPrice: flat(3*dollar, 4*dollar), From: "suite"}, nil},
		"an environment":       {"\"${{ env.NONE | default('0') }}\"", &eval.Price{From: "suite"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := modelWith(t, "price: "+test.price)
			if diff := cmp.Diff(test.want, m.Price); diff != "" {
				t.Errorf("price differs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.override, m.PriceOverride); diff != "" {
				t.Errorf("override differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatesAndKeysOfModels(t *testing.T) {
	for name, test := range map[string]struct {
		keys string
		want eval.Model
	}{
		"nothing":         {"", eval.Model{}},
		"one key":         {"api_key: '${{secrets.A}}'", eval.Model{APIKey: "${{ secrets.A }}"}},
		"several keys":    {"api_keys: ['${{secrets.A}}', '${{ secrets.B }}']", eval.Model{APIKeys: []string{"${{ secrets.A }}", "${{ secrets.B }}"}}},
		"tokens together": {"rate: {requests_per_minute: 50, tokens_per_minute: 9, concurrent: 4}", eval.Model{Rate: &eval.Rate{RequestsPerMinute: 50, TokensPerMinute: 9, Concurrent: 4}}},
		"tokens apart, and judges": {
			"rate: {input_tokens_per_minute: 9, output_tokens_per_minute: 8, judge: {tokens_per_minute: 7}}",
			eval.Model{Rate: &eval.Rate{InputTokensPerMinute: 9, OutputTokensPerMinute: 8, Judge: &eval.Rate{TokensPerMinute: 7}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.want.Provider, test.want.Model = eval.ProviderOpenAI, "x"
			if diff := cmp.Diff(test.want, modelWith(t, test.keys)); diff != "" {
				t.Errorf("model differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBudgetsAndLimitsOfCost(t *testing.T) {
	loaded := load(t, map[string]string{"suite.yaml": head + `
models: {m: {provider: openai, model: x}}
budget: {usd: 20.000001, tokens: 5000000000, time: 5h}
repeats: {min: 3, max: 10, fit: budget}
limits: {cost_usd: 0.25}
cases:
  - {id: a, prompt: x, checks: [{at_most: {cost_usd: 0.05}}]}
  - {id: b, prompt: x, limits: {cost_usd: 1}, checks: [{contains: x}]}
`}, options())
	for _, p := range append(loaded.Warnings, loaded.Unsupported...) {
		t.Errorf("got %s", p.Render())
	}
	s := loaded.Suite
	if diff := cmp.Diff(eval.Budget{MicroUSD: 20_000_001, Tokens: 5_000_000_000, Time: 5 * time.Hour}, s.Budget); diff != "" {
		t.Errorf("budget differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(eval.Repeats{Min: 3, Max: 10, Fit: "budget"}, s.Repeats); diff != "" {
		t.Errorf("repeats differ (-want +got):\n%s", diff)
	}
	if a, b := s.Cases[0].Limits.CostMicroUSD, s.Cases[1].Limits.CostMicroUSD; a != 250_000 || b != 1_000_000 {
		t.Errorf("got limits %d and %d, want those of the suite and of the case", a, b)
	}
	if c := s.Cases[0].Checks[0].AtMost.CostMicroUSD; c == nil || *c != 50_000 {
		t.Errorf("got the check %v, want 50000", c)
	}
}

// Until somebody has chosen, a range of repeats is the fewest of them.
func TestRepeatsOfARange(t *testing.T) {
	s := eval.Suite{
		Cases:   []eval.Case{{ID: "a", Kind: eval.KindAgent}, {ID: "b", Kind: eval.KindScript}},
		Repeats: eval.Repeats{Min: 3, Max: 10, Fit: "budget"},
	}
	for n, want := range map[int]int{0: 3, 7: 7} {
		s.Repeats.N = n
		matrix, err := suite.Expand(&s, suite.Selection{})
		if err != nil || matrix.Cells[0].Repeats != want || matrix.Cells[1].Repeats != 1 {
			t.Errorf("with %d: got %v and %+v, want %d repeats of the agent alone", n, err, matrix.Cells, want)
		}
	}
}

func TestBudgetOfASuiteWithoutModels(t *testing.T) {
	loaded := load(t, map[string]string{"suite.yaml": head + "budget: {usd: 1, tokens: 1, time: 1s}\ncases: [{id: a, call: t}]\n"}, options())
	if len(loaded.Warnings) != 2 {
		t.Fatalf("got %v, want two warnings", loaded.Warnings)
	}
	for i, key := range []string{"usd", "tokens"} {
		if w := loaded.Warnings[i]; !w.Warning || w.Line != 3 || !strings.HasPrefix(w.Message, key+" bounds") {
			t.Errorf("got %s, want that %s has nothing to bound", w.Render(), key)
		}
	}
}
