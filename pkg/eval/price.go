package eval

// A Price is what the tokens of a model cost. Its numbers are pico-dollars a
// token: $1 for a million tokens is 1,000,000.
type Price struct {
	TokenPrice
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

// Cost of one call in micro-dollars, rounded up.
func (p Price) Cost(u Usage) int64 {
	t := p.at(u.Input)
	plain := max(0, u.Input-u.CacheRead-u.CacheWrite)
	short := max(0, u.CacheWrite-u.CacheWrite1H)
	said := max(0, u.Output-u.Reasoning)
	return microUSD(int64(plain)*t.Input + int64(u.CacheRead)*t.CacheRead + int64(short)*t.CacheWrite +
		int64(min(u.CacheWrite, u.CacheWrite1H))*t.CacheWrite1H + int64(said)*t.Output + int64(min(u.Output, u.Reasoning))*t.Reasoning)
}

// Bound is the most in micro-dollars that one call can cost with at most so many
// tokens in and out: at the dearest tier that it can reach, every token at the
// dearest price of its side.
func (p Price) Bound(input, output int) int64 {
	var most int64
	for _, t := range p.reachable(input) {
		in := max(t.Input, t.CacheRead, t.CacheWrite, t.CacheWrite1H)
		most = max(most, microUSD(int64(input)*in+int64(output)*max(t.Output, t.Reasoning)))
	}
	return most
}

// at is the price of a call with so many tokens of input.
func (p Price) at(input int) TokenPrice {
	tiers := p.reachable(input)
	return tiers[len(tiers)-1]
}

// reachable lists the prices of calls with at most so many tokens of input.
func (p Price) reachable(input int) []TokenPrice {
	prices := []TokenPrice{p.TokenPrice}
	for _, t := range p.Tiers {
		if input > t.Over {
			prices = append(prices, t.TokenPrice)
		}
	}
	return prices
}

// microUSD rounds pico-dollars up to micro-dollars.
func microUSD(pico int64) int64 { return (pico + 999_999) / 1_000_000 }
