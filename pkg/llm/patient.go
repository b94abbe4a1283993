package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// backoffBase and backoffCap bound the random part of a wait: between 0 and
// 1 s after the first failure, 2 s after the second, up to 60 s.
const (
	backoffBase = time.Second
	backoffCap  = time.Minute
)

// PatientOptions bound the patience of a model.
type PatientOptions struct {
	// MaxWait is how long a request may wait in sum. Zero means 15 min.
	MaxWait time.Duration
	// MaxTries is how many calls of a request may end without a sound answer
	// ([Network]), each of which may cost money. Zero means 4.
	MaxTries int
	// Sleep waits, or returns the error of ctx if that ends before. Nil means by
	// the clock.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the time. Nil means the clock.
	Now func() time.Time
	// Rand returns a random number from 0 to below 1. Nil means math/rand.
	Rand func() float64
}

// Patient makes m wait out temporary errors: at least as long as the provider
// asks, plus a random part that grows with every failure and keeps clients that
// failed together from coming back together. It gives up, with the error of the
// last call, when the waits would exceed MaxWait or the deadline of ctx, or when
// MaxTries calls were lost. It is the only retry there is: adapters make one call.
func Patient(m Model, o PatientOptions) Model {
	if o.MaxWait <= 0 {
		o.MaxWait = 15 * time.Minute
	}
	if o.MaxTries <= 0 {
		o.MaxTries = 4
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Float64
	}
	return patient{m, o}
}

type patient struct {
	model Model
	o     PatientOptions
}

// Generate implements [Model].
func (p patient) Generate(ctx context.Context, req Request) (Response, error) {
	start := p.o.Now()
	var waited time.Duration
	var lost int
	for tries := 1; ; tries++ {
		began := p.o.Now()
		res, err := p.model.Generate(ctx, req)
		if err == nil {
			res.Tries = tries
			res.WaitedMS += float64(began.Sub(start)) / float64(time.Millisecond)
			return res, nil
		}
		e, ok := errors.AsType[*Error](err)
		if !ok || !e.Temporary() {
			return Response{}, err
		}
		if e.Kind == Network {
			if lost++; lost >= p.o.MaxTries {
				return Response{}, err
			}
		}
		wait := e.Wait + time.Duration(p.o.Rand()*float64(backoff(tries)))
		if waited += wait; waited > p.o.MaxWait || p.late(ctx, wait) {
			return Response{}, err
		}
		if err := p.o.Sleep(ctx, wait); err != nil {
			return Response{}, err
		}
	}
}

// late says whether ctx ends before a wait does.
func (p patient) late(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return ok && p.o.Now().Add(wait).After(deadline)
}

// backoff is the bound of the random part after some failures.
func backoff(failures int) time.Duration {
	return min(backoffCap, backoffBase<<min(failures-1, 10))
}

// sleep waits by the clock.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
