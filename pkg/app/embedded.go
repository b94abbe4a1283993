package app

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// ErrStopped is the cause with which Carry ends when its context did. The run
// can be resumed.
var ErrStopped = errors.New("stopped before the run was done")

// Carry carries out one run with the whole farm in this process, and returns
// its summary. When ctx ends, running trials get Config.Grace to finish, the
// rest stays in the store, and the error is ErrStopped.
func Carry(ctx context.Context, c Config, s store.Store, run string, obs Observer) (eval.Summary, error) {
	unlock, err := lock(c.Home, run)
	if err != nil {
		return eval.Summary{}, err
	}
	defer unlock()
	b, err := broker.Open(ctx, c.Broker)
	if err != nil {
		return eval.Summary{}, err
	}
	defer b.Close()

	// The namespace holds the run as well: two embedded runs of one store may
	// share a Redis, and must not take each other's trials.
	queue := newQueue(c, b, s.ID()+"-"+run)
	agg, sched := newScheduler(c, s, queue, obs.Stored)
	id := workerID()
	pool := c.sessions(s.ID(), id)
	hand := worker.New(worker.Options{
		ID: id, Slots: c.slots(), Place: queue, Blobs: blob.NewCache(s, blobCache), Sink: direct{agg, queue},
		Sessions: pool, Secret: c.secret, Grace: c.Grace, Began: obs.Began, Ended: obs.Ended, Logger: c.logger(),
	})

	// What the worker needs to drain outlives ctx.
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, base := errgroup.WithContext(base)
	g.Go(func() error { return settled(base, b.Run(base)) })
	g.Go(func() error { return settled(base, agg.Run(base)) })
	g.Go(func() error { return settled(base, sched.Run(base)) })
	g.Go(func() error { return settled(base, pool.Run(base)) })

	// The worker begins after the run was adopted, or it would be handed what a
	// Redis still holds of the time before.
	working, stopWork := context.WithCancel(base)
	defer stopWork()
	worked := make(chan struct{})
	summary, err := func() (eval.Summary, error) {
		if err := sched.Adopt(ctx, run, true); err != nil {
			close(worked)
			return eval.Summary{}, err
		}
		g.Go(func() error {
			defer close(worked)
			return hand.Run(working)
		})
		waiting, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		context.AfterFunc(base, func() { cancel(context.Cause(base)) })
		return sched.Wait(waiting, run)
	}()
	if ctx.Err() != nil && err != nil {
		err = ErrStopped
	}
	stopWork()
	<-worked // while what it drains into is still there
	pool.Close()
	stop()
	if failed := g.Wait(); failed != nil && !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return summary, err
}

// blobCache is how many bytes of snapshots and cases a worker keeps at hand.
const blobCache = 64 << 20

func newQueue(c Config, b *broker.Broker, namespace string) *asynqjobs.Queue {
	c.logger().Info("queue opened", "redis", b.Describe(), "namespace", namespace)
	return asynqjobs.New(b.Client(), asynqjobs.Options{
		Namespace: namespace, Lease: c.Lease, Logger: c.logger(),
		Headers: func(j jobs.Job) map[string]string { return telemetry.Headers(j.Run, j.Ordinal, j.Attempt) },
		Context: telemetry.Extract,
	})
}

// newScheduler makes the aggregator of s and the scheduler that hears what it
// stored. observe, when it is not nil, hears it next.
func newScheduler(c Config, s store.Store, q *asynqjobs.Queue, observe func(store.Stored)) (*aggregate.Aggregator, *scheduler.Scheduler) {
	var sched *scheduler.Scheduler
	agg := aggregate.New(s, aggregate.Options{Observe: func(st store.Stored) {
		sched.Stored(st)
		if observe != nil {
			observe(st)
		}
	}})
	sched = scheduler.New(s, q, agg, scheduler.Options{Audit: c.Audit, Logger: c.logger()})
	return agg, sched
}

// direct is the sink of a farm in one process: straight to the store, then the
// claim ends.
type direct struct {
	recorder scheduler.Recorder
	place    jobs.Workplace
}

func (d direct) Commit(ctx context.Context, c jobs.Claim, r eval.Record) error {
	if err := d.recorder.Put(ctx, r); err != nil {
		return err
	}
	return d.place.Finish(ctx, c)
}
