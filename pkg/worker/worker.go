// Package worker carries out trials: it claims an attempt, opens a session with
// the server, runs the case, and hands the record on.
//
// A worker writes nothing but what it hands on. It never decides about a trial
// as a whole: which attempt counts, whether another follows and when a run is
// done are the scheduler's and the aggregator's business.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// A Sink takes the record of an attempt and ends its claim. When Commit
// returns, the record is as safe as it is meant to be here: in the store, or on
// the way to it.
type Sink interface {
	Commit(ctx context.Context, c jobs.Claim, r eval.Record) error
}

// A Sessions opens sessions with servers; [client.Pool] is one.
type Sessions interface {
	Shared(ctx context.Context, run, key string, spec client.Spec) (*client.Attachment, error)
	Fresh(ctx context.Context, spec client.Spec) (*client.Attachment, error)
}

// Options of a worker. Fields without a default are required.
type Options struct {
	// ID names the worker among all workers of a farm.
	ID string
	// Slots is how many trials run at once.
	Slots    int
	Place    jobs.Workplace
	Blobs    blob.Store
	Sink     Sink
	Sessions Sessions
	// Spool keeps records until they are stored. Nil keeps none: for a sink that
	// stores.
	Spool Spool
	// Models makes a model of one that a suite declares, with its secrets resolved,
	// metered as o says. The redactor takes the secrets out of what the model may
	// keep.
	Models func(m eval.Model, secrets *redact.Redactor, o meter.Options) (llm.Model, error)
	// Secret resolves the name of a secret; its error is for people. Nil knows
	// none.
	Secret func(name string) (string, error)
	// Environ is the environment of the process, of which the commands of checks
	// get the harmless part.
	Environ []string
	// Grace is how long running trials may go on after the worker was told to
	// stop; what runs longer is given back. Zero gives back at once.
	Grace time.Duration
	// Beat is the time between two beats. Zero means a fifth of the lease, at
	// most 2 s, which bounds how late a cancel arrives.
	Beat time.Duration
	// Began and Ended are told of every attempt, for progress. Nil is silent.
	Began func(uid string, t eval.Trial)
	Ended func(uid string)
	// Tracer tells of what the worker does; nil traces nothing. Lane is what its traces
	// and metrics call where its jobs come from.
	Tracer *telemetry.Tracer
	Lane   telemetry.Lane
	// Metrics measure attempts and the calls that they make. Nil measures nothing.
	Metrics *telemetry.Metrics
	// Logger; nil discards.
	Logger *slog.Logger
}

// A Worker carries out trials. Make one with New.
type Worker struct {
	opts  Options
	log   *slog.Logger
	plans *plans
	// draining is set once no more trials are taken, so that nobody counts on
	// our slots.
	draining atomic.Bool

	board board

	mu    sync.Mutex         // guards the following fields
	tasks map[string]*active // by uid
	// hurry is closed when the grace of a drain is over: what begins then is given
	// back at once, and what cannot be handed on is left to the next attempt.
	hurry chan struct{}
	// outdated is set, and old closed, when a job came that is too new.
	outdated *OutdatedError
	old      chan struct{}
	// tried is when the last beat came to an end, or the worker was made; missed is
	// why the last beat failed, nil when it did not.
	tried  time.Time
	missed error
}

// active is an attempt that is being carried out.
type active struct {
	claim  jobs.Claim
	cancel context.CancelCauseFunc
	// at is what is known of the trial, for whom it is carried out alone.
	at *place
}

// Causes for which a running trial is cancelled.
var (
	errCancelled  = errors.New("the run was cancelled")
	errSuperseded = errors.New("another attempt took over")
	errDrained    = errors.New("the worker is stopping")
)

// New makes a worker.
func New(o Options) *Worker {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Beat <= 0 {
		o.Beat = min(o.Place.Lease()/5, 2*time.Second)
	}
	if o.Secret == nil {
		o.Secret = func(name string) (string, error) { return "", fmt.Errorf("this worker has no secret %q", name) }
	}
	return &Worker{opts: o, log: o.Logger, plans: newPlans(o.Blobs), tasks: map[string]*active{}, hurry: make(chan struct{}), old: make(chan struct{}), tried: time.Now(), missed: errors.New("no beat yet")}
}

// Run takes trials until ctx ends, then drains: it takes no more, lets those
// that run go on for Grace and gives back the rest, which burns no attempt. It drains
// too when it is handed a job that it is too old for, and returns an [*OutdatedError].
func (w *Worker) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-w.old:
			stop()
		case <-ctx.Done():
		}
	}()
	// Beats go on while the worker drains, or its claims would run out.
	beating, stopBeats := context.WithCancel(context.WithoutCancel(ctx))
	var g errgroup.Group
	g.Go(func() error { return w.beat(beating) })
	g.Go(func() error { return w.follow(beating) })
	drained := context.AfterFunc(ctx, func() {
		w.draining.Store(true)
		timer := time.NewTimer(w.opts.Grace)
		defer timer.Stop()
		select {
		case <-timer.C:
			w.endGrace()
		case <-beating.Done():
		}
	})
	err := w.opts.Place.Serve(ctx, w.opts.ID, w.opts.Slots, w.handle)
	w.settle(context.WithoutCancel(ctx))
	drained()
	stopBeats()
	err = errors.Join(err, g.Wait())
	w.leave(context.WithoutCancel(ctx))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outdated != nil {
		return errors.Join(w.outdated, err)
	}
	return err
}

// leave tells the queue that the worker has no slots any more and does nothing, or it
// would be counted, and what it has done be shown as running, until a lease after its
// end. A queue that is away finds out by itself.
func (w *Worker) leave(ctx context.Context) {
	w.mu.Lock()
	missed := w.missed
	w.mu.Unlock()
	if missed != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	w.draining.Store(true)
	if err := w.beatOnce(ctx); err != nil {
		w.log.DebugContext(ctx, "leave", "error", err)
	}
}

// beat renews all claims and passes on what comes back.
func (w *Worker) beat(ctx context.Context) error {
	ticker := time.NewTicker(w.opts.Beat)
	defer ticker.Stop()
	for {
		err := w.beatOnce(ctx)
		w.mu.Lock()
		w.tried, w.missed = time.Now(), err
		w.mu.Unlock()
		if err != nil && ctx.Err() == nil {
			// The work goes on: a queue that is away for less than a lease costs
			// nothing, and for longer no more than the attempts it forgets.
			w.log.WarnContext(ctx, "beat", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Worker) beatOnce(ctx context.Context) error {
	w.mu.Lock()
	claims := make([]jobs.Claim, 0, len(w.tasks))
	for _, t := range w.tasks {
		claims = append(claims, t.claim)
	}
	w.mu.Unlock()
	slots := w.opts.Slots
	if w.draining.Load() || w.clogged() {
		slots = 0
	}
	words, err := w.opts.Place.Beat(ctx, w.opts.ID, slots, claims)
	if err != nil {
		return fmt.Errorf("renew %d claims: %w", len(claims), err)
	}
	w.tell(ctx)
	for _, word := range words {
		switch {
		case word.Superseded:
			w.cancel(word.UID, errSuperseded)
		case word.Control == eval.ControlCancel:
			w.cancel(word.UID, errCancelled)
		}
	}
	return nil
}

func (w *Worker) begin(t *active) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tasks[t.claim.UID] = t
	select {
	case <-w.hurry:
		t.cancel(errDrained)
	default:
	}
}

func (w *Worker) end(t *active) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.tasks, t.claim.UID)
}

func (w *Worker) cancel(uid string, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t, ok := w.tasks[uid]; ok {
		t.cancel(cause)
	}
}

// endGrace gives back all that still runs, and all that begins from now on.
func (w *Worker) endGrace() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.hurry)
	for _, t := range w.tasks {
		t.cancel(errDrained)
	}
}
