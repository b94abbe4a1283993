package price

import (
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// dearest takes the larger of each number of two prices, tier by tier.
func dearest(a, b eval.Price) eval.Price {
	p := eval.Price{TokenPrice: dearestTokens(a.TokenPrice, b.TokenPrice), Call: max(a.Call, b.Call)}
	var starts []int
	for _, t := range slices.Concat(a.Tiers, b.Tiers) {
		starts = append(starts, t.Over)
	}
	slices.Sort(starts)
	for _, start := range slices.Compact(starts) {
		p.Tiers = append(p.Tiers, eval.PriceTier{Over: start, TokenPrice: dearestTokens(tokensOver(a, start), tokensOver(b, start))})
	}
	return p
}

// tokensOver is the price of a call with just more than so many tokens of input.
func tokensOver(p eval.Price, tokens int) eval.TokenPrice {
	price := p.TokenPrice
	for _, t := range p.Tiers {
		if t.Over <= tokens {
			price = t.TokenPrice
		}
	}
	return price
}

func dearestTokens(a, b eval.TokenPrice) eval.TokenPrice {
	return eval.TokenPrice{
		Input:        max(a.Input, b.Input),
		CacheRead:    max(a.CacheRead, b.CacheRead),
		CacheWrite:   max(a.CacheWrite, b.CacheWrite),
		CacheWrite1H: max(a.CacheWrite1H, b.CacheWrite1H),
		Output:       max(a.Output, b.Output),
		Reasoning:    max(a.Reasoning, b.Reasoning),
	}
}
