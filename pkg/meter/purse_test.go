package meter

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Whatever is reserved and settled in whatever order, no more is gone than the
// purse had, as long as no call takes more than was set aside for it.
func TestPurseIsNeverOverdrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		upTo := func(name string, most int64) int64 { return rapid.Int64Range(0, most).Draw(t, name) }
		bound := eval.Amount{MicroUSD: upTo("money", 1000), Tokens: upTo("tokens", 1000)}
		p := NewPurse(bound)
		var out []eval.Amount // calls under way
		var took eval.Amount
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				most := eval.Amount{MicroUSD: upTo("microusd", 400), Tokens: upTo("tokens", 400)}
				before := p.Spent()
				after := before.Add(most)
				fits := (bound.MicroUSD == 0 || after.MicroUSD <= bound.MicroUSD) && (bound.Tokens == 0 || after.Tokens <= bound.Tokens)
				if err := p.reserve(most, true); (err == nil) != fits {
					t.Fatalf("reserve %+v of %+v, of which %+v is gone: %v", most, bound, before, err)
				} else if err == nil {
					out = append(out, most)
				}
			},
			"settle": func(t *rapid.T) {
				if len(out) == 0 {
					t.Skip("nothing is out")
				}
				i := rapid.IntRange(0, len(out)-1).Draw(t, "call")
				most := out[i]
				out = append(out[:i], out[i+1:]...)
				cost := eval.Amount{MicroUSD: upTo("took", most.MicroUSD), Tokens: upTo("took tokens", most.Tokens)}
				p.begin(true)
				p.settle(most, cost, rapid.Bool().Draw(t, "answered"))
				took = took.Add(cost)
			},
			"": func(t *rapid.T) {
				want := took
				for _, most := range out {
					want = want.Add(most)
				}
				got := p.Spent()
				if got != want {
					t.Fatalf("spent %+v, want %+v", got, want)
				}
				if bound.MicroUSD > 0 && got.MicroUSD > bound.MicroUSD || bound.Tokens > 0 && got.Tokens > bound.Tokens {
					t.Fatalf("spent %+v of %+v", got, bound)
				}
				if cost := p.Cost(); cost != nil && *cost != got.MicroUSD {
					t.Fatalf("a cost of %d, but %d is spent", *cost, got.MicroUSD)
				}
				if p.Overcharged() != 0 {
					t.Fatalf("overcharged by %d", p.Overcharged())
				}
			},
		})
	})
}

func TestWhyACallIsNotMade(t *testing.T) {
	tests := []struct {
		name        string
		bound, gone eval.Amount
		most        eval.Amount
		unpriced    bool
		want        string
	}{
		{"it just fits", eval.Amount{MicroUSD: 100_000}, eval.Amount{MicroUSD: 80_000}, eval.Amount{MicroUSD: 20_000}, false, ""},
		{"no bound", eval.Amount{}, eval.Amount{}, eval.Amount{MicroUSD: 1 << 40, Tokens: 1 << 40}, true, ""},
		{"too little money", eval.Amount{MicroUSD: 100_000}, eval.Amount{MicroUSD: 80_000}, eval.Amount{MicroUSD: 105_300}, false, "the call may cost $0.1053, and of $0.10 only $0.02 is left"},
		{"too few tokens", eval.Amount{Tokens: 50_000}, eval.Amount{Tokens: 45_000}, eval.Amount{Tokens: 70_096}, false, "the call may take 70096 tokens, in and out, and of 50000 only 5000 are left"},
		{"too little of both", eval.Amount{MicroUSD: 1, Tokens: 1}, eval.Amount{}, eval.Amount{MicroUSD: 2, Tokens: 2}, false, "the call may cost $0.000002, and of $0.000001 only $0.000001 is left"},
		{"nothing is left, and more than that is gone", eval.Amount{MicroUSD: 10_000}, eval.Amount{MicroUSD: 20_000}, eval.Amount{MicroUSD: 1}, false, "the call may cost $0.000001, and of $0.01 only $0.00 is left"},
		{"a bound of money, and a price that nobody knows", eval.Amount{MicroUSD: 10_000}, eval.Amount{}, eval.Amount{Tokens: 1}, true, "nobody knows the price of the model, so that the call cannot be kept within $0.01"},
		{"a bound of tokens, and a price that nobody knows", eval.Amount{Tokens: 10_000}, eval.Amount{}, eval.Amount{Tokens: 1}, true, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPurse(tt.bound)
			p.begin(true)
			p.settle(eval.Amount{}, tt.gone, true)
			err := p.reserve(tt.most, !tt.unpriced)
			if got := errorText(err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if reserved := p.Spent() != tt.gone; reserved != (tt.want == "") {
				t.Errorf("set aside: %t", reserved)
			}
		})
	}
}

func errorText(err error) string {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Message
	}
	return ""
}

// Calls whose answer was lost have taken what they could, but that is not the
// agent's doing.
func TestMoneyThatWasLost(t *testing.T) {
	for _, tt := range []struct {
		name       string
		lost, most int64
		want       llm.Kind
	}{
		{"enough but for what was lost", 60, 50, llm.Network},
		{"too little anyway", 10, 95, llm.CostLimit},
		{"nothing lost", 0, 101, llm.CostLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPurse(eval.Amount{MicroUSD: 100})
			p.begin(true)
			p.settle(eval.Amount{}, eval.Amount{MicroUSD: 6}, true)
			if tt.lost > 0 {
				p.begin(true)
				p.settle(eval.Amount{}, eval.Amount{MicroUSD: tt.lost}, false)
			}
			if e, ok := errors.AsType[*llm.Error](p.reserve(eval.Amount{MicroUSD: tt.most}, true)); !ok || e.Kind != tt.want {
				t.Errorf("got %v, want one of kind %s", e, tt.want)
			}
			if p.Spent().MicroUSD != 6+tt.lost || p.Unanswered() != tt.lost {
				t.Errorf("spent %d, %d of it for lost answers", p.Spent().MicroUSD, p.Unanswered())
			}
		})
	}
}

// An attempt has begun once a call may have taken something, or had an answer.
func TestBegun(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(p *Purse)
		want bool
	}{
		{"nothing was asked", func(*Purse) {}, false},
		{"something is set aside", func(p *Purse) { _ = p.reserve(eval.Amount{Tokens: 1}, true) }, false},
		{"a call is under way", func(p *Purse) { p.begin(true) }, true},
		{"a call was refused", func(p *Purse) { p.begin(true); p.settle(eval.Amount{}, eval.Amount{}, false) }, false},
		{"a call was lost", func(p *Purse) { p.begin(true); p.settle(eval.Amount{}, eval.Amount{Tokens: 1}, false) }, true},
		{"a call for nothing was answered", func(p *Purse) { p.begin(true); p.settle(eval.Amount{}, eval.Amount{}, true) }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPurse(eval.Amount{})
			tt.do(p)
			if p.Begun() != tt.want {
				t.Errorf("begun: %t", p.Begun())
			}
		})
	}
}

func TestWhatIsKnownOfTheCost(t *testing.T) {
	const unknown = -1
	tests := []struct {
		name string
		do   func(p *Purse)
		want int64
	}{
		{"nothing was asked", func(*Purse) {}, unknown},
		{"one call", func(p *Purse) { p.begin(true); p.settle(eval.Amount{}, eval.Amount{MicroUSD: 7}, true) }, 7},
		{"a call that was refused", func(p *Purse) { p.begin(true) }, 0},
		{"a model without a price", func(p *Purse) { p.begin(false) }, unknown},
		{"one with a price, then one without", func(p *Purse) {
			p.begin(true)
			p.settle(eval.Amount{}, eval.Amount{MicroUSD: 7}, true)
			p.begin(false)
		}, unknown},
		{"a call that is under way", func(p *Purse) {
			_ = p.reserve(eval.Amount{MicroUSD: 9}, true)
			p.begin(true)
		}, 9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPurse(eval.Amount{})
			tt.do(p)
			got := int64(unknown)
			if cost := p.Cost(); cost != nil {
				got = *cost
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// A provider that charges more than a call can cost is found out; what it charges
// counts all the same, and one call's savings do not hide it.
func TestOvercharge(t *testing.T) {
	p := NewPurse(eval.Amount{MicroUSD: 100})
	for _, took := range []int64{10, 35, 5} {
		if err := p.reserve(eval.Amount{MicroUSD: 30}, true); err != nil {
			t.Fatal(err)
		}
		p.begin(true)
		p.settle(eval.Amount{MicroUSD: 30}, eval.Amount{MicroUSD: took}, true)
	}
	if p.Overcharged() != 5 || p.Spent().MicroUSD != 50 {
		t.Errorf("overcharged by %d of %d, want 5 of 50", p.Overcharged(), p.Spent().MicroUSD)
	}
}
