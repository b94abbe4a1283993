package meter

import (
	"fmt"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A Purse is what one attempt at a trial may spend and has spent, on all its
// models together. The scheduler has held as much in the store before the attempt
// began, so whatever happens to the worker, no more is gone.
type Purse struct {
	bound eval.Amount // zero: no bound

	mu       sync.Mutex
	spent    eval.Amount
	reserved eval.Amount
	// lost is the part of spent that is reckoned for calls whose answer nobody has.
	lost     eval.Amount
	asked    bool
	unpriced bool
	under    int  // calls under way
	begun    bool // a call may have taken something
	over     int64
}

// NewPurse makes a purse with what may be spent. Zero is no bound, of money and of
// tokens each.
func NewPurse(bound eval.Amount) *Purse { return &Purse{bound: bound} }

// reserve sets aside what a call may take at most. The error says, for people, why
// the call must not be made: too little is left, or nobody knows what it costs. It
// is of kind CostLimit, or Network when there would be enough but for calls that
// were lost.
func (p *Purse) reserve(most eval.Amount, priced bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.short(most, priced)
	if err == nil {
		p.reserved = p.reserved.Add(most)
		return nil
	}
	if p.short(eval.Amount{MicroUSD: most.MicroUSD - p.lost.MicroUSD, Tokens: most.Tokens - p.lost.Tokens}, priced) == nil {
		return &llm.Error{Kind: llm.Network, Message: "calls whose answer was lost have used up what the trial may spend: " + err.Error()}
	}
	return &llm.Error{Kind: llm.CostLimit, Message: err.Error()}
}

// short says why a call must not be made that may take as much.
func (p *Purse) short(most eval.Amount, priced bool) error {
	out := p.spent.Add(p.reserved)
	switch after := out.Add(most); {
	case p.bound.MicroUSD > 0 && !priced:
		return fmt.Errorf("nobody knows the price of the model, so that the call cannot be kept within %s", eval.USD(p.bound.MicroUSD))
	case p.bound.MicroUSD > 0 && after.MicroUSD > p.bound.MicroUSD:
		return fmt.Errorf("the call may cost %s, and of %s only %s is left",
			eval.USD(most.MicroUSD), eval.USD(p.bound.MicroUSD), eval.USD(max(0, p.bound.MicroUSD-out.MicroUSD)))
	case p.bound.Tokens > 0 && after.Tokens > p.bound.Tokens:
		return fmt.Errorf("the call may take %d tokens, in and out, and of %d only %d are left",
			most.Tokens, p.bound.Tokens, max(0, p.bound.Tokens-out.Tokens))
	default:
		return nil
	}
}

// free takes back what was reserved for a call that is not made.
func (p *Purse) free(most eval.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freeLocked(most)
}

func (p *Purse) freeLocked(most eval.Amount) {
	p.reserved.MicroUSD -= most.MicroUSD
	p.reserved.Tokens -= most.Tokens
}

// Unanswered is how many micro-dollars of what was spent are the most that calls can
// have cost whose answer was lost.
func (p *Purse) Unanswered() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost.MicroUSD
}

// begin notes that a call is let go, with a price or without one.
func (p *Purse) begin(priced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	p.under++
	p.unpriced = p.unpriced || !priced
}

// settle ends a call that has begun, and puts what it took in place of what was
// reserved for it.
func (p *Purse) settle(most, took eval.Amount, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freeLocked(most)
	p.under--
	p.begun = p.begun || answered || took != (eval.Amount{})
	if !answered {
		p.lost = p.lost.Add(took)
	}
	p.spent = p.spent.Add(took)
	p.over = max(p.over, took.MicroUSD-most.MicroUSD)
}

// Begun says whether a call was made that may have taken something. One that was
// refused because of a limit has not.
func (p *Purse) Begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun || p.under > 0
}

// Spent is what calls took so far, those that are under way at their most.
func (p *Purse) Spent() eval.Amount {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent.Add(p.reserved)
}

// Cost in micro-dollars, calls under way at their most; nil when nothing was asked,
// or a model without a price.
func (p *Purse) Cost() *int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.asked || p.unpriced {
		return nil
	}
	return new(p.spent.Add(p.reserved).MicroUSD)
}

// Overcharged is by how many micro-dollars a call took more than it could have by
// the price list: the list is wrong then.
func (p *Purse) Overcharged() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.over
}
