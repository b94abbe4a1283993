package price

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// An amount is one number of a price, in millionths, and those that replace it for
// calls whose input is over a number of tokens.
type amount struct {
	base  int64
	tiers []tier
}

type tier struct {
	over  int
	price int64
}

// over is the amount for a call with just more than so many tokens of input.
func (a amount) over(tokens int) int64 {
	n := a.base
	for _, t := range a.tiers {
		if t.over <= tokens {
			n = t.price
		}
	}
	return n
}

// UnmarshalJSON reads a number, or {base, tiers}.
func (a *amount) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '{' {
		var err error
		a.base, err = Millionths(string(data))
		return err
	}
	var form struct {
		Base  json.Number `json:"base"`
		Tiers []struct {
			Start int         `json:"start"`
			Price json.Number `json:"price"`
		} `json:"tiers"`
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	var err error
	if a.base, err = Millionths(form.Base.String()); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	for i, t := range form.Tiers {
		n, err := Millionths(t.Price.String())
		if err != nil {
			return fmt.Errorf("tiers[%d]: price: %w", i, err)
		}
		if t.Start < 0 {
			return fmt.Errorf("tiers[%d]: start is negative", i)
		}
		a.tiers = append(a.tiers, tier{over: t.Start, price: n})
	}
	slices.SortStableFunc(a.tiers, func(x, y tier) int { return cmp.Compare(x.over, y.over) })
	return nil
}

// priceOf makes a price of the amounts of the list: dollars for a million tokens
// of each kind, and for a thousand calls.
//
// What the list leaves out costs as much as what it is a part of. Tokens that a
// cache read or wrote are input: a provider that names no price for them charges
// none of its own. Nothing is known of their lifetime either, so those kept for an
// hour cost as much as those kept for minutes. Reasoning is output.
func priceOf(amounts map[string]amount) (dated, error) {
	part := func(name string, whole amount) amount {
		if a, ok := amounts[name]; ok {
			return a
		}
		return whole
	}
	input, output := amounts["input_mtok"], amounts["output_mtok"]
	read, write := part("cache_read_mtok", input), part("cache_write_mtok", input)
	hour, reasoning := part("cache_write_1h_mtok", write), part("output_reasoning_mtok", output)
	over := func(tokens int) eval.TokenPrice {
		return eval.TokenPrice{
			Input: input.over(tokens), CacheRead: read.over(tokens), CacheWrite: write.over(tokens), CacheWrite1H: hour.over(tokens),
			Output: output.over(tokens), Reasoning: reasoning.over(tokens),
		}
	}
	const none = -1 // tokens: no tier begins there
	d := dated{price: eval.Price{TokenPrice: over(none)}}
	starts := map[int]bool{}
	for _, a := range []amount{input, read, write, hour, output, reasoning} {
		for _, t := range a.tiers {
			starts[t.over] = true
		}
	}
	for _, start := range slices.Sorted(maps.Keys(starts)) {
		d.price.Tiers = append(d.price.Tiers, eval.PriceTier{Over: start, TokenPrice: over(start)})
	}
	if calls, ok := amounts["requests_kcount"]; ok {
		if len(calls.tiers) > 0 || calls.base > math.MaxInt64/1000 {
			return dated{}, errors.New("requests_kcount: tiers, or too large")
		}
		d.price.Call = 1000 * calls.base
	}
	d.whole = isWhole(amounts)
	return d, nil
}

// isWhole says whether amounts price all of a call.
func isWhole(amounts map[string]amount) bool {
	for name := range amounts {
		switch name {
		case "input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_reasoning_mtok", "requests_kcount":
		default:
			return false
		}
	}
	_, in := amounts["input_mtok"]
	_, out := amounts["output_mtok"]
	return in && out
}
