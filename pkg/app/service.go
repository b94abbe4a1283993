package app

import (
	"cmp"
	"context"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/limit/redislimit"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A ServiceConfig is what a scheduler that serves needs beside Config.
type ServiceConfig struct {
	Config
	// Listener serves the API.
	Listener net.Listener
	// Health serves /healthz, /readyz and /metrics. Nil serves nothing.
	Health net.Listener
	// API is what it serves and to whom. What depends on the farm is filled in.
	API httpapi.Options
	// Term is how long the farm waits for a leader that is silent. Zero means 15 s.
	Term time.Duration
	// Led is told who leads from now on, and whether that is this process; Done what
	// the runs came to that this one led to their ends. Both may be nil.
	Led  func(holder string, us bool)
	Done func(eval.Summary)
	// Keep is how long done runs are kept. Zero means for ever.
	Keep time.Duration
	// Scheduled makes the request of a run of a schedule. Nil starts no such runs.
	Scheduled func(ctx context.Context, s eval.Schedule) (scheduler.Request, error)
}

// Serve is a scheduler that stays: it carries out the runs that the store has for a
// service, until ctx ends. All of them stay in the store then.
//
// Several may serve one store. Each serves the API, one leads: it moves the runs and
// takes the results from the stream. The others stand by. What a leader does is
// harmless when two do it, so that one which was frozen may wake up at any time.
func Serve(ctx context.Context, c ServiceConfig, s store.Store) error {
	b, err := broker.Open(ctx, c.Broker)
	if err != nil {
		return err
	}
	defer b.Close()
	us := workerID()
	_, gate := newLimiter(c.Config, b, us)
	var leading atomic.Bool
	defer c.leads(leading.Load)()
	candidate := candidate{leases: s, holder: us, term: cmp.Or(c.Term, 15*time.Second), log: c.logger(), told: func(holder string) {
		if c.Led != nil {
			c.Led(holder, holder == us)
		}
	}}
	g, base := errgroup.WithContext(ctx)
	g.Go(func() error { return settled(base, b.Run(base)) })
	g.Go(func() error {
		return serve(base, c.Listener, c.handler(c.API, s, newQueues(c.Config, b, s.ID()).trials.Lease()))
	})
	g.Go(func() error { return c.serveHealth(base, c.Health, readable(s)) })
	g.Go(func() error {
		candidate.run(base, func(ctx context.Context) error {
			leading.Store(true)
			defer leading.Store(false)
			return c.lead(ctx, s, b, gate)
		})
		return nil
	})
	err = g.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// lead does what a leader does until ctx ends. It begins with nothing: what an earlier
// reign of this process knew is old.
func (c ServiceConfig) lead(ctx context.Context, s store.Store, b *broker.Broker, gate *redislimit.Gate) error {
	q := newQueues(c.Config, b, s.ID())
	trials, judging, err := c.published(ctx, s, q, httpblob.Farm{ID: s.ID(), Version: c.Version, Lease: q.trials.Lease()})
	if err != nil {
		return err
	}
	sender := c.Sender(s)
	agg, sched := newScheduler(c.Config, s, trials, judging, gate, sender, nil)
	defer c.watch(sched, q, gate)()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return settled(ctx, agg.Run(ctx)) })
	g.Go(func() error { return settled(ctx, sched.Run(ctx)) })
	g.Go(func() error { return settled(ctx, sender.Run(ctx)) })
	g.Go(func() error {
		return settled(ctx, sched.Serve(ctx, func(summary eval.Summary) {
			sender.Wake()
			if c.Done != nil {
				c.Done(summary)
			}
		}))
	})
	for _, queue := range []*asynqjobs.Queue{q.trials, q.judging} {
		g.Go(func() error {
			return settled(ctx, queue.Receive(ctx, func(ctx context.Context, rs []eval.Record) error { return agg.Put(ctx, rs...) }))
		})
	}
	if c.Keep > 0 {
		g.Go(func() error { return settled(ctx, collect(ctx, s, c.Keep, c.logger())) })
	}
	if c.Scheduled != nil {
		timetable := scheduler.NewTimetable(s, scheduler.TimetableOptions{Request: c.Scheduled, Logger: c.logger()})
		g.Go(func() error { return settled(ctx, timetable.Run(ctx)) })
	}
	return g.Wait()
}
