package client

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// DefaultIdleTime is how long a pool keeps a session that no trial uses.
const DefaultIdleTime = time.Minute

// A Pool shares sessions between the trials of a worker. It is safe for
// concurrent use.
type Pool struct {
	opener   *Opener
	idleTime time.Duration

	work sync.WaitGroup // starts and closes under way

	mu     sync.Mutex // guards all below
	shared map[poolKey]*pooled
	closed bool
}

type poolKey struct{ run, key string }

// A pooled session is being opened until ready is closed.
type pooled struct {
	ready chan struct{}
	s     *Session
	err   error

	// Guarded by the pool's mutex.
	users     int
	idleSince time.Time
	retired   bool // to be closed when the last user leaves
}

// opened says whether nobody has to wait for the session any more.
func (e *pooled) opened() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// NewPool makes a pool. An idle time of zero means DefaultIdleTime.
func NewPool(o *Opener, idleTime time.Duration) *Pool {
	return &Pool{opener: o, idleTime: cmp.Or(idleTime, DefaultIdleTime), shared: map[poolKey]*pooled{}}
}

// Fresh opens a session for one trial alone; Detach closes it. The error is that
// of Opener.Open.
func (p *Pool) Fresh(ctx context.Context, spec Spec) (*Attachment, error) {
	telemetry.Comes(ctx, telemetry.Own)
	s, err := p.opener.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	a := s.attach(func() { _ = s.Close() })
	s.mu.Lock()
	a.frames = s.frames.clone() // the handshake is the trial's own, too
	s.mu.Unlock()
	return a, nil
}

// Shared attaches to the session that the run has under a key, which must be the
// same for the same spec. The first caller starts it and the others wait for it;
// one that has died is replaced. The error is that of Opener.Open: whoever waited
// for a start that failed gets its error, whoever comes later tries again.
func (p *Pool) Shared(ctx context.Context, run, key string, spec Spec) (*Attachment, error) {
	k := poolKey{run, key}
	for {
		e, err := p.enter(ctx, k, spec)
		if err != nil {
			return nil, err
		}
		select {
		case <-e.ready:
		case <-ctx.Done():
			p.leave(k, e)
			return nil, fmt.Errorf("open server %s: %w", spec.Name, context.Cause(ctx))
		}
		if e.err != nil {
			p.leave(k, e)
			return nil, e.err
		}
		if !e.s.Dead() {
			return e.s.attach(func() { p.leave(k, e) }), nil
		}
		p.retire(k, e)
		p.leave(k, e)
	}
}

// enter makes the caller a user of the entry, and starts a new one if there is
// none.
func (p *Pool) enter(ctx context.Context, k poolKey, spec Spec) (*pooled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("open server %s: the pool is closed", spec.Name)
	}
	e, how := p.shared[k], telemetry.Waited
	switch {
	case e == nil:
		how = telemetry.Began
		e = &pooled{ready: make(chan struct{})}
		p.shared[k] = e
		// The start is not the first caller's alone: it does not end with it.
		p.work.Go(func() { p.start(context.WithoutCancel(ctx), k, e, spec) })
	case e.opened():
		how = telemetry.Joined
	}
	telemetry.Comes(ctx, how)
	e.users++
	return e, nil
}

func (p *Pool) start(ctx context.Context, k poolKey, e *pooled, spec Spec) {
	e.s, e.err = p.opener.Open(ctx, spec)
	if e.err != nil {
		p.retire(k, e)
	}
	close(e.ready)
	p.mu.Lock()
	defer p.mu.Unlock()
	e.idleSince = time.Now()
	if e.retired && e.users == 0 {
		p.bury(e)
	}
}

// leave undoes enter.
func (p *Pool) leave(k poolKey, e *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.users--
	e.idleSince = time.Now()
	if e.users > 0 {
		return
	}
	if !e.opened() {
		return // start will see to it
	}
	if e.err == nil && e.s.Dead() {
		p.retireLocked(k, e)
	}
	if e.retired {
		p.bury(e)
	}
}

// retire takes an entry out of the pool, so that nobody new gets it.
func (p *Pool) retire(k poolKey, e *pooled) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retireLocked(k, e)
}

func (p *Pool) retireLocked(k poolKey, e *pooled) {
	e.retired = true
	if p.shared[k] == e {
		delete(p.shared, k)
	}
}

// bury closes the session of an entry without users, which is ready. The caller
// holds the mutex.
func (p *Pool) bury(e *pooled) {
	if e.s == nil {
		return
	}
	s := e.s
	p.work.Go(func() { _ = s.Close() })
}

// Forget closes the sessions of a run: at once, or when their last trial
// detaches.
func (p *Pool) Forget(run string) {
	p.each(func(k poolKey, e *pooled) bool { return k.run == run })
}

// each retires the entries that fit and buries those without users.
func (p *Pool) each(fits func(poolKey, *pooled) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for k, e := range p.shared {
		if !fits(k, e) {
			continue
		}
		p.retireLocked(k, e)
		if e.opened() && e.users == 0 { // else start will see to it, or who leaves last
			p.bury(e)
		}
	}
}

// Run removes the containers of dead workers, and then closes sessions that nobody
// has used for the idle time, until ctx ends. It always returns nil.
func (p *Pool) Run(ctx context.Context) error {
	p.opener.reap(ctx)
	tick := time.NewTicker(max(p.idleTime/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			p.each(func(_ poolKey, e *pooled) bool {
				return e.users == 0 && !e.idleSince.IsZero() && now.Sub(e.idleSince) >= p.idleTime
			})
		}
	}
}

// Close closes every shared session, those in use included, and returns when
// they are gone. Fresh sessions are their trials' own.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	var all []*pooled
	for _, e := range p.shared {
		all = append(all, e)
	}
	p.mu.Unlock()
	p.each(func(poolKey, *pooled) bool { return true })
	for _, e := range all {
		<-e.ready
		if e.s != nil {
			_ = e.s.Close()
		}
	}
	p.work.Wait()
	p.opener.engine.Close()
	p.opener.guard.Stop()
}
