package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// audit renews the copy of a run from the store and compares it with what the
// queue knows. An attempt that the queue has lost is put back; one whose worker
// is gone is recorded as lost, so that the next attempt follows.
func (s *Scheduler) audit(ctx context.Context, r *running) error {
	if err := s.reload(ctx, r); err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	out := r.dispatched()
	if len(out) == 0 {
		return nil
	}
	standings, err := r.queue.Audit(ctx, r.run.ID, r.jobs(out))
	if err != nil {
		return away("audit", err)
	}
	var back []store.Trial
	var lost []eval.Record
	for i, st := range standings {
		switch st {
		case jobs.Missing:
			back = append(back, out[i])
		case jobs.Expired:
			record := lostRecord(out[i])
			record.TraceID = s.traceOf(r, out[i])
			lost = append(lost, record)
		case jobs.Queued, jobs.Claimed, jobs.Committed:
		}
	}
	if len(lost) > 0 {
		if err := s.recorder.Put(ctx, lost...); err != nil {
			return fmt.Errorf("audit: record lost attempts: %w", err)
		}
	}
	// A missing attempt may have been claimed before the queue forgot it. It
	// therefore gets a new number, as a lost one does, but no loss is charged:
	// the queue is at fault, not the trial.
	for _, t := range back {
		if err := s.store.Next(ctx, r.run.ID, t.Ordinal, t.Attempt, time.Now()); err != nil {
			return fmt.Errorf("audit: put trial %d back: %w", t.Ordinal, err)
		}
	}
	if len(back) > 0 {
		if err := s.reload(ctx, r); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	return nil
}

// busy says whether a worker holds an attempt, or its record is on the way.
func (s *Scheduler) busy(ctx context.Context, r *running, out []store.Trial) (bool, error) {
	if len(out) == 0 {
		return false, nil
	}
	standings, err := r.queue.Audit(ctx, r.run.ID, r.jobs(out))
	if err != nil {
		return false, away("audit", err)
	}
	return slices.ContainsFunc(standings, func(st jobs.Standing) bool {
		return st == jobs.Claimed || st == jobs.Committed
	}), nil
}

// lostRecord is what the scheduler records for an attempt whose worker is gone.
// Its uid follows from the attempt, so that recording it twice is the same as
// once.
func lostRecord(t store.Trial) eval.Record {
	now := time.Now()
	j := jobs.Job{Run: t.Run, Ordinal: t.Ordinal, Attempt: t.Attempt}
	return eval.Record{
		UID: "lost:" + j.Key(), Run: t.Run, Ordinal: t.Ordinal, N: t.Attempt,
		Outcome: eval.AttemptLost, Started: now, Ended: now,
		Result: eval.Result{
			Verdict: eval.Error, Reason: eval.ReasonWorkerLost,
			Message: "the worker that held this trial stopped beating",
			Stop:    eval.StopNotStarted,
		},
	}
}
