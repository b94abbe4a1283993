package aggregate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// ErrStopped is returned by [Aggregator.Put] when the aggregator has stopped.
// The records were not stored by this call.
var ErrStopped = errors.New("the aggregator has stopped")

// A Committer stores records in one step and says what became of each, in
// order. Storing a record again must be harmless.
type Committer interface {
	Commit(ctx context.Context, rs []eval.Record) ([]store.Stored, error)
}

// Options of an aggregator. The zero value is useful.
type Options struct {
	// Batch is how many records are stored together at most, but for a single
	// Put, which is never split. Zero means 200.
	Batch int
	// Window is how long a record may wait for company at most. Zero means 20 ms.
	Window time.Duration
	// Observe is told of every stored record, in the order of storing, after it
	// is durable and before Put returns. It is called from one goroutine and
	// holds up all writing. Nil means nobody listens.
	Observe func(store.Stored)
	// Metrics count what was stored. Nil measures nothing.
	Metrics *telemetry.Metrics
}

// An Aggregator is the single writer of results. Many goroutines Put records,
// one commits them in groups, because a transaction costs about the same for
// one record as for a hundred.
type Aggregator struct {
	store   Committer
	batch   int
	window  time.Duration
	observe func(store.Stored)
	metrics *telemetry.Metrics
	puts    chan put
	stopped chan struct{}
}

// A put is one call of Put, waiting for its records to be durable.
type put struct {
	records []eval.Record
	done    chan error
}

// New makes an aggregator that stores to s. It works while Run does.
func New(s Committer, o Options) *Aggregator {
	observe := o.Observe
	if observe == nil {
		observe = func(store.Stored) {}
	}
	return &Aggregator{
		store:   s,
		batch:   cmp.Or(o.Batch, 200),
		window:  cmp.Or(o.Window, 20*time.Millisecond),
		observe: observe,
		metrics: o.Metrics,
		// Without a buffer no record can be accepted and then forgotten.
		puts:    make(chan put),
		stopped: make(chan struct{}),
	}
}

// Put returns when the records are durable, with the store's error, or with
// ErrStopped. When ctx ends first it returns at once, and the records may or
// may not be stored. It waits for Run to start.
func (a *Aggregator) Put(ctx context.Context, rs ...eval.Record) error {
	if len(rs) == 0 {
		return nil
	}
	p := put{records: rs, done: make(chan error, 1)}
	select {
	case a.puts <- p:
	case <-a.stopped:
		return fmt.Errorf("put %d results: %w", len(rs), ErrStopped)
	case <-ctx.Done():
		return fmt.Errorf("put %d results: %w", len(rs), context.Cause(ctx))
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("wait for %d results to be stored: %w", len(rs), context.Cause(ctx))
	}
}

// patience is how long the store may refuse everything before Run gives up: a
// busy store answers sooner, a full disk is for a person to see.
const patience = 15 * time.Second

// Run stores what is Put until ctx ends. It then stores all that it was handed,
// refuses the rest with ErrStopped and returns nil. A store error goes to those
// who Put; when the store has refused everything for a while, Run returns it. It
// may be called once.
func (a *Aggregator) Run(ctx context.Context) error {
	defer close(a.stopped)
	// A commit that has begun is carried through.
	commit := context.WithoutCancel(ctx)
	var took time.Duration
	var failing time.Time // since when the store refuses everything
	for {
		select {
		case first := <-a.puts:
			// A batch gathers for as long as the last commit took. So the writer is
			// busy half of the time at most, and where commits are cheap nobody waits.
			batch := a.gather(ctx, first, min(took, a.window))
			start := time.Now()
			err := a.commit(commit, batch)
			took = time.Since(start)
			switch {
			case err == nil:
				failing = time.Time{}
			case failing.IsZero():
				failing = start
			case time.Since(failing) > patience:
				return fmt.Errorf("the store fails: %w", err)
			}
		case <-ctx.Done():
			if batch := a.waiting(nil); len(batch) > 0 {
				// Who Put it is told of an error.
				_ = a.commit(commit, batch)
			}
			return nil
		}
	}
}

// gather collects a batch until it is full, the time is over or ctx ends.
func (a *Aggregator) gather(ctx context.Context, first put, wait time.Duration) []put {
	batch := a.waiting([]put{first})
	over := time.NewTimer(wait)
	defer over.Stop()
	for size(batch) < a.batch {
		select {
		case p := <-a.puts:
			batch = append(batch, p)
		case <-over.C:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

// waiting adds the puts that wait already to a batch, until it is full.
func (a *Aggregator) waiting(batch []put) []put {
	for size(batch) < a.batch {
		select {
		case p := <-a.puts:
			batch = append(batch, p)
		default:
			return batch
		}
	}
	return batch
}

func size(batch []put) int {
	n := 0
	for _, p := range batch {
		n += len(p.records)
	}
	return n
}

// measure counts a record that was stored, once however often it comes.
func (a *Aggregator) measure(ctx context.Context, r eval.Record, s store.Stored) {
	if !s.New {
		return
	}
	lane := telemetry.Trials
	if s.Parent != "" {
		lane = telemetry.Judging
	}
	ctx = telemetry.Exemplary(ctx, r)
	a.metrics.Attempt(ctx, lane, s.Outcome)
	if s.Outcome != eval.AttemptLost { // nobody knows when that ended
		a.metrics.Lag(ctx, time.Since(r.Ended))
	}
	if s.Superseded {
		a.metrics.Superseded(ctx)
	}
	if decided(s) {
		a.metrics.Trials(ctx, s.Result.Verdict, s.Result.Reason, 1)
	}
}

// decided says whether a trial has come to its verdict by a record: at once, or when a
// judge has spoken for whom it waited. A grading that comes later decides nothing
// anew. Trials that wait when their run ends are the scheduler's to count.
func decided(s store.Stored) bool {
	switch {
	case !s.Final:
		return false
	case s.Parent == "":
		return s.Judging == 0 || s.Result.Verdict != eval.Unjudged
	default:
		return s.Shown && s.Was == eval.Unjudged
	}
}

// commit stores a batch, tells the observer and answers everyone who waits.
func (a *Aggregator) commit(ctx context.Context, batch []put) error {
	rs := make([]eval.Record, 0, size(batch))
	for _, p := range batch {
		rs = append(rs, p.records...)
	}
	stored, err := a.store.Commit(ctx, rs)
	if err != nil {
		err = fmt.Errorf("commit %d results: %w", len(rs), err)
	} else {
		for i, s := range stored {
			a.measure(ctx, rs[i], s)
			a.observe(s)
		}
	}
	for _, p := range batch {
		p.done <- err
	}
	return err
}
