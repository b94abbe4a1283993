package suite

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/price"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// PriceFile is what the tokens of a model cost: 0 or free for nothing, or a map.
type PriceFile struct {
	strictyaml.At
	priceMapFile
}

// What the tokens of a model cost: in numbers, or like a model of the price list.
type priceMapFile struct {
	tokenPriceFile
	// Prices of calls with more input than a number of tokens. They are for the whole call, and rise.
	Tiers []tierFile `yaml:"tiers,omitempty"`
	// A model of the price list that costs the same, such as anthropic/claude-haiku-4-5, in the place of numbers.
	Like string `yaml:"like,omitempty"`
	// Multiplies all prices: 0.5 for half of them. Alone, those that the price list has of the model.
	Factor factor `yaml:"factor,omitempty"`
}

// The price of each kind of token, in US dollars for a million of them.
type tokenPriceFile struct {
	// Tokens that go in.
	Input *perMillion `yaml:"input,omitempty"`
	// Tokens that come out.
	Output *perMillion `yaml:"output,omitempty"`
	// Tokens that are read from a cache. Default: input.
	CacheRead *perMillion `yaml:"cache_read,omitempty"`
	// Tokens that are written to a cache. Default: input.
	CacheWrite *perMillion `yaml:"cache_write,omitempty"`
	// Tokens that are written to a cache for an hour. Default: cache_write.
	CacheWrite1H *perMillion `yaml:"cache_write_1h,omitempty"`
	// Tokens of reasoning. Default: output.
	Reasoning *perMillion `yaml:"reasoning,omitempty"`
}

// The price of calls with more input than a number of tokens.
type tierFile struct {
	// Number of tokens.
	Over positive `yaml:"over"`
	tokenPriceFile
}

// freePrice is the word for a model that costs nothing, and so is 0.
const freePrice = "free"

// priceKeys are those of a price in numbers.
func priceKeys() []string {
	return []string{"input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "tiers"}
}

// UnmarshalNode decodes one of the forms.
func (f *PriceFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	if n.Kind != strictyaml.Map {
		var zero perMillion
		f.Input, f.Output = &zero, &zero
		if number := n.Kind == strictyaml.Number || n.Loose; n.Text != freePrice && (n.Text != "0" || !number) {
			d.Want(n, "free, 0, or a map with input and output, like or factor")
		}
		return
	}
	d.Decode(n, &f.priceMapFile)
	var numbers string
	for _, key := range priceKeys() {
		if numbers == "" && n.Field(key) != nil {
			numbers = key
		}
	}
	switch {
	case n.Field("like") != nil && numbers != "":
		d.Report(n.Place(numbers), numbers+" and like do not go together", "like takes all prices from the list, and factor multiplies them")
	case n.Field("like") != nil:
		if like := n.Get("like"); like.Kind == strictyaml.String && !like.Bad {
			likes(d, like)
		}
	case numbers == "" && n.Field("factor") != nil: // of the model's own
	default:
		wantSides(d, n, "dollars for a million tokens; without numbers: like or factor")
	}
	before := 0
	for i, tier := range f.Tiers {
		at := n.Get("tiers").Items[i]
		if tier.Over > 0 && int(tier.Over) <= before {
			d.Report(at.Place("over"), "the tiers do not rise", "each is over more tokens than the one before")
		}
		before = int(tier.Over)
	}
}

// likes finds out whether the price list has the model that another one costs like.
func likes(d *strictyaml.Decoder, n *strictyaml.Node) {
	hint := "write one of the price list, such as anthropic/claude-haiku-4-5"
	if n.Text == "" {
		d.Report(n.Pos, "like names no model", hint)
		return
	}
	list, err := price.Load()
	if err != nil { // that of the binary: whoever needs a price of it says so
		return
	}
	_, err = list.Named(n.Text, time.Now())
	unknown, ok := errors.AsType[*price.UnknownError](err)
	if !ok {
		return
	}
	message := fmt.Sprintf("the price list has no model %q", n.Text)
	if unknown.Listed {
		message = fmt.Sprintf("the price list does not say all that a call of %q costs", n.Text)
	}
	if len(unknown.Nearest) > 0 {
		hint = "nearest: " + strings.Join(unknown.Nearest, ", ")
	}
	d.Report(n.Pos, message, hint)
}

func (f *tierFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain tierFile
	d.Decode(n, (*plain)(f))
	wantSides(d, n, "dollars for a million tokens")
}

// wantSides wants the two prices that nothing stands for.
func wantSides(d *strictyaml.Decoder, n *strictyaml.Node, hint string) {
	for _, key := range []string{"input", "output"} {
		if n.Kind == strictyaml.Map && n.Field(key) == nil {
			d.Report(n.Pos, `missing key "`+key+`"`, hint)
		}
	}
}

// Price is the noun of the form, found where from says, or how to take it out of
// the price list; at most one of the two is set.
func (f *PriceFile) Price(from string) (*eval.Price, *eval.PriceOverride) {
	switch {
	case f == nil:
		return nil, nil
	case f.Input == nil || f.Output == nil:
		return nil, &eval.PriceOverride{Like: f.Like, Factor: int64(f.Factor)}
	}
	out := eval.Price{TokenPrice: f.prices(f.Factor), From: from}
	for _, t := range f.Tiers {
		out.Tiers = append(out.Tiers, eval.PriceTier{Over: int(t.Over), TokenPrice: t.prices(f.Factor)})
	}
	return &out, nil
}

// prices fills in what is not said, and multiplies. A bad form has no price.
func (f tokenPriceFile) prices(by factor) eval.TokenPrice {
	or := func(p, otherwise *perMillion) *perMillion {
		if p != nil {
			return p
		}
		return otherwise
	}
	value := func(p *perMillion) int64 {
		if p == nil {
			return 0
		}
		return by.of(int64(*p))
	}
	write := or(f.CacheWrite, f.Input)
	return eval.TokenPrice{
		Input: value(f.Input), CacheRead: value(or(f.CacheRead, f.Input)),
		CacheWrite: value(write), CacheWrite1H: value(or(f.CacheWrite1H, write)),
		Output: value(f.Output), Reasoning: value(or(f.Reasoning, f.Output)),
	}
}

// perMillion is a price in dollars for a million tokens, kept in pico-dollars for
// one.
type perMillion int64

// mostPerMillion bounds a price, so that the cost of any call fits.
const mostPerMillion = 100_000

func (p *perMillion) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*p = perMillion(millionths(d, n, 0, mostPerMillion, "dollars for a million tokens, from 0 to 100000"))
}

// factor multiplies prices. It is kept in millionths; zero means that none is
// given.
type factor int64

const mostFactor = 100

func (f *factor) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	*f = factor(millionths(d, n, 1, mostFactor, "a number above 0, up to 100"))
}

// of multiplies a price, rounded up.
func (f factor) of(micro int64) int64 {
	if f == 0 {
		return micro
	}
	product := new(big.Int).Mul(big.NewInt(micro), big.NewInt(int64(f)))
	return product.Add(product, big.NewInt(million-1)).Div(product, big.NewInt(million)).Int64()
}
