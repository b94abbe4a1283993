package demo

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// A books is what one session has done at the desk, for each company.
type books struct {
	mu     sync.Mutex
	ledger map[*tenant]*ledger
}

// A ledger is what one session has done with the orders of one company.
type ledger struct {
	refunded  map[string]int  // cents, by order
	escalated map[string]bool // by order
	asked     map[string]int  // how often, by job
}

func newBooks() *books { return &books{ledger: map[*tenant]*ledger{}} }

// A visit is one request at the desk. While it lasts no other request of its
// session is served.
type visit struct {
	desk   *desk
	caller Caller
	own    *tenant
	ledger *ledger
}

// visit begins a visit; leave ends it.
func (d *desk) visit(ctx context.Context) (v *visit, leave func(), err error) {
	c, told := ctx.Value(callerKey{}).(Caller)
	if !told {
		c = d.caller
	}
	own, err := d.admit(c)
	if err != nil {
		return nil, nil, err
	}
	b := d.books.of(ctx)
	b.mu.Lock()
	if b.ledger[own] == nil {
		b.ledger[own] = &ledger{map[string]int{}, map[string]bool{}, map[string]int{}}
	}
	return &visit{d, c, own, b.ledger[own]}, b.mu.Unlock, nil
}

// answer makes a tool of what a visitor can ask for.
func (d *desk) answer(ask func(*visit, object) reply) answer {
	return func(ctx context.Context, arguments object) reply {
		v, leave, err := d.visit(ctx)
		if err != nil {
			return refuse("", err.Error())
		}
		defer leave()
		return ask(v, arguments)
	}
}

// seen are the companies that the visitor sees, its own first.
func (v *visit) seen() []*tenant {
	all := []*tenant{v.own}
	if v.desk.leaky {
		for _, name := range slices.Sorted(maps.Keys(v.desk.tenants)) {
			all = append(all, v.desk.tenants[name])
		}
	}
	return all
}
