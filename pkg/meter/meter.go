// Package meter makes models spend: whoever asks one, an agent, a judge or a model
// that plays the user, asks it through a meter. It sets aside what the call may
// cost within what the trial may spend, waits for a place at the farm's limiter,
// makes the call, and settles both with what came back. It is the only one that
// tries again: adapters make one call.
package meter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Options of a metered model. Only Purse is required.
type Options struct {
	// Purse of the attempt that asks.
	Purse *Purse
	// Price of the model; nil when nobody knows it.
	Price *eval.Price
	// Limiter and the Key and Rate to ask it with. Nil lets every call through.
	Limiter *limit.Limiter
	Key     limit.Key
	Rate    eval.Rate
	// Once makes one call and no other, whatever it comes to: of a model that has
	// no bad moments.
	Once bool
	// Doing is told what the attempt does or waits for; nil is silent.
	Doing func(eval.Activity)

	// FirstWait is the longest wait that an attempt sits out which has not spent
	// anything; it is given back for a longer one. Zero means 30 s.
	FirstWait time.Duration
	// MaxWait bounds what a request waits in all because the provider wants it or is
	// away. Zero means 15 min.
	MaxWait time.Duration
	// MaxTries is how many calls of a request may end without a sound answer
	// ([llm.Network]), each of which may cost money. Zero means 4.
	MaxTries int
}

const (
	// backoffBase and backoffCap bound the random part of a wait that our own count
	// does not end: 1 s after the first failure, 2 s after the second, up to 60 s.
	backoffBase = time.Second
	backoffCap  = time.Minute
	// longestWait that a provider can ask for and be waited for.
	longestWait = time.Hour
)

// New meters a model for one attempt.
func New(m llm.Model, o Options) llm.Model {
	if o.FirstWait <= 0 {
		o.FirstWait = 30 * time.Second
	}
	if o.MaxWait <= 0 {
		o.MaxWait = 15 * time.Minute
	}
	if o.MaxTries <= 0 {
		o.MaxTries = 4
	}
	if o.Doing == nil {
		o.Doing = func(eval.Activity) {}
	}
	return &metered{model: m, o: o}
}

type metered struct {
	model llm.Model
	o     Options
	// measure of the conversation. An attempt asks one thing at a time.
	measure measure
}

// Generate implements [llm.Model]. Beside an error the response tells what the
// request has waited.
func (m *metered) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	r := request{metered: m, req: req, bytes: size(req)}
	r.most, r.about = m.measure.most(r.bytes)
	for {
		res, err := r.try(ctx)
		if err == nil {
			res.Tries, res.WaitedMS, res.LimiterMS = r.tries, milliseconds(r.paused), milliseconds(r.limited)
			return res, nil
		}
		if err = r.again(ctx, err); err != nil {
			return llm.Response{Tries: r.tries, WaitedMS: milliseconds(r.paused), LimiterMS: milliseconds(r.limited)}, err
		}
	}
}

// A request is on its way to an answer.
type request struct {
	*metered
	req         llm.Request
	bytes       int
	most, about int // tokens that go in
	tries, lost int
	// paused because the provider wants it or is away, limited by our own count.
	paused, limited time.Duration
}

// try makes one call.
func (r *request) try(ctx context.Context) (llm.Response, error) {
	bound := eval.Amount{Tokens: int64(r.most) + int64(r.req.MaxOutput())}
	if r.o.Price != nil {
		bound.MicroUSD = r.o.Price.Bound(r.most, r.req.MaxOutput())
	}
	if !r.o.Purse.reserve(bound) {
		return llm.Response{}, &llm.Error{Kind: llm.CostLimit, Message: fmt.Sprintf(
			"the call may take %d tokens and $%.6f, which is more than the trial may still spend", bound.Tokens, float64(bound.MicroUSD)/1e6)}
	}
	permit, err := r.enter(ctx)
	if err != nil {
		r.o.Purse.settle(bound, eval.Amount{})
		return llm.Response{}, err
	}
	r.o.Doing(eval.Activity{Doing: eval.DoingModel, On: string(r.o.Key)})
	r.o.Purse.begin(r.o.Price != nil)
	r.tries++
	began := time.Now()
	res, err := r.model.Generate(ctx, r.req)
	r.o.Purse.settle(bound, r.took(res, err, bound))
	permit.Release(ctx, r.report(res, err))
	if err != nil {
		r.paused += time.Since(began)
		return llm.Response{}, err
	}
	if res.Usage.Input > 0 {
		r.measure = measure{bytes: r.bytes, tokens: res.Usage.Input}
	}
	return res, nil
}

// enter waits for a place at the limiter.
func (r *request) enter(ctx context.Context) (permit, error) {
	if r.o.Limiter == nil {
		return free{}, nil
	}
	patience := limit.Patience{Once: r.o.MaxWait - r.paused}
	if !r.o.Purse.Begun() {
		patience.Once = min(patience.Once, r.o.FirstWait)
	}
	ask := limit.Ask{Permit: ulid.Make().String(), Input: r.about, Output: r.req.MaxOutput(), Rate: r.o.Rate}
	waiting := false
	p, waited, err := r.o.Limiter.Acquire(ctx, r.o.Key, ask, patience, func(w limit.Wait) {
		if !waiting {
			waiting = true
			r.req.Waits(true)
		}
		r.o.Doing(eval.Activity{Doing: eval.DoingLimiter, On: string(r.o.Key), Why: string(w.Why), Until: w.Until, Before: w.Before})
	})
	if waiting {
		r.req.Waits(false)
	}
	r.paused += waited.Paused
	r.limited += waited.Limited
	if err == nil {
		return p, nil
	}
	if long, ok := errors.AsType[*limit.LongError](err); ok {
		if !r.o.Purse.Begun() {
			return nil, &llm.Error{Kind: llm.Later, Wait: long.Wait, Err: err}
		}
		return nil, &llm.Error{Kind: llm.RateLimit, Message: "the provider asks to wait for longer than a trial does", Err: err, Wait: longestWait + 1}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, &llm.Error{Kind: llm.Farm, Message: "no place at the farm's limiter", Err: err}
}

// A permit is given back with what its call came to.
type permit interface {
	Release(ctx context.Context, r limit.Report)
}

// free is the permit of those whom nobody limits.
type free struct{}

func (free) Release(context.Context, limit.Report) {}

// took is what a call cost. What nobody knows is as much as it can be: a request
// that may have reached the model, an answer that does not say its tokens.
func (r *request) took(res llm.Response, err error, bound eval.Amount) eval.Amount {
	switch {
	case err == nil && res.Usage.Total() > 0:
		took := eval.Amount{Tokens: int64(res.Usage.Total())}
		if r.o.Price != nil {
			took.MicroUSD = r.o.Price.Cost(res.Usage)
		}
		return took
	case err == nil:
		return bound
	}
	if e, ok := errors.AsType[*llm.Error](err); ok && !e.Sent {
		return eval.Amount{}
	}
	return bound
}

// report is what the limiter is told of a call.
func (r *request) report(res llm.Response, err error) limit.Report {
	report := limit.Report{Input: -1, Output: -1, Rate: r.o.Rate, Standing: unknown()}
	if err == nil {
		if res.Usage.Total() > 0 {
			// What was read from a cache is not counted.
			report.Input, report.Output = max(0, res.Usage.Input-res.Usage.CacheRead), res.Usage.Output
		}
		report.Standing = standing(res.Header)
		return report
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return report
	}
	if !e.Sent {
		report.Input, report.Output = 0, 0
	}
	if e.Kind == llm.RateLimit {
		report.Throttled, report.Pause = true, min(e.Wait, longestWait)
		if e.WaitFrom == "" {
			report.Pause = backoff(r.tries)
		}
	}
	return report
}

// again waits until a failed call can be tried again, or returns why it cannot.
func (r *request) again(ctx context.Context, err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !e.Temporary() || r.o.Once || e.Wait > longestWait {
		return err
	}
	if e.Kind == llm.Network {
		if r.lost++; r.lost >= r.o.MaxTries {
			return err
		}
	}
	if r.paused > r.o.MaxWait {
		return err
	}
	if e.Kind == llm.RateLimit && r.o.Limiter != nil {
		return nil // the limiter holds everybody back, for as long as was asked
	}
	wait := e.Wait + time.Duration(rand.Float64()*float64(backoff(r.tries))) //nolint:gosec // G404: a jitter
	if deadline, ok := ctx.Deadline(); r.paused+wait > r.o.MaxWait || ok && time.Now().Add(wait).After(deadline) {
		return err
	}
	r.o.Doing(eval.Activity{Doing: eval.DoingBackoff, On: string(r.o.Key), Why: string(e.Kind), Until: time.Now().Add(wait)})
	r.req.Waits(true)
	defer r.req.Waits(false)
	began := time.Now()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	r.paused += time.Since(began)
	return nil
}

// backoff is the bound of the random part after some failures.
func backoff(failures int) time.Duration {
	return min(backoffCap, backoffBase<<min(max(failures-1, 0), 10))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
