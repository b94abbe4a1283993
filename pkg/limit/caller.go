package limit

import (
	"container/list"
	"context"
	"fmt"
	"time"
)

// A caller waits in a line.
type caller struct {
	line     *line
	place    *list.Element
	patience Patience
	deadline time.Time // of its context; zero for none
	told     func(Wait)
	first    chan struct{} // closed when it is the first
	news     chan struct{} // has one when something changed

	// before is how many came first when it last heard of it, and end why it waits
	// no more. The limiter's mu guards both.
	before int
	end    error

	// What follows is the caller's own. since is when its wait began, zero before, and
	// paused how long the line had been held back by then.
	since  time.Time
	paused time.Duration
	spent  <-chan time.Time // when it has waited the most
	timer  *time.Timer      // of spent
	last   Wait             // that it was told of
}

// wake tells a caller that something has changed.
func (c *caller) wake() {
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// begin starts the clock of a wait, which may have begun a little earlier.
func (c *caller) begin(at time.Time) {
	if !c.since.IsZero() {
		return
	}
	c.line.l.mu.Lock()
	c.since, c.paused = at, c.line.pausedFor(time.Now())
	c.line.l.mu.Unlock()
	if c.patience.Most > 0 {
		c.timer = time.NewTimer(c.patience.Most - time.Since(at))
		c.spent = c.timer.C
	}
}

// turn waits until the caller is the first of its line.
func (c *caller) turn(ctx context.Context) error {
	select {
	case <-c.first:
		return nil
	default:
	}
	c.begin(time.Now())
	for {
		if err := c.hear(); err != nil {
			return err
		}
		select {
		case <-c.first:
			return nil
		case <-c.news:
		case <-c.spent:
			return c.tooLong(c.known())
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ended is why the caller waits no more, if that is so.
func (c *caller) ended() error {
	c.line.l.mu.Lock()
	defer c.line.l.mu.Unlock()
	return c.end
}

// known is what the first of the line was told.
func (c *caller) known() news {
	c.line.l.mu.Lock()
	defer c.line.l.mu.Unlock()
	return c.line.news
}

// hear tells a caller who is not the first how things stand, and returns an error
// when that is more than its patience.
func (c *caller) hear() error {
	c.line.l.mu.Lock()
	n, before, end := c.line.news, c.before, c.end
	c.line.l.mu.Unlock()
	if end != nil {
		return end
	}
	if c.refuses(n.left(time.Now())) {
		return c.tooLong(n)
	}
	w := Wait{Why: WhyTurn, Before: before}
	if n.why == WhyPause || n.why == WhyGate { // it holds for everybody
		w.Why, w.Until = n.why, n.until
	}
	c.tell(w)
	return nil
}

// tell tells of a wait unless it is known.
func (c *caller) tell(w Wait) {
	const same = 500 * time.Millisecond
	if c.told == nil || w.Why == c.last.Why && w.Before == c.last.Before && w.Until.Sub(c.last.Until).Abs() < same {
		return
	}
	c.last = w
	c.told(w)
}

// refuses says whether a wait is more than the caller's patience.
func (c *caller) refuses(wait time.Duration) bool {
	once, most, now := c.patience.Once, c.patience.Most, time.Now()
	switch {
	case wait <= 0:
		return false
	case once > 0 && wait > once:
		return true
	case most > 0 && c.waited(now)+wait > most:
		return true
	}
	return !c.deadline.IsZero() && now.Add(wait).After(c.deadline)
}

// waited is how long the caller has waited in all.
func (c *caller) waited(now time.Time) time.Duration {
	if c.since.IsZero() {
		return 0
	}
	return now.Sub(c.since)
}

// tooLong is the error of a wait that is more than the caller's patience.
func (c *caller) tooLong(n news) error {
	switch n.why {
	case WhyGate:
		return fmt.Errorf("%w: %w", ErrAway, n.err)
	case "":
		n.why = WhyTurn
	default:
	}
	return &LongError{Key: c.line.key, Why: n.why, Wait: n.left(time.Now())}
}

// ask asks the gate until it grants a permit. Only the first of a line does.
func (c *caller) ask(ctx context.Context, ask Ask) (err error) {
	// loose is true when the gate may remember a caller that gives up.
	loose := false
	defer func() {
		if err != nil && loose {
			c.line.l.forget(ctx, c.line, ask)
		}
	}()
	for failures := 0; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := c.ended(); err != nil {
			return err
		}
		began := time.Now()
		c.line.drain()
		a, err := c.line.l.try(ctx, c.line.key, ask)
		if ctx.Err() != nil {
			loose = true
			return context.Cause(ctx)
		}
		var n news
		var sleep time.Duration
		now := time.Now()
		switch {
		case err != nil:
			loose = true
			c.begin(began)
			if c.line.away(began, now) {
				err = fmt.Errorf("%w: %w", ErrAway, err)
				c.line.failAll(err)
				return err
			}
			step := min(backoffMost, backoffLeast<<min(failures, 10))
			failures++
			n, sleep = news{why: WhyGate, err: err}, between(step/2, step)
		case a.Granted:
			return nil
		default:
			failures = 0
			loose = a.Why == WhyInFlight
			c.begin(now)
			n = news{why: a.Why}
			if a.Wait > 0 {
				n.until = now.Add(a.Wait)
			}
			sleep = pace(a)
		}
		c.line.tell(n)
		if c.refuses(n.left(now)) {
			return c.tooLong(n)
		}
		c.tell(Wait{Why: n.why, Until: n.until})
		if err := c.sleep(ctx, n, sleep); err != nil {
			return err
		}
	}
}

// pace is how long to sleep before asking again.
func pace(a Answer) time.Duration {
	switch a.Why {
	case WhyInFlight:
		return a.Wait + between(pollLeast, pollMost)
	case WhyPause:
		return a.Wait + between(0, pauseJitter)
	case WhyTokens:
		return min(a.Wait, tokensPoll) + between(0, jitter)
	default:
		return a.Wait + between(0, jitter)
	}
}

// sleep sleeps, but not when a call of this process has ended whose place or
// tokens may be free.
func (c *caller) sleep(ctx context.Context, n news, d time.Duration) error {
	var freed <-chan struct{}
	if n.why == WhyInFlight || n.why == WhyTokens {
		freed = c.line.freed
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-freed:
		return nil
	case <-c.spent:
		return c.tooLong(n)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// leave takes the caller out of its line, with its permit unless it failed.
func (c *caller) leave(ask Ask, err error) (*Permit, Waited) {
	if c.timer != nil {
		c.timer.Stop()
	}
	n := c.line
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	var w Waited
	if !c.since.IsZero() {
		now := time.Now()
		w.Paused = n.pausedFor(now) - c.paused
		w.Limited = max(0, now.Sub(c.since)-w.Paused)
	}
	if err != nil {
		n.remove(c, "")
		return nil, w
	}
	n.set(news{})
	n.awaySince = time.Time{}
	n.remove(c, ask.Permit)
	return &Permit{line: n, name: ask.Permit, rate: ask.Rate}, w
}

// tell takes note of what the gate told the first, and lets the others know.
func (n *line) tell(s news) {
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	if s.why != WhyGate {
		n.awaySince = time.Time{}
	}
	n.set(s)
}

// drain forgets calls that ended before the gate is asked.
func (n *line) drain() {
	select {
	case <-n.freed:
	default:
	}
}

// away says whether the gate has been away for too long.
func (n *line) away(began, now time.Time) bool {
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	if n.awaySince.IsZero() {
		n.awaySince = began
	}
	return now.Sub(n.awaySince) >= awayAfter
}

// failAll ends the wait of everybody in the line.
func (n *line) failAll(err error) {
	n.l.mu.Lock()
	defer n.l.mu.Unlock()
	n.fail(err)
}
