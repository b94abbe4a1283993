package stub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// maxBody bounds a request.
const maxBody = 32 << 20

// An exchange is one call and its answer.
type exchange struct {
	*Server
	wire  wire
	w     http.ResponseWriter
	r     *http.Request
	key   string // fingerprint
	start time.Time
	// What was drawn for the call.
	fault   FaultKind
	latency time.Duration
	used    eval.Usage
}

// serve answers a call of a model.
func (s *Server) serve(format wire, w http.ResponseWriter, r *http.Request) {
	x := &exchange{Server: s, wire: format, w: w, r: r, key: fingerprint(keyOf(r)), start: time.Now()}
	s.ledger.call(x.key, x.start)
	if !s.lets(x.key) {
		x.fail(failureOf(llm.Auth))
		return
	}
	c, err := x.read()
	if err != nil {
		x.fail(refusal(err))
		return
	}
	if p, refused := s.gate.pass(); refused {
		x.pause(p)
		return
	}
	account := x.key + " " + cut(c.model, 200)
	t, denied := s.limiter.admit(x.start, account, inputTokens(c.Request), c.Sampling.MaxOutputTokens)
	if denied != nil {
		x.deny(*denied)
		return
	}
	defer func() { t.close(time.Now(), x.used) }() // also when a cut answer panics
	defer s.ledger.open(x.key)()                   // closed before its place is given away
	if !s.options.NoLimitHeaders {
		x.wire.limits(w.Header(), t.standings, true)
	}
	x.draw(&c)
	x.answer(r.Context(), c)
}

// read decodes the request and checks what all providers check.
func (x *exchange) read() (call, error) {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if err != nil {
		return call{}, fmt.Errorf("read the request: %w", err)
	}
	c, err := x.wire.decode(x.r, body)
	if err != nil {
		return call{}, err
	}
	conv := conversation{c.Messages}
	if err := conv.pair(); err != nil {
		return call{}, err
	}
	c.Trial = trialOf(x.r.Header, c.Messages)
	c.at = x.start
	return c, nil
}

// draw gives the call its number, and with it what chance has for it.
func (x *exchange) draw(c *call) {
	c.number = x.admitted.Add(1)
	r := rand.New(rand.NewPCG(x.options.Seed, c.number))
	x.fault = draw(x.options.Faults, r)
	x.latency = x.options.Latency.sample(r)
	if x.fault != "" {
		x.ledger.fault(x.fault)
	}
	id := c.id("req_")
	x.w.Header().Set("X-Request-Id", id) // OpenAI's
	x.w.Header().Set("Request-Id", id)   // Anthropic's
}

// answer asks the model and sends what it says, or what goes wrong instead.
func (x *exchange) answer(ctx context.Context, c call) {
	if x.fault == FaultHang {
		<-ctx.Done()
		return
	}
	if f, ok := x.fault.failure(c.stream); ok {
		x.fail(f)
		return
	}
	// A provider goes on when its client has gone away.
	gone := sleep(ctx, x.latency)
	if gone != nil {
		ctx = context.WithoutCancel(ctx)
	}
	res, err := x.options.Model.Generate(ctx, c.Request)
	if err != nil {
		x.failed(ctx, err)
		return
	}
	x.used = res.Usage
	heard := false
	defer func() { // also when a cut answer panics
		if !heard {
			x.ledger.unheard(x.key, res.Usage)
		}
	}()
	if gone != nil {
		return
	}
	for i := range res.Message.Calls {
		if call := &res.Message.Calls[i]; call.ID == "" {
			call.ID = c.id(fmt.Sprintf("call_%d_", i))
		}
	}
	var generation time.Duration
	if tps := x.options.TokensPerSecond; tps > 0 {
		generation = time.Duration(min(longestLatency.Seconds(), float64(res.Usage.Output)/tps) * float64(time.Second))
	}
	out := output{w: x.w, ctx: ctx, fault: x.fault}
	if c.stream {
		err = out.stream(x.wire.events(c, res), generation, x.wire.broken(failureOf(llm.Overloaded)))
	} else {
		err = out.document(x.wire.answer(c, res), generation)
	}
	if err == nil {
		heard = true
		x.ledger.answered(x.key, res.Usage, time.Since(x.start))
	}
}

// failed tells of a model that failed.
func (x *exchange) failed(ctx context.Context, err error) {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case ctx.Err() != nil: // nobody is there to tell
	case !ok:
		x.fail(failureOf(llm.Network))
	case e.Kind == llm.RateLimit:
		x.deny(denial{wait: e.Wait, scarce: "requests"})
	default:
		x.fail(failureOf(e.Kind))
	}
}

// deny refuses a call that is over a limit.
func (x *exchange) deny(d denial) {
	x.refuse(d, x.options.RetryAfter.pick(x.refused.Add(1)-1))
}

// pause refuses a call because it is its turn.
func (x *exchange) pause(p Pause) {
	way := p.Form
	if way == "" || way == RetryMixed {
		way = cmp.Or(way, x.options.RetryAfter).pick(x.refused.Add(1) - 1)
	}
	now := time.Now()
	x.ledger.pause(PauseStats{Call: p.Call, Form: way, At: now, Until: way.until(p.Wait, now)})
	x.refuse(denial{wait: p.Wait, scarce: "requests", standings: []standing{{what: "requests", limit: x.options.Limits.Requests, full: p.Wait}}}, way)
}

// refuse answers that the client is to come again, and when.
func (x *exchange) refuse(d denial, way RetryAfter) {
	x.ledger.rateLimited(x.key)
	f := failureOf(llm.RateLimit)
	f.scarce = d.scarce
	if way == RetryInfo {
		f.delay = d.wait
	}
	if d.wait > 0 {
		way.header(x.w.Header(), d.wait, time.Now())
	}
	if way == RetryResets || !x.options.NoLimitHeaders {
		x.wire.limits(x.w.Header(), d.standings, way == RetryResets)
	}
	x.fail(f)
}

// fail answers with an error.
func (x *exchange) fail(f failure) {
	reply(x.w, f.status, x.wire.failure(f))
}
