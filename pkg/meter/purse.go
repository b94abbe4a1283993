package meter

import (
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
}

// NewPurse makes a purse with what may be spent. Zero is no bound, of money and of
// tokens each.
func NewPurse(bound eval.Amount) *Purse { return &Purse{bound: bound} }

// reserve sets aside what a call may take at most, or says that too little is
// left.
func (p *Purse) reserve(most eval.Amount) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := p.spent.Add(p.reserved).Add(most)
	if p.bound.MicroUSD > 0 && after.MicroUSD > p.bound.MicroUSD || p.bound.Tokens > 0 && after.Tokens > p.bound.Tokens {
		return false
	}
	p.reserved = p.reserved.Add(most)
	return true
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

// Cost in micro-dollars; nil when nothing was asked, or a model without a price.
func (p *Purse) Cost() *int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun || p.unpriced {
		return nil
	}
	return new(p.spent.MicroUSD)
}

// Overcharged is by how many micro-dollars a call took more than it could have by
// the price list: the list is wrong then.
func (p *Purse) Overcharged() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.over)
}
