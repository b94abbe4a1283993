package asynqjobs

import (
	"context"
	"sync"
	"time"
)

// A contact remembers since when the scheduler has been in touch with Redis
// without a break. While a break lasts nobody can beat, and a wiped Redis has
// forgotten who held what, so afterwards workers get a whole lease to say so.
type contact struct {
	lease time.Duration

	mu     sync.Mutex // guards what follows
	since  time.Time
	last   time.Time
	broken bool
	epoch  string
}

// watch takes note of how a conversation with Redis went, and passes its error
// on.
func (c *contact) watch(ctx context.Context, fn func() error) error {
	begin := time.Now()
	err := fn()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	switch {
	case err == nil:
		// An answer that took long hides a break that the client sat out.
		if c.broken || now.Sub(begin) > c.lease/4 || now.Sub(c.last) > c.lease {
			c.since = now
		}
		c.broken, c.last = false, now
	case ctx.Err() == nil:
		// An error that Redis answers counts too: it is loading, or full, or has no
		// master, and then beats fail as well.
		c.broken = true
	}
	return err
}

// remember takes note of the epoch that Redis is in.
func (c *contact) remember(epoch string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != "" && c.epoch != epoch {
		c.since = time.Now()
	}
	c.epoch = epoch
}

// steady is true once the contact has held for a whole lease.
func (c *contact) steady(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.broken && !c.since.IsZero() && now.Sub(c.since) >= c.lease
}
