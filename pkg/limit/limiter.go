package limit

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// tryTimeout bounds one question to the gate, and awayAfter how long all of them
	// may fail before callers are told.
	tryTimeout = 10 * time.Second
	awayAfter  = time.Minute
	// backoffLeast and backoffMost are between two questions that fail.
	backoffLeast = 200 * time.Millisecond
	backoffMost  = 2 * time.Second
	// jitter keeps processes apart that were told to wait for the same moment, and
	// pauseJitter those that were all held back.
	jitter      = 30 * time.Millisecond
	pauseJitter = time.Second
	// pollLeast and pollMost are between two looks at the calls in flight. A release
	// in this process is noticed at once.
	pollLeast = 200 * time.Millisecond
	pollMost  = 500 * time.Millisecond
	// tokensPoll is how soon to look again for tokens, which calls of other processes
	// may give back.
	tokensPoll = 5 * time.Second
	// renewMost bounds the permits of one renewal.
	renewMost = 1000
)

// Options tune a Limiter.
type Options struct {
	// Process names this process among those of the farm.
	Process string
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// A Limiter is one process's queue before a gate. It is safe for concurrent use.
type Limiter struct {
	gate Gate
	o    Options

	mu    sync.Mutex // guards what follows, and all lines and callers
	lines map[Key]*line
	// shown is how many waiting callers the gate was last told of.
	shown map[Key]int
}

// New makes a limiter. Somebody has to call [Limiter.Run] while it is used.
func New(g Gate, o Options) *Limiter {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Limiter{gate: g, o: o, lines: map[Key]*line{}, shown: map[Key]int{}}
}

// Acquire waits until a call may be made, first come, first served among the
// callers of this process. The permit must be released.
//
// Told, which may be nil, hears of the wait when it begins and when it changes; how
// many come first it hears about once a second. How long the caller has waited is
// told with an error too. The error is a [*LongError] if its patience does not
// suffice, one that wraps [ErrAway], or the cause of the end of ctx.
func (l *Limiter) Acquire(ctx context.Context, key Key, ask Ask, p Patience, told func(Wait)) (*Permit, Waited, error) {
	if ctx.Err() != nil {
		return nil, Waited{}, context.Cause(ctx)
	}
	c := l.join(ctx, key, p, told)
	err := c.turn(ctx)
	if err == nil {
		err = c.ask(ctx, ask)
	}
	permit, waited := c.leave(ask, err)
	return permit, waited, err
}

// Run keeps the permits that are held alive, and shows the gate how many callers
// wait. It returns nil when ctx ends.
func (l *Limiter) Run(ctx context.Context) error {
	renew := time.NewTicker(max(time.Millisecond, l.gate.Lease()/3))
	defer renew.Stop()
	show := time.NewTicker(time.Second)
	defer show.Stop()
	// Apart, so that a slow gate that is shown something does not cost a lease.
	var shower sync.WaitGroup
	defer shower.Wait()
	shower.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-show.C:
				l.show(ctx)
			}
		}
	})
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-renew.C:
			l.renew(ctx)
		}
	}
}

// renew extends the leases of all permits that are held.
func (l *Limiter) renew(ctx context.Context) {
	for key, permits := range l.held() {
		for len(permits) > 0 {
			n := min(len(permits), renewMost)
			once, cancel := context.WithTimeout(ctx, tryTimeout)
			err := l.gate.Renew(once, key, permits[:n])
			cancel()
			if err != nil && ctx.Err() == nil {
				l.o.Logger.WarnContext(ctx, "cannot renew permits", "key", string(key), "error", err)
			}
			permits = permits[n:]
		}
	}
}

func (l *Limiter) held() map[Key][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[Key][]string{}
	for key, n := range l.lines {
		for permit := range n.held {
			out[key] = append(out[key], permit)
		}
	}
	return out
}

// show tells the gate how many callers wait, where some do or did.
func (l *Limiter) show(ctx context.Context) {
	for key, n := range l.waiting() {
		once, cancel := context.WithTimeout(ctx, tryTimeout)
		err := l.gate.Waiting(once, key, l.o.Process, n)
		cancel()
		if err != nil && ctx.Err() == nil {
			l.o.Logger.DebugContext(ctx, "cannot show who waits", "key", string(key), "error", err)
		}
	}
}

func (l *Limiter) waiting() map[Key]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[Key]int{}
	for key := range l.shown {
		out[key] = 0
	}
	for key, n := range l.lines {
		if w := n.waiting(); w > 0 {
			out[key] = w
		}
	}
	for key, w := range out {
		l.shown[key] = w
		if w == 0 {
			delete(l.shown, key)
		}
	}
	return out
}

// try asks the gate once.
func (l *Limiter) try(ctx context.Context, key Key, ask Ask) (Answer, error) {
	once, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	a, err := l.gate.Try(once, key, ask)
	if err != nil {
		return Answer{}, fmt.Errorf("ask for a permit for %s: %w", key, err)
	}
	return a, nil
}

// between returns a random time.
func between(least, most time.Duration) time.Duration {
	return least + time.Duration(rand.Int64N(int64(most-least)+1))
}
