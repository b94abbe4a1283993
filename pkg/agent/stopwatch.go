package agent

import (
	"context"
	"sync"
	"time"
)

// A stopwatch ends a trial when its own time is used up. It stands still while the
// trial waits for others: a rate limit is not the agent's time.
type stopwatch struct {
	mu      sync.Mutex
	timer   *time.Timer // nil: no limit
	left    time.Duration
	since   time.Time
	waiting bool
}

// newStopwatch derives a context that ends, with errTimeLimit as its cause, after
// limit; zero is no limit.
func newStopwatch(ctx context.Context, limit time.Duration) (context.Context, *stopwatch, context.CancelFunc) {
	if limit <= 0 {
		return ctx, &stopwatch{}, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &stopwatch{left: limit, since: time.Now()}
	w.timer = time.AfterFunc(limit, func() { cancel(errTimeLimit) })
	return ctx, w, func() {
		w.timer.Stop()
		cancel(nil)
	}
}

// giveBack adds time that went into something which has to be done again.
func (w *stopwatch) giveBack(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	w.left += d
	if !w.waiting && w.timer.Stop() {
		w.left = max(0, w.left-time.Since(w.since))
		w.since = time.Now()
		w.timer.Reset(w.left)
	}
}

// wait stops the time, and lets it go on again.
func (w *stopwatch) wait(waiting bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil || w.waiting == waiting {
		return
	}
	w.waiting = waiting
	if waiting {
		if w.timer.Stop() {
			w.left = max(0, w.left-time.Since(w.since))
		}
		return
	}
	w.since = time.Now()
	w.timer.Reset(w.left)
}
