// Package meter makes models spend: whoever asks one, an agent, a judge or a model
// that plays the user, asks it through a meter. It sets aside what the call may
// cost within what the trial may spend, waits for a place at the farm's limiter,
// makes the call, and settles both with what came back. It is the only one that
// tries again: adapters make one call.
package meter

import (
	"context"
	"errors"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Options of a metered model. Only Purse is required.
type Options struct {
	// Purse of the attempt that asks.
	Purse *Purse
	// Price of the model; nil when nobody knows it. Nothing is let go then that has to
	// stay within a bound of money.
	Price *eval.Price
	// Limiter and the Key and Rate to ask it with. Nil lets every call through.
	Limiter *limit.Limiter
	Key     limit.Key
	Rate    eval.Rate
	// Once makes one call and no other, whatever it comes to: of a model that has
	// no bad moments.
	Once bool
	// Model as traces show it.
	Model telemetry.Model
	// Metrics measure calls and waits. Nil measures nothing.
	Metrics *telemetry.Metrics
	// Doing is told what the attempt does or waits for; nil is silent.
	Doing func(eval.Activity)

	// FirstWait is the longest wait that an attempt sits out which has made no call
	// yet; it is given back for a longer one. Zero means 30 s.
	FirstWait time.Duration
	// MaxWait bounds what a request waits in all because the provider wants it or is
	// away. How long failed calls took is no part of it, nor is waiting for a place
	// among our own calls. Zero means 15 min.
	MaxWait time.Duration
	// MaxTries is how many calls of a request may end without a sound answer
	// ([llm.Network]), each of which may cost money. Zero means 4.
	MaxTries int
}

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
	model   llm.Model
	o       Options
	measure measure
}

// Generate implements [llm.Model]. Beside an error the response tells what the
// request has waited.
func (m *metered) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	r := request{metered: m, req: req}
	r.most, r.about = m.measure.most(req)
	for {
		bound, permit, err := r.enter(ctx)
		if err != nil {
			return r.told(llm.Response{}), err
		}
		res, err := r.call(ctx, bound, permit)
		if err == nil {
			m.measure.counted(req, res.Usage.Input)
			return r.told(res), nil
		}
		if err := r.again(ctx, err); err != nil {
			return r.told(llm.Response{}), err
		}
	}
}

// A request is on its way to an answer.
type request struct {
	*metered
	req         llm.Request
	most, about int // tokens that go in
	tries, lost int
	// waited because the provider wants it or is away, limited by our own count,
	// failed in calls that were made again.
	waited, limited, failed time.Duration
	last                    time.Duration  // that the last call took
	span                    telemetry.Span // of the last call
}

// told is a response with how long it took to come to its call.
func (r *request) told(res llm.Response) llm.Response {
	res.Tries, res.WaitedMS, res.LimiterMS = r.tries, milliseconds(r.waited+r.failed), milliseconds(r.limited)
	return res
}

// enter sets aside what a call may cost and waits for a place at the limiter. Both
// or none are to be given back.
func (r *request) enter(ctx context.Context) (bound eval.Amount, place permit, err error) {
	if ctx.Err() != nil {
		return bound, nil, ctx.Err()
	}
	bound.Tokens = int64(r.most) + int64(llm.Tokens(int64(r.req.MaxOutput())))
	if r.o.Price != nil {
		bound.MicroUSD = r.o.Price.Bound(r.most, r.req.MaxOutput())
	}
	if err := r.o.Purse.reserve(bound, r.o.Price != nil); err != nil {
		return bound, nil, err
	}
	defer func() {
		if place == nil {
			r.o.Purse.free(bound)
		}
	}()
	place, err = r.place(ctx)
	return bound, place, err
}

// call makes one call and settles what it took. A model that panics has taken what
// it can.
func (r *request) call(ctx context.Context, bound eval.Amount, place permit) (llm.Response, error) {
	took, answered, report := bound, false, limit.Report{Failed: true, Input: -1, Output: -1, Rate: r.o.Rate, Standing: unknown()}
	asking, outcome, usage, began := ctx, other, eval.Usage{}, time.Now()
	defer func() {
		ended := time.Now()
		r.last = ended.Sub(began)
		r.o.Purse.settle(bound, took, answered)
		r.o.Metrics.Call(asking, telemetry.ModelCall{
			Key: string(r.o.Key), Provider: r.o.Model.Provider, Model: r.o.Model.Name,
			Error: outcome, Throttled: outcome == string(llm.RateLimit), Took: r.last, Usage: usage, MicroUSD: took.MicroUSD,
		})
		r.req.Waits(true)
		defer r.req.Waits(false)
		place.Release(ctx, report)
		r.limited += time.Since(ended)
	}()
	r.o.Doing(eval.Activity{Doing: eval.DoingModel, On: string(r.o.Key)})
	r.o.Purse.begin(r.o.Price != nil)
	r.tries++
	var span telemetry.Span
	asking, span = r.chat(ctx)
	r.span = span
	told := false
	defer func() { // before the place is given back, which takes a while
		if !told {
			span.Fail(other, "the model panicked")
		}
		span.End()
	}()
	res, err := r.model.Generate(asking, r.req)
	took, answered, report = r.took(res, err, bound), err == nil, r.report(res, err)
	outcome, usage = kind(ctx, err), res.Usage
	r.tell(ctx, res, err, took)
	told = true
	return res, err
}

// other is the kind of an error that is none of ours.
const other = "_OTHER"

// kind is the kind of error that a call came to, one word of few; empty for none.
func kind(ctx context.Context, err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil:
		return ""
	case ok:
		return string(e.Kind)
	case ctx.Err() != nil: // the asker's doing
		return "cancelled"
	default:
		return other
	}
}

// took is what a call cost. What nobody knows is as much as it can be: a request
// that may have reached the model, an answer that does not say its tokens.
func (r *request) took(res llm.Response, err error, bound eval.Amount) eval.Amount {
	if err != nil {
		if e, ok := errors.AsType[*llm.Error](err); ok && !e.Sent {
			return eval.Amount{}
		}
		return bound
	}
	in, out := llm.Tokens(int64(res.Usage.Input)), llm.Tokens(int64(res.Usage.Output))
	took := eval.Amount{Tokens: int64(in) + int64(out)}
	if r.o.Price != nil {
		took.MicroUSD = r.o.Price.Cost(res.Usage)
	}
	if m := res.Message; in == 0 || out == 0 && m.Text+m.Reasoning != "" || out == 0 && len(m.Calls) > 0 {
		took.Tokens, took.MicroUSD = max(took.Tokens, bound.Tokens), max(took.MicroUSD, bound.MicroUSD)
	}
	return took
}

// report is what the limiter is told of a call. More tokens than a call can have
// would hold up everybody for ever.
func (r *request) report(res llm.Response, err error) limit.Report {
	report := limit.Report{Input: -1, Output: -1, Rate: r.o.Rate, Standing: standing(res.Header)}
	if err == nil {
		if u := res.Usage; u.Input > 0 { // what was read from a cache is not counted
			report.Input = min(max(0, u.Input-u.CacheRead), r.most)
		}
		if u := res.Usage; u.Output > 0 {
			report.Output = min(u.Output, r.req.MaxOutput())
		}
		return report
	}
	e, ok := errors.AsType[*llm.Error](err)
	if ok && !e.Sent {
		report.Input, report.Output = 0, 0
	}
	// Who wants to be left alone for hours is not waited for by anybody.
	if ok && e.Kind == llm.RateLimit && e.Wait <= longestWait {
		report.Throttled, report.Pause = true, e.Wait
		if e.WaitFrom == "" {
			report.Pause = backoffBase
		}
	} else {
		report.Failed = true
	}
	return report
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
