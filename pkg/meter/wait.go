package meter

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

const (
	// backoffBase and backoffCap bound the random part of a wait: between 0 and 1 s
	// after the first failure, 2 s after the second, up to 60 s. It keeps clients that
	// failed together from coming back together.
	backoffBase = time.Second
	backoffCap  = time.Minute
	// longestWait that a provider can ask for and be waited for.
	longestWait = time.Hour
)

// A permit is given back with what its call came to.
type permit interface {
	Release(ctx context.Context, r limit.Report)
}

// free is the permit of those whom nobody limits.
type free struct{}

func (free) Release(context.Context, limit.Report) {}

// place waits for one at the limiter.
func (r *request) place(ctx context.Context) (permit, error) {
	if r.o.Limiter == nil {
		return free{}, nil
	}
	first := !r.o.Purse.Begun()
	patience, left := limit.Patience{Once: r.o.MaxWait}, r.o.MaxWait-r.waited
	if first {
		patience.Once, left = min(patience.Once, r.o.FirstWait), min(left, r.o.FirstWait)
	}
	ask := limit.Ask{Permit: ulid.Make().String(), Input: r.about, Output: r.req.MaxOutput(), Rate: r.o.Rate}
	var held pauses
	shown := limiterWait{metrics: r.o.Metrics, key: r.o.Key}
	waiting, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	r.req.Waits(true)
	defer r.req.Waits(false)
	began := time.Now()
	got, waited, err := r.o.Limiter.Acquire(waiting, r.o.Key, ask, patience, func(w limit.Wait) {
		shown.told(ctx, w)
		r.o.Doing(eval.Activity{Doing: eval.DoingLimiter, On: string(r.o.Key), Why: string(w.Why), Until: w.Until, Before: w.Before})
		if held.until(w) > left {
			giveUp(&limit.LongError{Key: r.o.Key, Why: w.Why, Wait: time.Until(w.Until)})
		}
	})
	r.waited += waited.Paused
	r.limited += max(0, time.Since(began)-waited.Paused)
	long, tooLong := errors.AsType[*limit.LongError](err)
	switch {
	case err == nil, ctx.Err() != nil:
	case tooLong:
		shown.tooLong(ctx, long, first)
	default:
		shown.span.Fail(string(llm.Farm), "no place at the farm's limiter")
	}
	shown.end(ctx)
	switch {
	case err == nil:
		return got, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case tooLong && first:
		return nil, &llm.Error{Kind: llm.Later, Wait: long.Wait, Err: err}
	case tooLong:
		return nil, &llm.Error{Kind: llm.RateLimit, Wait: long.Wait, Message: "a call has waited for as long as it may", Err: err}
	default:
		return nil, &llm.Error{Kind: llm.Farm, Message: "no place at the farm's limiter", Err: err}
	}
}

// A limiterWait is measured and shown in a trace: each thing in turn that keeps the
// caller waiting, and nothing for a place at once.
type limiterWait struct {
	metrics *telemetry.Metrics
	key     limit.Key
	span    telemetry.Span
	why     limit.Why // empty before it waits
	since   time.Time
}

func (l *limiterWait) told(ctx context.Context, w limit.Wait) {
	if w.Why == l.why {
		return
	}
	l.end(ctx)
	l.span, l.why, l.since = telemetry.Wait(ctx, string(w.Why), string(l.key)), w.Why, time.Now()
}

func (l *limiterWait) end(ctx context.Context) {
	l.span.End()
	if l.why != "" {
		l.metrics.LimiterWait(ctx, string(l.key), string(l.why), time.Since(l.since))
	}
}

// tooLong shows a wait that is not sat out: the trial is given back until it is over,
// or fails.
func (l *limiterWait) tooLong(ctx context.Context, e *limit.LongError, givenBack bool) {
	l.told(ctx, limit.Wait{Why: e.Why})
	l.span.Asked(e.Wait, "limiter")
	if givenBack {
		l.span.GivenBack()
	} else {
		l.span.Fail(string(llm.RateLimit), e.Error())
	}
}

// Pauses adds up how long a caller is held back because the provider wants it. One
// pause may be made longer again and again.
type pauses struct {
	since time.Time // of the one that lasts; zero for none
	sum   time.Duration
}

// until is how long it has been in all when what the caller waits for now is over.
func (p *pauses) until(w limit.Wait) time.Duration {
	now := time.Now()
	if w.Why != limit.WhyPause {
		if !p.since.IsZero() {
			p.sum += now.Sub(p.since)
			p.since = time.Time{}
		}
		return 0
	}
	if p.since.IsZero() {
		p.since = now
	}
	return p.sum + w.Until.Sub(p.since)
}

// again waits until a failed call can be made again, or returns why it cannot: the
// error of the call, unless ctx has ended. It waits for as long as the provider
// asks, and a random time that grows with every failure. What the provider asks for
// because of its limits holds for everybody, so the limiter waits for that; the
// random part is over by then.
func (r *request) again(ctx context.Context, err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || !e.Temporary() || r.o.Once {
		return err
	}
	if e.Wait > longestWait { // nor will another attempt come through
		spent := *e
		spent.Kind = llm.Quota
		return &spent
	}
	if e.Wait > r.o.FirstWait && !r.o.Purse.Begun() {
		span := telemetry.Wait(ctx, string(e.Kind), string(r.o.Key))
		span.Asked(e.Wait, e.WaitFrom)
		span.GivenBack()
		span.End()
		return &llm.Error{Kind: llm.Later, Wait: e.Wait, Err: err}
	}
	if e.Kind == llm.Network {
		if r.lost++; r.lost >= r.o.MaxTries {
			return err
		}
	}
	random := time.Duration(rand.Float64() * float64(backoff(r.tries)))
	wait := e.Wait + random
	if deadline, ok := ctx.Deadline(); r.waited+wait > r.o.MaxWait || ok && time.Now().Add(wait).After(deadline) {
		return err
	}
	if e.Kind == llm.RateLimit && r.o.Limiter != nil {
		wait = random
	}
	r.failed += r.last
	r.req.Repeats(r.last)
	r.o.Doing(eval.Activity{Doing: eval.DoingBackoff, On: string(r.o.Key), Why: string(e.Kind), Until: time.Now().Add(wait)})
	span := telemetry.Wait(ctx, string(e.Kind), string(r.o.Key))
	began := time.Now()
	defer func() {
		span.End()
		r.o.Metrics.LimiterWait(ctx, string(r.o.Key), string(e.Kind), time.Since(began))
	}()
	if e.WaitFrom != "" {
		span.Asked(e.Wait, e.WaitFrom)
	}
	return r.sleep(ctx, wait)
}

// sleep waits, or returns the error of ctx if that ends before.
func (r *request) sleep(ctx context.Context, d time.Duration) error {
	r.req.Waits(true)
	defer r.req.Waits(false)
	began := time.Now()
	defer func() { r.waited += time.Since(began) }()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// backoff bounds the random part after some failures.
func backoff(failures int) time.Duration {
	return min(backoffCap, backoffBase<<min(max(failures-1, 0), 10))
}
