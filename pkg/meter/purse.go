package meter

import (
	"fmt"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Purse is what one attempt at a trial may spend and has spent, on all its
// models together. The scheduler has held as much in the store before the attempt
// began, so whatever happens to the worker, no more is gone.
type Purse struct {
	bound eval.Amount // zero: no bound

	mu       sync.Mutex
	spent    eval.Amount
	reserved eval.Amount
	unpriced bool
	begun    bool
	over     int64
	// unanswered micro-dollars are those of spent for calls whose answer was lost.
	unanswered int64
}

// NewPurse makes a purse with what may be spent. Zero is no bound, of money and of
// tokens each.
func NewPurse(bound eval.Amount) *Purse { return &Purse{bound: bound} }

// reserve sets aside what a call may take at most. The error says, for people, why
// the call must not be made: too little is left, or nobody knows what it costs.
func (p *Purse) reserve(most eval.Amount, priced bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
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
	}
	p.reserved = p.reserved.Add(most)
	return nil
}

// settle puts what a call took in place of what was reserved for it.
func (p *Purse) settle(most, took eval.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved.MicroUSD -= most.MicroUSD
	p.reserved.Tokens -= most.Tokens
	p.spent = p.spent.Add(took)
	p.over = max(p.over, took.MicroUSD-most.MicroUSD)
}

// lost notes that the answer of a settled call was lost, so that it counts for its
// most.
func (p *Purse) lost(took eval.Amount) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unanswered += took.MicroUSD
}

// Unanswered is how many micro-dollars of what was spent are the most that calls can
// have cost whose answer was lost.
func (p *Purse) Unanswered() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.unanswered
}

// begin notes that a call is let go, with a price or without one.
func (p *Purse) begin(priced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
	p.unpriced = p.unpriced || !priced
}

// Begun says whether any call was made.
func (p *Purse) Begun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
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
	if !p.begun || p.unpriced {
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
