package eval

import "math"

// A Price is what the calls of a model cost. Its numbers are pico-dollars, those
// of tokens for one token: $1 for a million tokens is 1,000,000.
type Price struct {
	TokenPrice
	// Call is what every call costs besides its tokens, such as the search that
	// comes with it.
	Call int64 `json:"call,omitempty"`
	// Tiers replace the price for a whole call, its output too, whose input is over
	// a number of tokens. The last that applies counts; they rise.
	Tiers []PriceTier `json:"tiers,omitempty"`
	// From says where the price was found: a model of the price list as
	// "anthropic/claude-haiku-4-5", "suite" or "farm".
	From string `json:"from,omitempty"`
}

// A PriceTier is the price of calls whose input is over so many tokens.
type PriceTier struct {
	Over int `json:"over"`
	TokenPrice
}

// A TokenPrice is the price of each kind of token, in pico-dollars. Input is that
// of tokens that were neither read from a cache nor written to one, Output that
// of all that came out but reasoning.
type TokenPrice struct {
	Input        int64 `json:"input"`
	CacheRead    int64 `json:"cache_read"`
	CacheWrite   int64 `json:"cache_write"`
	CacheWrite1H int64 `json:"cache_write_1h"`
	Output       int64 `json:"output"`
	Reasoning    int64 `json:"reasoning"`
}

// mostPico is the most that a call can cost in pico-dollars, $1.15 million. More is
// made up by a server, and the sum of all calls would run over.
const mostPico = 1 << 60

// Cost of one call in micro-dollars, rounded up, at most $1.15 million. A part that
// is larger than its whole counts in full: some servers leave it out of the sum.
func (p Price) Cost(u Usage) int64 {
	read, hour := count(u.CacheRead), count(u.CacheWrite1H)
	short := max(0, count(u.CacheWrite)-hour)
	plain := max(0, count(u.Input)-read-short-hour)
	reasoning := count(u.Reasoning)
	said := max(0, count(u.Output)-reasoning)
	t := p.at(plain + read + short + hour)
	return microUSD(times(1, p.Call),
		times(plain, t.Input), times(read, t.CacheRead), times(short, t.CacheWrite), times(hour, t.CacheWrite1H),
		times(said, t.Output), times(reasoning, t.Reasoning))
}

// Bound is the most in micro-dollars that one call can cost with at most so many
// tokens in and out: at the dearest tier that it can reach, every token at the
// dearest price of its side.
func (p Price) Bound(input, output int) int64 {
	in, out := count(input), count(output)
	bound := func(t TokenPrice) int64 {
		return microUSD(times(1, p.Call),
			times(in, max(t.Input, t.CacheRead, t.CacheWrite, t.CacheWrite1H)), times(out, max(t.Output, t.Reasoning)))
	}
	most := bound(p.TokenPrice)
	for _, t := range p.Tiers {
		if in > int64(t.Over) {
			most = max(most, bound(t.TokenPrice))
		}
	}
	return most
}

// at is the price of a call with so many tokens of input.
func (p Price) at(input int64) TokenPrice {
	t := p.TokenPrice
	for _, tier := range p.Tiers {
		if input > int64(tier.Over) {
			t = tier.TokenPrice
		}
	}
	return t
}

// count is a server's number of tokens, which may be any, so that a few can be
// added up.
func count(tokens int) int64 { return min(max(0, int64(tokens)), math.MaxInt64/8) }

// times is what so many tokens cost in pico-dollars, at most mostPico.
func times(tokens, price int64) int64 {
	if price <= 0 || tokens == 0 {
		return 0
	}
	if tokens > mostPico/price {
		return mostPico
	}
	return tokens * price
}

// microUSD adds up to seven parts of at most mostPico, and rounds the sum up to
// micro-dollars.
func microUSD(pico ...int64) int64 {
	var sum int64
	for _, n := range pico {
		sum += n
	}
	return (min(sum, mostPico) + 999_999) / 1_000_000
}
