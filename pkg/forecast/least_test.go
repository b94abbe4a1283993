package forecast_test

import (
	"slices"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/forecast"
)

// A trial that cannot pay for a first call is found before it begins: of 1024 tokens
// in, at $1, and 100 out, at $5, without a word being said.
func TestTooLittle(t *testing.T) {
	const dollars, tokens = 1524, 1124
	for name, tt := range map[string]struct {
		limits eval.Limits
		hold   eval.Amount
		budget eval.Budget
		want   bool
	}{
		"no limit":                           {},
		"a limit without a budget, enough":   {limits: eval.Limits{CostMicroUSD: dollars}},
		"a limit without a budget, too low":  {limits: eval.Limits{CostMicroUSD: dollars - 1}, want: true},
		"a hold that is enough":              {hold: eval.Amount{MicroUSD: dollars}, budget: eval.Budget{MicroUSD: 1e6}},
		"a hold that is too low":             {hold: eval.Amount{MicroUSD: dollars - 1}, budget: eval.Budget{MicroUSD: 1e6}, want: true},
		"tokens that are enough":             {hold: eval.Amount{Tokens: tokens}, budget: eval.Budget{Tokens: 1e6}},
		"tokens that are too few":            {hold: eval.Amount{Tokens: tokens - 1}, budget: eval.Budget{Tokens: 1e6}, want: true},
		"few tokens, which nobody caps here": {hold: eval.Amount{Tokens: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench("a", "b").budget(tt.budget).hold("a", tt.hold).models(func(m *eval.Model) {
				m.MaxOutputTokens = 100
				m.Price = &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, Output: 5_000_000}}
			})
			b.Cases[0].Limits = tt.limits
			got := forecast.TooLittle(b.Run, b.Snapshot, b.Cases)
			if (len(got) > 0) != tt.want || len(slices.Compact(got)) > 1 {
				t.Errorf("got %q", got)
			}
		})
	}
}
