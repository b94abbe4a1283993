package meter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// modelFunc is a model that is a function.
type modelFunc func(ctx context.Context, req llm.Request) (llm.Response, error)

func (f modelFunc) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	return f(ctx, req)
}

// most is what a call of hello can take with the price: 1024 and 64 tokens for what
// is around it, 6 bytes of text, 4096 tokens out.
func most() eval.Amount {
	const in, out = 1024 + 64 + 6, 4096
	return eval.Amount{MicroUSD: in + 5*out, Tokens: in + out}
}

// A call is reserved, then limited, then made, then settled.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(ok())
		r.purse, r.o.Price = meter.NewPurse(eval.Amount{}), price()
		var seen []string
		note := func(what string) { seen = append(seen, fmt.Sprintf("%s %d", what, r.purse.Spent().MicroUSD)) }
		r.gate.seen, r.asked = note, func() { note("call") }
		if _, err := r.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		want := []string{fmt.Sprint("limit ", most().MicroUSD), fmt.Sprint("call ", most().MicroUSD), "settle 150"}
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("what was spent at each step (-want +got):\n%s", diff)
		}
		ask := r.gate.asks[0]
		if ask.Permit == "" || ask.Input != (1024+64+6+2)/3 || ask.Output != 4096 {
			t.Errorf("asked for %+v", ask)
		}
		r.settled(t)
	})
}

// Each way in which one call ends costs something of its own, and tells the limiter
// something of its own.
func TestWhatACallCosts(t *testing.T) {
	nothing, all := eval.Amount{}, most()
	cached := says(100, 10)
	cached.Usage.CacheRead = 80
	silent := says(100, 0)
	silent.Message.Text = ""
	calling := silent
	calling.Message.Calls = []llm.Call{{Tool: "t"}}
	failed := func(in, out int) limit.Report { return limit.Report{Input: in, Output: out, Failed: true} }
	tests := []struct {
		name   string
		reply  reply
		want   eval.Amount
		report limit.Report
	}{
		{"an answer", reply{res: says(100, 10)}, eval.Amount{MicroUSD: 150, Tokens: 110}, limit.Report{Input: 100, Output: 10}},
		{"an answer out of a cache", reply{res: cached}, eval.Amount{MicroUSD: 20 + 50, Tokens: 110}, limit.Report{Input: 20, Output: 10}},
		{"an answer without usage", reply{res: says(0, 0)}, all, limit.Report{Input: -1, Output: -1}},
		{"an answer that tells only what went in", reply{res: says(100, 0)}, all, limit.Report{Input: 100, Output: -1}},
		{"calls that tell only what went in", reply{res: calling}, all, limit.Report{Input: 100, Output: -1}},
		{"an answer that tells only what came out", reply{res: says(0, 10)}, all, limit.Report{Input: -1, Output: 10}},
		{"silence", reply{res: silent}, eval.Amount{MicroUSD: 100, Tokens: 100}, limit.Report{Input: 100, Output: -1}},
		{"counts below zero", reply{res: says(-5, -7)}, all, limit.Report{Input: -1, Output: -1}},
		{"counts that nobody can mean", reply{res: says(1<<62, 1<<62)}, eval.Amount{MicroUSD: 1<<60/1_000_000 + 1, Tokens: 2 << 40}, limit.Report{Input: 1024 + 64 + 6, Output: 4096}},
		{"an answer that was lost", fails(gone()), all, failed(-1, -1)},
		{"a request that was never sent", fails(dead()), nothing, failed(0, 0)},
		{"too many requests", fails(after(time.Second)), nothing, limit.Report{Throttled: true, Pause: time.Second}},
		{"too many requests, said after the header", fails(&llm.Error{Kind: llm.RateLimit, Status: 200, Sent: true}), all, limit.Report{Input: -1, Output: -1, Throttled: true, Pause: time.Second}},
		{"overload", fails(busy()), nothing, failed(0, 0)},
		{"a bad request", fails(&llm.Error{Kind: llm.BadRequest, Status: 400}), nothing, failed(0, 0)},
		{"a wrong key", fails(&llm.Error{Kind: llm.Auth, Status: 401}), nothing, failed(0, 0)},
		{"an answer that a filter kept", fails(&llm.Error{Kind: llm.ContentFilter, Sent: true}), all, failed(-1, -1)},
		{"an error of nobody's", fails(errors.New("odd")), all, failed(-1, -1)},
		{"a cancel in the middle", reply{res: says(1, 1), takes: time.Hour}, all, failed(-1, -1)},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			r := limited(tt.reply)
			r.o.Price, r.o.Once, r.o.Rate = price(), true, eval.Rate{RequestsPerMinute: 60}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			_, _ = r.ask(ctx, hello())
			if got := r.purse.Spent(); got != tt.want {
				t.Errorf("spent %+v, want %+v", got, tt.want)
			}
			if got := r.purse.Cost(); got == nil || *got != tt.want.MicroUSD {
				t.Errorf("cost %v, want %d", got, tt.want.MicroUSD)
			}
			nothing := limit.Level{Remaining: -1}
			tt.report.Standing, tt.report.Rate = limit.Standing{Requests: nothing, Tokens: nothing, Input: nothing, Output: nothing}, r.o.Rate
			if diff := cmp.Diff([]limit.Report{tt.report}, r.gate.reports); diff != "" {
				t.Errorf("told the limiter (-want +got):\n%s", diff)
			}
			r.settled(t)
			cancel()
		})
	}
}

func TestCostByPrice(t *testing.T) {
	tests := []struct {
		name  string
		price *eval.Price
		cost  *int64
		spent eval.Amount
	}{
		{"priced", price(), new(int64(150)), eval.Amount{MicroUSD: 150, Tokens: 110}},
		{"free", &eval.Price{}, new(int64(0)), eval.Amount{Tokens: 110}},
		{"unpriced", nil, nil, eval.Amount{Tokens: 110}},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			r := alone(ok())
			r.o.Price = tt.price
			if _, err := r.ask(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.cost, r.purse.Cost()); diff != "" || r.purse.Spent() != tt.spent {
				t.Errorf("spent %+v, want %+v; cost (-want +got):\n%s", r.purse.Spent(), tt.spent, diff)
			}
		})
	}
}

// A model that panics keeps neither its permit nor what nobody knows of its cost.
func TestPanicOfAModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited()
		r.o.Price = price()
		r.replies, r.asked = []reply{ok()}, func() { panic("lost") }
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = r.ask(t.Context(), hello())
		}()
		if r.purse.Spent() != most() || *r.purse.Cost() != most().MicroUSD {
			t.Errorf("spent %+v, cost %d; want the most that it can be, %+v", r.purse.Spent(), *r.purse.Cost(), most())
		}
		if len(r.gate.reports) != 1 || !r.gate.reports[0].Failed {
			t.Errorf("told the limiter %+v", r.gate.reports)
		}
		r.settled(t)
	})
}

// A call that what is left does not cover is not made, and nobody is asked for a
// place for it.
func TestCostLimit(t *testing.T) {
	tests := []struct {
		name  string
		bound eval.Amount
		price *eval.Price
		calls int
		says  string
	}{
		{"no money for a call", eval.Amount{MicroUSD: most().MicroUSD - 1}, price(), 0, "the call may cost $0.021574, and of $0.021573 only $0.021573 is left"},
		{"money for one call", eval.Amount{MicroUSD: most().MicroUSD}, price(), 1, "the call may cost $0.02148, and of $0.021574 only $0.000574 is left"},
		{"tokens for one call", eval.Amount{Tokens: most().Tokens}, nil, 1, "the call may take 5096 tokens, in and out, and of 5190 only 190 are left"},
		{"a bound of money and no price", eval.Amount{MicroUSD: 1 << 40}, nil, 0, "nobody knows the price"},
		{"money that a free model does not need", eval.Amount{MicroUSD: 1}, &eval.Price{}, 2, ""},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			r := limited(reply{res: says(1000, 4000)})
			r.purse, r.o.Price = meter.NewPurse(tt.bound), tt.price
			var err error
			for range 2 {
				if _, err = r.ask(t.Context(), hello()); err != nil {
					break
				}
			}
			if e, ok := errors.AsType[*llm.Error](err); tt.says != "" && (!ok || e.Kind != llm.CostLimit || !strings.HasPrefix(e.Message, tt.says)) {
				t.Errorf("got %v, want a cost limit that says %q", err, tt.says)
			} else if tt.says == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if len(r.at) != tt.calls || len(r.gate.asks) != tt.calls {
				t.Errorf("%d calls, %d asks for a place; want %d", len(r.at), len(r.gate.asks), tt.calls)
			}
			if gone := r.purse.Spent().Tokens; gone != int64(tt.calls)*5000 {
				t.Errorf("%d tokens are gone, want those of %d calls", gone, tt.calls)
			}
			r.settled(t)
		})
	}
}

// Answers that were lost stay charged, each of them, and that may leave nothing for
// another try.
func TestLostAnswersEatTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := alone(fails(gone()))
		r.o.Price, r.purse = price(), meter.NewPurse(eval.Amount{MicroUSD: 3*most().MicroUSD - 1})
		_, err := r.ask(t.Context(), hello())
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Network {
			t.Errorf("got %v, want it to be the doing of the network", err)
		}
		if len(r.at) != 2 || r.purse.Spent().MicroUSD != 2*most().MicroUSD {
			t.Errorf("%d calls, spent %+v; want two at their most", len(r.at), r.purse.Spent())
		}
	})
}

// A bound that the provider counts beyond is found out.
func TestOvercharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := alone(reply{res: says(1_000_000, 10)})
		r.o.Price = price()
		if _, err := r.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		if want := 1_000_050 - most().MicroUSD; r.purse.Overcharged() != want {
			t.Errorf("overcharged by %d, want %d", r.purse.Overcharged(), want)
		}
	})
}

// The second request of a conversation is bounded by what the provider counted of
// the first.
func TestConversationIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(ok())
		r.purse = meter.NewPurse(eval.Amount{})
		req := hello()
		if _, err := r.ask(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		req.Messages = append(slices.Clone(req.Messages), llm.Message{Role: llm.Assistant, Text: "Hi."}, llm.Message{Role: llm.User, Text: "Bye."})
		var set int64
		r.asked = func() { set = r.purse.Spent().Tokens - 110 }
		if _, err := r.ask(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		if want := int64(100 + 64 + 3 + 64 + 4 + 4096); set != want {
			t.Errorf("%d tokens were set aside, want %d", set, want)
		}
	})
}

// Many ask at once with one purse: it is never overdrawn, and nothing stays set
// aside.
func TestManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bound := eval.Amount{MicroUSD: 20 * most().MicroUSD, Tokens: 15 * most().Tokens}
		purse := meter.NewPurse(bound)
		m := meter.New(modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
			if s := purse.Spent(); s.MicroUSD > bound.MicroUSD || s.Tokens > bound.Tokens {
				t.Errorf("spent %+v of %+v", s, bound)
			}
			time.Sleep(time.Second) // on the clock of synctest
			return says(1000, 4000), nil
		}), meter.Options{Purse: purse, Price: price(), Limiter: limit.New(&gate{}, limit.Options{}), Key: key})
		var all sync.WaitGroup
		var mu sync.Mutex
		answered := 0
		for range 100 {
			all.Go(func() {
				_, err := m.Generate(t.Context(), hello())
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					answered++
				}
			})
		}
		all.Wait()
		if answered != 15 || purse.Spent() != (eval.Amount{MicroUSD: 15 * 21_000, Tokens: 15 * 5_000}) {
			t.Errorf("%d answers, spent %+v; want 15 and what they took", answered, purse.Spent())
		}
	})
}
