package price

import (
	"math"
	"math/bits"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Scale multiplies a price by a factor in millionths ([Millionths]); its numbers are
// rounded up.
func Scale(p eval.Price, millionths int64) eval.Price {
	p.Call = scale(p.Call, millionths)
	p.TokenPrice = scaleTokens(p.TokenPrice, millionths)
	p.Tiers = slices.Clone(p.Tiers)
	for i := range p.Tiers {
		p.Tiers[i].TokenPrice = scaleTokens(p.Tiers[i].TokenPrice, millionths)
	}
	return p
}

func scaleTokens(t eval.TokenPrice, millionths int64) eval.TokenPrice {
	return eval.TokenPrice{
		Input:        scale(t.Input, millionths),
		CacheRead:    scale(t.CacheRead, millionths),
		CacheWrite:   scale(t.CacheWrite, millionths),
		CacheWrite1H: scale(t.CacheWrite1H, millionths),
		Output:       scale(t.Output, millionths),
		Reasoning:    scale(t.Reasoning, millionths),
	}
}

// scale takes negative numbers for 0, and stays at the largest when it runs over.
func scale(n, millionths int64) int64 {
	const million = 1_000_000
	high, low := bits.Mul64(uint64(max(0, n)), uint64(max(0, millionths)))
	low, carry := bits.Add64(low, million-1, 0)
	high += carry
	if high >= million {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, million)
	return int64(min(quotient, math.MaxInt64))
}
