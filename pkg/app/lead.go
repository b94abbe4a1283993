package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A candidate wants to lead, as one of several.
type candidate struct {
	leases store.Leases
	holder string
	// term is how long a leader stays one that is not heard of.
	term time.Duration
	// told is called when this process begins to lead or another one does; it may be
	// nil.
	told func(holder string)
	log  *slog.Logger
}

// run leads whenever nobody else does, until ctx ends. A reign has ended, with all
// that it began, before the lease does: its context ends when the lease was not
// renewed in time, and run waits for it to return. A reign that ends by itself leaves
// the lease to others, and may lead again.
func (c *candidate) run(ctx context.Context, reign func(context.Context) error) {
	known := ""
	for ctx.Err() == nil {
		until, holder := c.ask(ctx)
		if holder != "" && holder != known {
			known = holder
			if c.told != nil {
				c.told(holder)
			}
		}
		if holder == c.holder {
			if err := c.reign(ctx, until, reign); err != nil && ctx.Err() == nil {
				c.log.ErrorContext(ctx, "leading", "error", err)
			}
			known = ""
			c.release(ctx)
		}
		pause(ctx, c.term/15)
	}
}

// ask asks for the lease, and tells who has it and, if it is us, until when by our own
// clock: that began to run before the store's did.
func (c *candidate) ask(ctx context.Context) (until time.Time, holder string) {
	until = time.Now().Add(c.term)
	asking, cancel := context.WithTimeout(ctx, c.term/3)
	defer cancel()
	l, err := c.leases.AcquireLease(asking, scheduler.LeaderLease, c.holder, c.term)
	if err != nil {
		if ctx.Err() == nil {
			c.log.WarnContext(ctx, "ask for the lead", "error", err)
		}
		return time.Time{}, ""
	}
	return until, l.Holder
}

// reign leads while the lease is renewed.
func (c *candidate) reign(ctx context.Context, until time.Time, do func(context.Context) error) error {
	reigning, abdicate := context.WithCancel(ctx)
	defer abdicate()
	ended := make(chan error, 1)
	go func() { ended <- do(reigning) }()
	ticker := time.NewTicker(c.term / 6)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return <-ended
		case <-ticker.C:
		}
		// As long as it takes to end what is under way.
		margin := c.term / 5
		if time.Until(until) < c.term*2/3 {
			asking, cancel := context.WithDeadline(ctx, until.Add(-margin))
			renewed, holder := c.ask(asking)
			cancel()
			switch holder {
			case c.holder:
				until = renewed
			case "": // the store is away
			default:
				c.log.WarnContext(ctx, "another scheduler leads", "holder", holder)
				abdicate()
				return <-ended
			}
		}
		if time.Until(until) <= margin {
			c.log.WarnContext(ctx, "the lead could not be renewed")
			abdicate()
			return <-ended
		}
	}
}

// release lets others lead at once.
func (c *candidate) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.term/3)
	defer cancel()
	if err := c.leases.ReleaseLease(ctx, scheduler.LeaderLease, c.holder); err != nil {
		c.log.WarnContext(ctx, "release the lead", "error", err)
	}
}

// pause lets time pass, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
