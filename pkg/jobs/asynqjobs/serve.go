package asynqjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// errHandler is what asynq is told of a failure. It writes the text of an error
// into the task and the task into every heartbeat, so the reason goes to the log
// alone.
var errHandler = errors.New("the handler failed, see the worker's log")

// Serve implements [jobs.Workplace]. The client has to stay open until it has
// returned: a goroutine of asynq panics when its subscription is closed under it.
//
// A handler claims soon, or gives up: a delivery that a worker holds without a
// claim for a whole lease is reported missing.
func (q *Queue) Serve(ctx context.Context, worker string, slots int, h jobs.Handler) error {
	if slots < 1 {
		return fmt.Errorf("serve as %s: %d slots", worker, slots)
	}
	log := q.o.Logger.With("worker", worker)
	d := &desk{q: q, h: h, log: log, free: make(chan struct{}, slots)}
	var closing sync.WaitGroup
	for ctx.Err() == nil {
		queues := q.served(ctx, nil)
		for len(queues) == 0 && ctx.Err() == nil { // only what nobody requires yet
			queues = q.changed(ctx, queues)
		}
		if len(queues) == 0 {
			break
		}
		server := q.server(ctx, slots, queues, log)
		if err := server.Start(d); err != nil {
			closing.Wait()
			return fmt.Errorf("serve as %s: %w", worker, err)
		}
		q.changed(ctx, queues)
		server.Stop()
		// The next one serves while this one's handlers come to their ends.
		closing.Go(server.Shutdown)
	}
	<-ctx.Done()
	closing.Wait()
	// Handlers that asynq gave up on during an outage are still at work.
	d.busy.Wait()
	return nil
}

// lookAround is how often a worker with capabilities looks for new queues.
const lookAround = time.Second

// served are the names of the queues that this worker serves: the plain one, and
// those of what jobs require as far as it has that. When Redis cannot say, they
// stay what they were.
func (q *Queue) served(ctx context.Context, before []string) []string {
	var names []string
	if !q.o.OnlyCapable {
		names = append(names, q.keys.queue(""))
	}
	if len(q.o.Capabilities) == 0 {
		return names
	}
	required, err := q.required(ctx)
	if err != nil {
		if len(before) > 0 {
			return before
		}
		return names
	}
	for _, requires := range required {
		if len(eval.Lacks(q.o.Capabilities, requires)) == 0 {
			names = append(names, q.keys.queue(requires))
		}
	}
	slices.Sort(names)
	return names
}

// changed waits until the worker is to serve other queues than before, and returns
// them, or until ctx ends.
func (q *Queue) changed(ctx context.Context, before []string) []string {
	if len(q.o.Capabilities) == 0 {
		<-ctx.Done()
		return before
	}
	ticker := time.NewTicker(min(lookAround, q.o.Lease/4))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return before
		case <-ticker.C:
		}
		if now := q.served(ctx, before); !slices.Equal(now, before) {
			return now
		}
	}
}

// server makes a server of asynq for queues, which all count the same.
func (q *Queue) server(ctx context.Context, slots int, queues []string, log *slog.Logger) *asynq.Server {
	weights := map[string]int{}
	for _, name := range queues {
		weights[name] = 1
	}
	return asynq.NewServerFromRedisClient(q.client, asynq.Config{
		Concurrency:              slots,
		Queues:                   weights,
		TaskCheckInterval:        q.o.CheckInterval,
		DelayedTaskCheckInterval: q.o.ForwardInterval,
		JanitorInterval:          time.Hour, // nothing is retained
		// It ends when the handlers have, and they bound themselves.
		ShutdownTimeout: timeout,
		IsFailure:       func(err error) bool { return later(err) == nil },
		RetryDelayFunc:  q.delay,
		BaseContext:     func() context.Context { return context.WithoutCancel(ctx) },
		Logger:          asynqLog{log},
		LogLevel:        asynq.WarnLevel,
	})
}

// A desk takes deliveries from asynq and hands them to the handler.
type desk struct {
	q    *Queue
	h    jobs.Handler
	log  *slog.Logger
	busy sync.WaitGroup
	// free bounds the handlers. asynq does too, but when it loses its lease on a
	// task, after half a minute without Redis, it takes the slot for free while the
	// handler is still at work.
	free chan struct{}
}

// ProcessTask implements [asynq.Handler].
func (d *desk) ProcessTask(ctx context.Context, t *asynq.Task) error {
	d.busy.Add(1)
	defer d.busy.Done()
	var j jobs.Job
	err := json.Unmarshal(t.Payload(), &j)
	j.Format = max(j.Format, formatOf(t.Payload()))
	j.Traceparent = t.Headers()[traceparent]
	// One of a newer format is the handler's to refuse, whatever it looks like.
	if j.Format <= jobs.Format && (err != nil || j.Run == "" || j.Attempt < 1 || j.Ordinal < 0) {
		d.log.ErrorContext(ctx, "dropping a delivery that is no job", "bytes", len(t.Payload()))
		return nil
	}
	wait := time.NewTimer(min(d.q.o.Lease/4, 5*time.Second))
	defer wait.Stop()
	select {
	case d.free <- struct{}{}:
		defer func() { <-d.free }()
	case <-wait.C:
		return &jobs.LaterError{After: time.Second}
	}
	// Neither asynq's loss of a lease nor the end of Serve interrupts the work.
	err = d.handle(context.WithoutCancel(ctx), j)
	if err == nil {
		return nil
	}
	if l := later(err); l != nil {
		return l
	}
	d.log.WarnContext(ctx, "delivery failed", "job", j.Key(), "error", err)
	return errHandler
}

// formatOf reads the format of a job of which nothing else may be readable.
func formatOf(payload []byte) int {
	var j struct {
		Format int `json:"format"`
	}
	_ = json.Unmarshal(payload, &j)
	return j.Format
}

// handle turns a panic into a failure.
func (d *desk) handle(ctx context.Context, j jobs.Job) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return d.h(ctx, j)
}

// later finds the wish for a later delivery in an error.
func later(err error) *jobs.LaterError {
	l, _ := errors.AsType[*jobs.LaterError](err)
	return l
}

// delay is when asynq delivers again, given how often that failed before.
func (q *Queue) delay(failures int, err error, _ *asynq.Task) time.Duration {
	if l := later(err); l != nil {
		return wholeSecond(time.Now(), l.After)
	}
	if errors.Is(err, asynq.ErrLeaseExpired) {
		return time.Second // the worker died, not the work
	}
	d := q.o.Backoff << min(failures, 6)
	d = min(d, 60*q.o.Backoff)
	return d/2 + rand.N(d/2+1)
}

// wholeSecond lengthens a delay to the next full second. asynq cuts times to
// seconds, which would deliver up to a second too early.
func wholeSecond(now time.Time, d time.Duration) time.Duration {
	at := now.Add(d)
	if whole := at.Truncate(time.Second); whole.Before(at) {
		at = whole.Add(time.Second)
	}
	return at.Sub(now)
}

// asynqLog hands what asynq has to say to our logger.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) say(level slog.Level, args []any) {
	l.log.Log(context.Background(), level, "asynq", "message", fmt.Sprint(args...))
}

// Debug implements [asynq.Logger].
func (l asynqLog) Debug(args ...any) { l.say(slog.LevelDebug, args) }

// Info implements [asynq.Logger].
func (l asynqLog) Info(args ...any) { l.say(slog.LevelDebug, args) }

// Warn implements [asynq.Logger].
func (l asynqLog) Warn(args ...any) { l.say(slog.LevelWarn, args) }

// Error implements [asynq.Logger].
func (l asynqLog) Error(args ...any) { l.say(slog.LevelWarn, args) }

// Fatal implements [asynq.Logger]. asynq never calls it, and it does not exit.
func (l asynqLog) Fatal(args ...any) { l.say(slog.LevelError, args) }
