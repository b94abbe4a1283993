package eval_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// sol has the numbers of a model with a tier, in pico-dollars a token.
func sol() eval.Price {
	return eval.Price{
		TokenPrice: eval.TokenPrice{Input: 2_000_000, CacheRead: 200_000, CacheWrite: 2_500_000, CacheWrite1H: 4_000_000, Output: 10_000_000, Reasoning: 12_000_000},
		Tiers: []eval.PriceTier{{Over: 272_000, TokenPrice: eval.TokenPrice{
			Input: 4_000_000, CacheRead: 400_000, CacheWrite: 5_000_000, CacheWrite1H: 8_000_000, Output: 15_000_000, Reasoning: 18_000_000,
		}}},
	}
}

// mostMicroUSD is the most that a call can cost.
const mostMicroUSD = (1<<60 + 999_999) / 1_000_000

func TestCost(t *testing.T) {
	cents := eval.Price{TokenPrice: eval.TokenPrice{Input: 1, Output: 1}, Call: 12_000_000_000}
	dear := eval.Price{TokenPrice: eval.TokenPrice{Input: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64, CacheWrite1H: math.MaxInt64, Output: math.MaxInt64, Reasoning: math.MaxInt64}, Call: math.MaxInt64}
	for _, row := range []struct {
		name  string
		price eval.Price
		usage eval.Usage
		want  int64 // micro-dollars
	}{
		{"nothing", sol(), eval.Usage{}, 0},
		{"input", sol(), eval.Usage{Input: 10}, 20},
		{"read from a cache", sol(), eval.Usage{Input: 421, CacheRead: 300}, 121*2 + 60},
		{"written to one", sol(), eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100}, 21*2 + 60 + 250},
		{"a part of that for an hour", sol(), eval.Usage{Input: 421, CacheRead: 300, CacheWrite: 100, CacheWrite1H: 40}, 21*2 + 60 + 150 + 160},
		{"output", sol(), eval.Usage{Output: 50}, 500},
		{"a part of that reasoning", sol(), eval.Usage{Output: 50, Reasoning: 30}, 200 + 360},
		{"up to the tier", sol(), eval.Usage{Input: 272_000, Output: 1}, 544_000 + 10},
		{"over the tier", sol(), eval.Usage{Input: 272_001, Output: 1}, 1_088_004 + 15},
		{"over the tier with the cache's", sol(), eval.Usage{Input: 272_001, CacheRead: 272_000}, 4 + 108_800},
		{"less than a micro-dollar", sol(), eval.Usage{Input: 1, CacheRead: 1}, 1},
		{"rounded once", eval.Price{TokenPrice: eval.TokenPrice{Input: 1, Output: 1}}, eval.Usage{Input: 1, Output: 1}, 1},
		{"a fee", cents, eval.Usage{}, 12_000},
		{"a fee and a token", cents, eval.Usage{Input: 1}, 12_001},
		{"free", eval.Price{}, eval.Usage{Input: 1 << 40, Output: 1 << 40}, 0},

		// What servers get wrong, or make up.
		{"more read than went in", sol(), eval.Usage{Input: 10, CacheRead: 100}, 20},
		{"over the tier by the cache alone", sol(), eval.Usage{Input: 1, CacheRead: 300_000}, 120_000},
		{"more for an hour than written", sol(), eval.Usage{Input: 100, CacheWrite: 10, CacheWrite1H: 100}, 400},
		{"more reasoning than output", sol(), eval.Usage{Output: 10, Reasoning: 100}, 1200},
		{"negative", sol(), eval.Usage{Input: -1, CacheRead: -1, CacheWrite: -1, CacheWrite1H: -1, Output: -1, Reasoning: -1}, 0},
		{"as many as llm.Tokens lets through", sol(), eval.Usage{Input: 3 << 40, CacheRead: 1 << 40, CacheWrite: 1 << 40, Output: 1 << 40}, mostMicroUSD},
		{"as many as there are", dear, eval.Usage{
			Input: math.MaxInt, CacheRead: math.MaxInt, CacheWrite: math.MaxInt, CacheWrite1H: math.MaxInt, Output: math.MaxInt, Reasoning: math.MaxInt,
		}, mostMicroUSD},
		{
			"over the tier by more than can be added up",
			eval.Price{Tiers: []eval.PriceTier{{Over: 10, TokenPrice: eval.TokenPrice{CacheRead: 1}}}},
			eval.Usage{CacheRead: math.MaxInt, CacheWrite1H: math.MaxInt},
			mostMicroUSD,
		},
		{"a negative price", eval.Price{TokenPrice: eval.TokenPrice{Input: -5, Output: 1_000_000}, Call: -1}, eval.Usage{Input: 100, Output: 1}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.price.Cost(row.usage); got != row.want {
				t.Errorf("cost %d µ$, want %d", got, row.want)
			}
		})
	}
}

func TestBound(t *testing.T) {
	falling := sol()
	falling.Tiers[0].TokenPrice = eval.TokenPrice{}
	for _, row := range []struct {
		name          string
		price         eval.Price
		input, output int
		want          int64 // micro-dollars
	}{
		{"nothing", sol(), 0, 0, 0},
		{"every token at the dearest price of its side", sol(), 100, 10, 400 + 120},
		{"up to the tier", sol(), 272_000, 0, 1_088_000},
		{"over the tier", sol(), 272_001, 0, 2_176_008},
		{"a tier that is cheaper need not be reached", falling, 272_001, 0, 1_088_004},
		{"a fee", eval.Price{Call: 12_000_000_000}, 0, 0, 12_000},
		{"negative", sol(), -1, -1, 0},
		{"as many as there are", sol(), math.MaxInt, math.MaxInt, mostMicroUSD},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.price.Bound(row.input, row.output); got != row.want {
				t.Errorf("bound %d µ$, want %d", got, row.want)
			}
		})
	}
}

// tokens draws counts that are usual, at the edge of a tier, and made up.
func tokens() *rapid.Generator[int] {
	return rapid.OneOf(rapid.IntRange(0, 2000), rapid.IntRange(0, 1<<41), rapid.Int())
}

func tokenPrice() *rapid.Generator[eval.TokenPrice] {
	return rapid.Custom(func(t *rapid.T) eval.TokenPrice {
		n := func(name string) int64 {
			return rapid.OneOf(rapid.Int64Range(0, 100_000_000), rapid.Int64()).Draw(t, name)
		}
		return eval.TokenPrice{
			Input: n("input"), CacheRead: n("cache_read"), CacheWrite: n("cache_write"), CacheWrite1H: n("cache_write_1h"),
			Output: n("output"), Reasoning: n("reasoning"),
		}
	})
}

// prices draws prices with tiers that rise in tokens, not in dollars.
func prices() *rapid.Generator[eval.Price] {
	return rapid.Custom(func(t *rapid.T) eval.Price {
		p := eval.Price{TokenPrice: tokenPrice().Draw(t, "price"), Call: rapid.Int64().Draw(t, "call")}
		over := 0
		for range rapid.IntRange(0, 3).Draw(t, "tiers") {
			over += rapid.IntRange(1, 1000).Draw(t, "over")
			p.Tiers = append(p.Tiers, eval.PriceTier{Over: over, TokenPrice: tokenPrice().Draw(t, "tier")})
		}
		return p
	})
}

func usages() *rapid.Generator[eval.Usage] {
	return rapid.Custom(func(t *rapid.T) eval.Usage {
		n := func(name string) int { return tokens().Draw(t, name) }
		return eval.Usage{
			Input: n("input"), CacheRead: n("cache_read"), CacheWrite: n("cache_write"), CacheWrite1H: n("cache_write_1h"),
			Output: n("output"), Reasoning: n("reasoning"),
		}
	})
}

// TestBoundHolds: no usage costs more than the bound of its tokens, nor than that
// of more tokens.
func TestBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, u := prices().Draw(t, "price"), usages().Draw(t, "usage")
		plus := func(tokens ...int) int { // saturates
			sum := 0
			for _, n := range tokens {
				sum += min(max(0, n), math.MaxInt-sum)
			}
			return sum
		}
		in := max(u.Input, plus(u.CacheRead, max(u.CacheWrite, u.CacheWrite1H)))
		out := max(u.Output, u.Reasoning)
		cost, bound := p.Cost(u), p.Bound(in, out)
		if cost < 0 || cost > bound {
			t.Fatalf("cost %d µ$, bound %d of %d in and %d out", cost, bound, in, out)
		}
		if more := p.Bound(plus(in, tokens().Draw(t, "more in")), plus(out, tokens().Draw(t, "more out"))); more < bound {
			t.Fatalf("bound %d µ$ of more, %d of less", more, bound)
		}
	})
}

// TestCostGrows: a token more, of whatever kind, costs no less, when the tiers rise
// in dollars.
func TestCostGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := prices().Draw(t, "price")
		last := p.TokenPrice
		for i := range p.Tiers {
			tier := &p.Tiers[i].TokenPrice
			*tier = eval.TokenPrice{
				Input: max(last.Input, tier.Input), CacheRead: max(last.CacheRead, tier.CacheRead),
				CacheWrite: max(last.CacheWrite, tier.CacheWrite), CacheWrite1H: max(last.CacheWrite1H, tier.CacheWrite1H),
				Output: max(last.Output, tier.Output), Reasoning: max(last.Reasoning, tier.Reasoning),
			}
			last = *tier
		}
		n := func(name string) int { return rapid.IntRange(0, 1500).Draw(t, name) }
		// usage whose parts fit into their wholes.
		usage := func(plain, read, short, hour, said, reasoning int) eval.Usage {
			return eval.Usage{
				Input: plain + read + short + hour, CacheRead: read, CacheWrite: short + hour, CacheWrite1H: hour,
				Output: said + reasoning, Reasoning: reasoning,
			}
		}
		u := usage(n("plain"), n("read"), n("short"), n("hour"), n("said"), n("reasoning"))
		more := u.Add(usage(n("plain"), n("read"), n("short"), n("hour"), n("said"), n("reasoning")))
		if less, cost := p.Cost(u), p.Cost(more); cost < less {
			t.Fatalf("%+v costs %d µ$, %+v %d", u, less, more, cost)
		}
	})
}

func TestPriceJSON(t *testing.T) {
	want := sol()
	want.Call, want.From = 5, "suite"
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got eval.Price
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
