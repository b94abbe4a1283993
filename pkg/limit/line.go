package limit

import (
	"container/list"
	"context"
	"time"
)

const (
	// quiet is how often those who wait hear of changes that matter little.
	quiet = time.Second
	// far is from when on a wait matters to those who come later.
	far = time.Second
)

// A line is the callers of one key, and the permits that they hold. The limiter's
// mu guards it.
type line struct {
	l       *Limiter
	key     Key
	callers *list.List // of *caller, the first of whom asks the gate
	held    map[string]struct{}
	// freed says that a call of this process has ended.
	freed chan struct{}

	// news is what the gate last told the first.
	news news
	// awaySince is when the gate was last heard of, while it is away.
	awaySince time.Time
	// paused is how long the line was held back, up to pausedSince, if it still is.
	paused      time.Duration
	pausedSince time.Time
	// What callers last heard of, when, and whether they will again.
	cried   news
	criedAt time.Time
	crying  bool
}

// News are what the first of a line waits for. Nothing while it asks.
type news struct {
	why   Why
	until time.Time // zero when nobody can know
	err   error     // of the gate
}

// left is how long it lasts at least.
func (n news) left(now time.Time) time.Duration {
	if n.until.IsZero() {
		return 0
	}
	return max(0, n.until.Sub(now))
}

// join stands a caller at the end of its line.
func (l *Limiter) join(ctx context.Context, key Key, p Patience, told func(Wait)) *caller {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.lines[key]
	if n == nil {
		n = &line{l: l, key: key, callers: list.New(), held: map[string]struct{}{}, freed: make(chan struct{}, 1)}
		l.lines[key] = n
	}
	c := &caller{line: n, patience: p, told: told, first: make(chan struct{}), news: make(chan struct{}, 1)}
	c.deadline, _ = ctx.Deadline()
	c.before = n.callers.Len()
	c.place = n.callers.PushBack(c)
	if c.before == 0 {
		close(c.first)
	}
	return c
}

// remove takes a caller out, and lets the next one ask if it was the first. The
// permit that it got, if any, is held from now on.
func (n *line) remove(c *caller, permit string) {
	first := n.callers.Front() == c.place
	n.callers.Remove(c.place)
	if permit != "" {
		n.held[permit] = struct{}{}
	}
	if next := n.callers.Front(); next == nil {
		n.set(news{})
		n.awaySince = time.Time{}
	} else {
		if first {
			close(next.Value.(*caller).first)
		}
		n.cry(false)
	}
	n.tidy()
}

// tidy forgets a line that nobody stands in.
func (n *line) tidy() {
	if n.callers.Len() == 0 && len(n.held) == 0 && n.l.lines[n.key] == n {
		delete(n.l.lines, n.key)
	}
}

// free ends the hold of a permit.
func (n *line) free(permit string) {
	delete(n.held, permit)
	n.tidy()
}

// waiting is how many callers wait: one that has not been refused yet does not.
func (n *line) waiting() int {
	if n.news.why == "" {
		return max(0, n.callers.Len()-1)
	}
	return n.callers.Len()
}

// set takes note of what the gate has told the first.
func (n *line) set(s news) {
	now := time.Now()
	if held := s.why == WhyPause; held != !n.pausedSince.IsZero() {
		if held {
			n.pausedSince = now
		} else {
			n.paused += now.Sub(n.pausedSince)
			n.pausedSince = time.Time{}
		}
	}
	n.news = s
	// The end of a far wait may be more than some callers can wait for, so that is
	// told at once. It cannot come often.
	n.cry(s.left(now) >= far && (s.why != n.cried.why || s.until.Sub(n.cried.until).Abs() > far))
}

// pausedFor is how long the line was held back so far.
func (n *line) pausedFor(now time.Time) time.Duration {
	if n.pausedSince.IsZero() {
		return n.paused
	}
	return n.paused + now.Sub(n.pausedSince)
}

// cry lets callers hear of the news and of their places: all of them at once, or
// those who want to be told when it was quiet for a while.
func (n *line) cry(urgent bool) {
	now := time.Now()
	if !urgent {
		if n.crying || n.callers.Len() < 2 {
			return
		}
		if left := quiet - now.Sub(n.criedAt); left > 0 {
			n.crying = true
			time.AfterFunc(left, func() {
				n.l.mu.Lock()
				defer n.l.mu.Unlock()
				n.crying = false
				n.hear(false)
			})
			return
		}
	}
	n.hear(urgent)
}

func (n *line) hear(all bool) {
	n.cried, n.criedAt = n.news, time.Now()
	before := 0
	for e := n.callers.Front(); e != nil; e = e.Next() {
		c := e.Value.(*caller)
		c.before = before
		if before > 0 && (all || c.told != nil) {
			c.wake()
		}
		before++
	}
}

// fail ends the wait of all callers.
func (n *line) fail(err error) {
	for e := n.callers.Front(); e != nil; e = e.Next() {
		c := e.Value.(*caller)
		c.end = err
		c.wake()
	}
}
