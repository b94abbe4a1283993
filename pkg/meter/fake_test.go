package meter_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// key is what all calls are limited by.
const key = limit.Key("anthropic:3fa9c1d2/claude-haiku-4-5")

// A reply is what one call of a model comes to.
type reply struct {
	res   llm.Response
	err   error
	takes time.Duration
}

// A moody model gives its replies in order, and its last for ever.
type moody struct {
	replies []reply
	asked   func() // before each reply; nil is nothing

	mu    sync.Mutex
	at    []time.Time // when it was asked
	ended []time.Time
}

func (m *moody) Generate(ctx context.Context, _ llm.Request) (llm.Response, error) {
	m.mu.Lock()
	r := m.replies[min(len(m.at), len(m.replies)-1)]
	m.at = append(m.at, time.Now())
	m.mu.Unlock()
	if m.asked != nil {
		m.asked()
	}
	select {
	case <-time.After(r.takes):
	case <-ctx.Done():
		return llm.Response{}, ctx.Err()
	}
	m.mu.Lock()
	m.ended = append(m.ended, time.Now())
	m.mu.Unlock()
	return r.res, r.err
}

// gaps are the times between a call's end and the next one.
func (m *moody) gaps() []time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(m.at); i++ {
		gaps = append(gaps, m.at[i].Sub(m.ended[i-1]))
	}
	return gaps
}

// says is an answer with so many tokens in and out.
func says(in, out int) llm.Response {
	return llm.Response{ID: "r", Message: llm.Message{Role: llm.Assistant, Text: "Hi."}, Usage: eval.Usage{Input: in, Output: out}}
}

// ok is a reply with a sound answer, fails one with an error.
func ok() reply             { return reply{res: says(100, 10)} }
func fails(err error) reply { return reply{err: err} }
func hello() llm.Request {
	return llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "Hello."}}}
}

func price() *eval.Price {
	return &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, Output: 5_000_000}}
}
func busy() error { return &llm.Error{Kind: llm.Overloaded, Status: 529} }
func gone() error { return &llm.Error{Kind: llm.Network, Sent: true} }
func dead() error { return &llm.Error{Kind: llm.Network} }
func after(d time.Duration) error {
	return &llm.Error{Kind: llm.RateLimit, Status: 429, Wait: d, WaitFrom: "retry-after"}
}

func times(n int, r reply) []reply {
	out := make([]reply, n)
	for i := range out {
		out[i] = r
	}
	return out
}

// A gate that holds everybody back while it is paused, and grants what is asked
// otherwise, unless try says something else.
type gate struct {
	try  func() (limit.Answer, error)
	seen func(what string) // nil is nothing

	mu      sync.Mutex
	paused  time.Time
	asks    []limit.Ask
	held    map[string]bool
	reports []limit.Report // of permits that were held
}

func (g *gate) Try(_ context.Context, _ limit.Key, ask limit.Ask) (limit.Answer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asks = append(g.asks, ask)
	if g.seen != nil {
		g.seen("limit")
	}
	if g.try != nil {
		if a, err := g.try(); err != nil || !a.Granted {
			return a, err
		}
	}
	if wait := time.Until(g.paused); wait > 0 {
		return limit.Answer{Wait: wait, Why: limit.WhyPause}, nil
	}
	if g.held == nil {
		g.held = map[string]bool{}
	}
	g.held[ask.Permit] = true
	return limit.Answer{Granted: true}, nil
}

func (g *gate) Release(_ context.Context, _ limit.Key, permit string, r limit.Report) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.held[permit] { // of somebody who gave up
		return nil
	}
	delete(g.held, permit)
	g.reports = append(g.reports, r)
	if g.seen != nil {
		g.seen("settle")
	}
	if until := time.Now().Add(r.Pause); r.Pause > 0 && until.After(g.paused) {
		g.paused = until
	}
	return nil
}

func (g *gate) Renew(context.Context, limit.Key, []string) error      { return nil }
func (g *gate) Waiting(context.Context, limit.Key, string, int) error { return nil }
func (g *gate) States(context.Context) ([]eval.LimitState, error)     { return nil, nil }
func (g *gate) Lease() time.Duration                                  { return 30 * time.Second }

// pause holds everybody back from now on.
func (g *gate) pause(d time.Duration) { g.paused = time.Now().Add(d) }

// A rig is a meter with all that is around it. What is not set is made up.
type rig struct {
	moody
	gate    *gate // nil: no limiter
	purse   *meter.Purse
	o       meter.Options
	doing   []eval.Activity
	waits   []bool // that OnWait was told
	metered llm.Model
}

// limited is a rig with a limiter.
func limited(replies ...reply) *rig { return &rig{moody: moody{replies: replies}, gate: &gate{}} }

// alone is a rig without one.
func alone(replies ...reply) *rig { return &rig{moody: moody{replies: replies}} }

// ask makes a request.
func (r *rig) ask(ctx context.Context, req llm.Request) (llm.Response, error) {
	if r.metered == nil {
		if r.purse == nil {
			r.purse = meter.NewPurse(eval.Amount{})
		}
		r.o.Purse, r.o.Key = r.purse, key
		if r.gate != nil {
			r.o.Limiter = limit.New(r.gate, limit.Options{})
		}
		r.o.Doing = func(a eval.Activity) { r.doing = append(r.doing, a) }
		r.metered = meter.New(&r.moody, r.o)
	}
	req.OnWait = func(waiting bool) { r.waits = append(r.waits, waiting) }
	return r.metered.Generate(ctx, req)
}

// waiting says whether OnWait was told that the request waits, and complains of what
// does not come in pairs.
func (r *rig) waiting(tb testing.TB) bool {
	tb.Helper()
	for i, w := range r.waits {
		if w != (i%2 == 0) {
			tb.Errorf("OnWait was told %v, which are no pairs", r.waits)
		}
	}
	return len(r.waits)%2 == 1
}

// settled complains when something is held that nobody uses.
func (r *rig) settled(tb testing.TB) {
	tb.Helper()
	if r.waiting(tb) {
		tb.Error("OnWait was not told that the wait is over")
	}
	if r.gate != nil && len(r.gate.held) > 0 {
		tb.Errorf("%d permits were not given back", len(r.gate.held))
	}
}

// bubble runs a test with a clock of its own, on which nobody really waits.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// within complains of a time that is not from least to most.
func within(tb testing.TB, what string, got, least, most time.Duration) {
	tb.Helper()
	if got < least || got > most {
		tb.Errorf("%s: %v, want from %v to %v", what, got, least, most)
	}
}

func ms(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }

func activities(as []eval.Activity) []string {
	var out []string
	for _, a := range as {
		line := string(a.Doing)
		if a.Why != "" {
			line = fmt.Sprintf("%s (%s)", line, a.Why)
		}
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
	}
	return out
}
