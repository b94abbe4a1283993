package limit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const (
	// releaseTries and releaseTimeout bound how long a release is tried. A gate that
	// stays away takes the permit back when its lease ends.
	releaseTries   = 3
	releaseTimeout = 2 * time.Second
)

// A Permit lets one call be made.
type Permit struct {
	line     *line
	name     string
	rate     eval.Rate
	released atomic.Bool
}

// Release gives the permit back and tells what the call came to; the rate of the
// report is that of the ask. Only the first time counts. It does not end with ctx, and it does not take longer than a few
// seconds.
func (p *Permit) Release(ctx context.Context, r Report) {
	if p.released.Swap(true) {
		return
	}
	n := p.line
	r.Rate = p.rate
	// First, so that nobody renews it.
	n.l.mu.Lock()
	n.free(p.name)
	n.l.mu.Unlock()
	n.l.release(context.WithoutCancel(ctx), n.key, p.name, r)
	n.l.wake(n.key)
}

// release tries hard to give a permit back.
func (l *Limiter) release(ctx context.Context, key Key, permit string, r Report) {
	for try := range releaseTries {
		if try > 0 {
			time.Sleep(backoffLeast << (try - 1)) //nolint:forbidigo // half a second in all, and ctx does not end
		}
		once, cancel := context.WithTimeout(ctx, releaseTimeout)
		err := l.gate.Release(once, key, permit, r)
		cancel()
		if err == nil {
			return
		}
		l.o.Logger.WarnContext(ctx, "cannot release a permit", "key", string(key), "error", err)
	}
}

// forget gives back what the gate may remember of a caller that gave up. The caller
// does not wait for it.
func (l *Limiter) forget(ctx context.Context, n *line, ask Ask) {
	ctx = context.WithoutCancel(ctx)
	go func() {
		l.release(ctx, n.key, ask.Permit, Report{Failed: true, Rate: ask.Rate})
		l.wake(n.key)
	}()
}

// wake lets the first of a line ask at once, since a call has ended.
func (l *Limiter) wake(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := l.lines[key]; n != nil {
		select {
		case n.freed <- struct{}{}:
		default:
		}
	}
}
