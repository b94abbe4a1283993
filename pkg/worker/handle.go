package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// handle carries out one delivery of the queue.
func (w *Worker) handle(ctx context.Context, j jobs.Job) error {
	if j.Format > jobs.Format {
		w.outdate(j.Format)
		return &jobs.LaterError{After: time.Second} // to another worker, unclaimed
	}
	if w.clogged() {
		return &jobs.LaterError{After: 2 * time.Second}
	}
	ctx = telemetry.Arrive(ctx, j.Traceparent)
	claim := jobs.Claim{Job: j, UID: ulid.Make().String(), Worker: w.opts.ID}
	grant, err := w.opts.Place.Claim(ctx, claim)
	if err != nil {
		return fmt.Errorf("claim %s: %w", j.Key(), err)
	}
	switch grant {
	case jobs.Granted:
	case jobs.Held:
		return &jobs.LaterError{After: 5 * time.Second}
	case jobs.Refused, jobs.Dropped:
		return nil
	}

	t := &active{claim: claim, at: &place{purse: meter.NewPurse(eval.Amount{})}}
	d := w.delivery(t)
	ctx = telemetry.Logged(ctx, d)
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	t.cancel = cancel
	w.begin(t)
	defer w.end(t)
	work, span := w.opts.Tracer.Process(work, d)
	record, later, err := w.attempt(work, t, span)

	// What nobody counts is given back as if it had not been.
	returns := func(why string) { w.opts.Tracer.Returned(span, why, t.at.redactor().String) }
	commits := func(r eval.Record) error {
		r.TraceID = w.opts.Tracer.Processed(span, r, t.at.redactor().String)
		return w.measure(ctx, t.at, r, func() error { return w.commit(ctx, claim, r) })
	}
	spent := record.CostMicroUSD > 0 || claim.Job.Hold.Tokens > 0 && record.Tokens > 0
	switch cause := context.Cause(work); {
	case err != nil:
		// What the trial is cannot be read from here, now. That is no attempt at it.
		w.log.WarnContext(ctx, "give back", "error", err)
		returns("unreadable")
		return errors.Join(w.giveBack(ctx, claim), &jobs.LaterError{After: 2 * time.Second})
	case cause != nil && spent:
		// Whatever the attempt came to, it has cost something.
		return commits(returned(record, cause))
	case later > 0:
		// Not all at once, when that is over.
		returns("limits")
		after := later + rand.N(min(later/4, 10*time.Second)+time.Millisecond)
		return errors.Join(w.giveBack(ctx, claim), &jobs.LaterError{After: after})
	case errors.Is(cause, errSuperseded):
		returns("superseded")
		return nil
	case errors.Is(cause, errCancelled):
		returns("cancelled")
		return w.giveBack(ctx, claim)
	case errors.Is(cause, errDrained):
		returns("drained")
		if err := w.giveBack(ctx, claim); err != nil {
			return err
		}
		return &jobs.LaterError{After: time.Second}
	}
	return commits(record)
}

// delivery is what traces are told of a claim.
func (w *Worker) delivery(t *active) telemetry.Delivery {
	c := t.claim
	return telemetry.Delivery{
		Attempt: telemetry.Attempt{Run: c.Job.Run, Ordinal: c.Job.Ordinal, N: c.Job.Attempt},
		Lane:    w.opts.Lane, UID: c.UID, Worker: w.opts.ID,
		Redact: func(text string) string { return t.at.redactor().String(text) },
	}
}

func (w *Worker) giveBack(ctx context.Context, c jobs.Claim) error {
	if err := w.opts.Place.Return(ctx, c); err != nil {
		return fmt.Errorf("give back %s: %w", c.Job.Key(), err)
	}
	return nil
}

// commit hands the record on, and keeps at it while the way is blocked: the
// work is done and, with models, paid. The claim goes on being renewed. Only the
// end of a drain's grace gives up: then the next worker finds the record in the
// spool, or the next attempt repeats the work.
func (w *Worker) commit(ctx context.Context, c jobs.Claim, r eval.Record) error {
	w.secure(ctx, r)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err := w.opts.Sink.Commit(ctx, c, r)
		if err == nil {
			return nil
		}
		select {
		case <-w.hurry:
			return fmt.Errorf("commit %s: %w", c.Job.Key(), err)
		case <-time.After(wait):
		}
		w.log.WarnContext(ctx, "commit again", "error", err)
	}
}

// attempt makes the record of an attempt, whatever happens. The error says that
// there was none, because the trial could not be read.
// Later is set when it is to be given back until then: it has not spent anything.
func (w *Worker) attempt(ctx context.Context, t *active, span telemetry.Span) (record eval.Record, later time.Duration, err error) {
	claim, started := t.claim, time.Now()
	r := eval.Record{
		UID: claim.UID, Run: claim.Job.Run, Ordinal: claim.Job.Ordinal, N: claim.Job.Attempt,
		Worker: w.opts.ID, Started: started.UTC(),
	}
	later, err = w.carryOut(ctx, t, span, &r)
	if err != nil {
		return eval.Record{}, 0, err
	}
	r.Ended = time.Now().UTC()
	if sent := claim.Job.Dispatched; sent > 0 {
		// Two clocks: on a farm they may differ by more than the wait.
		r.Result.Times.QueueMS = float64(max(0, started.UnixMilli()-sent))
	}
	r.Result.Times.TotalMS = float64(time.Since(started).Microseconds()) / 1000
	return r, later, nil
}

// returned is the record of an attempt that was stopped after it had spent
// something.
func returned(r eval.Record, cause error) eval.Record {
	r.Outcome, r.Blobs = eval.AttemptReturned, nil
	r.Result = eval.Result{
		Verdict: eval.Unfinished, Reason: eval.ReasonCancelled, Message: cause.Error(), Stop: eval.StopCancelled,
		Usage: r.Result.Usage, UserUsage: r.Result.UserUsage, JudgeUsage: r.Result.JudgeUsage, Times: r.Result.Times,
	}
	return r
}

// carryOut fills in the outcome, the result and the blobs. A panic of ours is a
// failure of the farm, never the end of the worker.
func (w *Worker) carryOut(ctx context.Context, t *active, span telemetry.Span, r *eval.Record) (later time.Duration, err error) {
	claim := t.claim
	defer func() {
		if p := recover(); p != nil {
			message := t.at.redactor().String(fmt.Sprintf("panic: %v", p))
			w.log.ErrorContext(ctx, "panic in a trial", "panic", message)
			*r, err = failed(*r, eval.ReasonFarm, message), nil
		}
		w.bill(ctx, t.at, r)
	}()
	p, err := w.plans.get(ctx, claim.Job.Header)
	if err != nil {
		return 0, err
	}
	trial, c, err := p.trial(ctx, claim.Job)
	if err != nil {
		return 0, err
	}
	if w.opts.Began != nil {
		w.opts.Began(claim.UID, trial)
	}
	if w.opts.Ended != nil {
		defer w.opts.Ended(claim.UID)
	}
	span.Of(trial, p.judged())
	at := w.place(p, trial, c, claim)
	t.at = at
	defer w.board.wipe(claim.UID)
	switch {
	case p.snap.Grading != nil:
		return w.judge(ctx, at, claim.Job.Subject, r)
	case c.Kind == eval.KindAgent:
		return w.converse(ctx, at, r), nil
	default:
		w.solve(ctx, at, r)
		return 0, nil
	}
}

// bill puts into the record what the attempt has spent, however it ended.
func (w *Worker) bill(ctx context.Context, at *place, r *eval.Record) {
	spent := at.purse.Spent()
	r.CostMicroUSD, r.Tokens = spent.MicroUSD, spent.Tokens
	cost := at.purse.Cost()
	if at.p != nil && at.p.snap.Grading != nil {
		r.Result.JudgeCostMicroUSD = cost
	} else {
		r.Result.CostMicroUSD = cost
	}
	r.Result.UnansweredMicroUSD = at.purse.Unanswered()
	if over := at.purse.Overcharged(); over > 0 {
		w.log.ErrorContext(ctx, "a call cost more than its price allows; the price list is wrong, and caps are not safe",
			"over_microusd", over)
		r.Result.Findings = append(r.Result.Findings, eval.Finding{
			Code: "overcharged", Detail: fmt.Sprintf("a call cost %d micro-dollars more than its price allows", over), Count: 1,
		})
	}
}

// failed turns a record into that of a failure of the farm.
func failed(r eval.Record, reason eval.Reason, message string) eval.Record {
	r.Outcome = eval.AttemptFailed
	r.Result = eval.Result{Verdict: eval.Error, Reason: reason, Message: message, Stop: eval.StopNotStarted}
	return r
}
