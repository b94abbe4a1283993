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
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/limit/redislimit"
	"github.com/evalfarm/evalfarm/pkg/notify"
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
// rest stays in the store, and the error is ErrStopped. Notices for local targets
// are then in the outbox; LocalSender sends them.
func Carry(ctx context.Context, c Config, s store.Store, run string, obs Observer) (eval.Summary, error) {
	of, err := s.Run(ctx, run)
	if err != nil {
		return eval.Summary{}, err
	}
	unlock, err := own(ctx, c.Home, s, of)
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
	q := newQueues(c, b, s.ID()+"-"+run)
	id := workerID()
	limiter, gate := newLimiter(c, b, id)
	agg, sched := newScheduler(c, s, q.trials, q.judging, gate, c.LocalSender(s), obs.Stored)
	pool := c.sessions(s.ID(), id)
	defer c.leads(func() bool { return true })()
	defer c.watch(sched, q, gate)()
	hands := newWorkers(c, id, pool, q, limiter, blob.NewCache(s, blobCache), func(place jobs.Workplace) worker.Sink { return direct{agg, place} }, spools{}, obs)
	if of.Grading == "" && of.Parent == "" {
		hands = hands[:1] // nothing to judge
	}

	// What the worker needs to drain outlives ctx.
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, base := errgroup.WithContext(base)
	g.Go(func() error { return settled(base, b.Run(base)) })
	g.Go(func() error { return settled(base, agg.Run(base)) })
	g.Go(func() error { return settled(base, sched.Run(base)) })
	g.Go(func() error { return settled(base, pool.Run(base)) })
	g.Go(func() error { return settled(base, limiter.Run(base)) })

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
			return work(working, hands)
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
	if err != nil && base.Err() == nil {
		if err := sched.Park(base, run); err != nil {
			c.logger().WarnContext(base, "park", "run", run, "error", err)
		}
	}
	pool.Close() //nolint:contextcheck // what is left is removed after the end, too
	stop()
	if failed := g.Wait(); failed != nil && !errors.Is(err, failed) {
		err = errors.Join(err, failed)
	}
	return summary, err
}

// blobCache is how many bytes of snapshots and cases a worker keeps at hand.
const blobCache = 64 << 20

// queues of a farm: trials and judging have one each.
type queues struct{ trials, judging *asynqjobs.Queue }

func newQueues(c Config, b *broker.Broker, namespace string) queues {
	c.logger().Info("queues opened", "redis", b.Describe(), "namespace", namespace)
	open := func(namespace string, capabilities []string, only bool) *asynqjobs.Queue {
		return asynqjobs.New(b.Client(), asynqjobs.Options{
			Capabilities: capabilities, OnlyCapable: only,
			Namespace: namespace, Lease: c.Lease, Logger: c.logger(),
		})
	}
	// Whoever has the keys may judge.
	return queues{trials: open(namespace, c.Capabilities, c.OnlyCapable), judging: open(namespace+"-judging", nil, false)}
}

// newWorkers makes the worker of trials and the one that judges.
func newWorkers(c Config, id string, pool worker.Sessions, q queues, limiter *limit.Limiter, blobs blob.Store, sink func(jobs.Workplace) worker.Sink, keeps spools, obs Observer) []*worker.Worker {
	o := worker.Options{
		ID: id, Slots: c.slots(), Place: q.trials, Blobs: blobs, Sink: sink(q.trials), Sessions: pool,
		Models: models(limiter), Secret: c.Secret, Environ: c.Environ, Grace: c.Grace, Began: obs.Began, Ended: obs.Ended, Logger: c.logger(),
		Tracer: c.Tracer, Metrics: c.Metrics, Lane: telemetry.Trials,
	}
	if keeps.trials != nil {
		o.Spool = keeps.trials
	}
	judging := o
	judging.ID, judging.Slots, judging.Place, judging.Sink = id+"-judge", c.judgeSlots(), q.judging, sink(q.judging)
	judging.Lane = telemetry.Judging
	if keeps.judging != nil {
		judging.Spool = keeps.judging
	}
	judging.Began, judging.Ended = nil, nil
	return []*worker.Worker{worker.New(o), worker.New(judging)}
}

// newLimiter makes this process's queue before the gate that all share who use the
// Redis: a provider does not ask whose farm a call is from.
func newLimiter(c Config, b *broker.Broker, id string) (*limit.Limiter, *redislimit.Gate) {
	gate := redislimit.New(b.Client(), "limits", redislimit.Options{})
	return limit.New(gate, limit.Options{Process: id, Logger: c.logger()}), gate
}

// work runs workers until ctx ends, or one of them does, and they have drained.
func work(ctx context.Context, hands []*worker.Worker) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, hand := range hands {
		g.Go(func() error { return hand.Run(ctx) })
	}
	return g.Wait()
}

// newScheduler makes the aggregator of s and the scheduler that hears what it
// stored, and that leaves to the sender whom to tell of a run's end. observe, when it
// is not nil, hears what was stored next.
func newScheduler(c Config, s store.Store, trials, judging jobs.Queue, gate limit.Gate, sender *notify.Sender, observe func(store.Stored)) (*aggregate.Aggregator, *scheduler.Scheduler) {
	var sched *scheduler.Scheduler
	agg := aggregate.New(s, aggregate.Options{Metrics: c.Metrics, Observe: func(st store.Stored) {
		sched.Stored(st)
		if observe != nil {
			observe(st)
		}
	}})
	sched = scheduler.New(s, trials, judging, agg, scheduler.Options{
		Audit: c.Audit, Tenants: c.Tenants, Limits: gate.States, Ended: sender.Ended, Tracer: c.Tracer, Metrics: c.Metrics, Logger: c.logger(),
	})
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
