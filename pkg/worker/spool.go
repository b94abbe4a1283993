package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// A Spool keeps records until they are stored; [spool.Spool] is one.
type Spool interface {
	// Keep keeps a record: on the disk, or after an error in memory.
	Keep(r eval.Record) error
	// Flush writes to the disk what it has refused, and Held is how many records
	// that are.
	Flush() error
	Held() int
	// Kept lists what is kept, without what it says; Load brings one record.
	Kept() []eval.Record
	Load(uid string) (eval.Record, error)
	// Remove lets go of a record.
	Remove(uid string) error
}

// secure puts a record where it outlives this process, before it is handed on.
func (w *Worker) secure(ctx context.Context, r eval.Record) {
	if w.opts.Spool == nil {
		return
	}
	if err := w.opts.Spool.Keep(r); err != nil {
		w.log.ErrorContext(ctx, "the spool does not take a record; it is kept in memory, and no trial is taken until the disk has it or it is stored", "error", err)
	}
}

// clogged says whether records are in memory only, so that no more may be made.
func (w *Worker) clogged() bool { return w.opts.Spool != nil && w.opts.Spool.Held() > 0 }

// follow lets go of records that are stored, and commits again those that the
// queue has forgotten, until ctx ends. It goes beside the beats: what a dead worker
// has left may be much, and must not keep claims from being renewed.
func (w *Worker) follow(ctx context.Context) error {
	if w.opts.Spool == nil {
		return nil
	}
	ticker := time.NewTicker(w.opts.Beat)
	defer ticker.Stop()
	for {
		w.followOnce(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (w *Worker) followOnce(ctx context.Context) {
	if err := w.flush(ctx); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "write records to the spool", "error", err)
	}
	if err := w.offer(ctx); err != nil && ctx.Err() == nil {
		w.log.WarnContext(ctx, "offer records of the spool", "error", err)
	}
}

func (w *Worker) flush(ctx context.Context) error {
	if !w.clogged() {
		return nil
	}
	err := w.opts.Spool.Flush()
	if err == nil {
		w.log.InfoContext(ctx, "the spool has all records; trials are taken again")
	}
	return err
}

// offer asks how far the records have come that this worker keeps.
func (w *Worker) offer(ctx context.Context) error {
	cs := w.kept()
	if len(cs) == 0 {
		return nil
	}
	passages, err := w.opts.Place.Passages(ctx, cs)
	if err != nil {
		return err
	}
	var stored []jobs.Claim
	for i, c := range cs {
		switch passages[i] {
		case jobs.Stored:
			if err := w.opts.Spool.Remove(c.UID); err != nil {
				return err // it is asked about again, so nothing is forgotten
			}
			stored = append(stored, c)
		case jobs.Unheard:
			r, err := w.opts.Spool.Load(c.UID)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				w.log.ErrorContext(ctx, "a record is kept that cannot be read", "error", err)
				continue
			}
			if err := w.opts.Sink.Commit(ctx, c, r); err != nil {
				return fmt.Errorf("commit %s again: %w", c.Job.Key(), err)
			}
		case jobs.Underway:
		}
	}
	if len(stored) == 0 {
		return nil
	}
	return w.opts.Place.Discard(ctx, stored)
}

// kept are the claims of the records in the spool, but for those that their own
// attempts are committing right now.
func (w *Worker) kept() []jobs.Claim {
	rs := w.opts.Spool.Kept()
	w.mu.Lock()
	defer w.mu.Unlock()
	var cs []jobs.Claim
	for _, r := range rs {
		if _, busy := w.tasks[r.UID]; !busy {
			cs = append(cs, jobs.Claim{Job: jobs.Job{Run: r.Run, Ordinal: r.Ordinal, Attempt: r.N}, UID: r.UID, Worker: w.opts.ID})
		}
	}
	return cs
}

// lastLook is how long a worker that has drained waits for its records to be
// stored. They are in the queue and on the disk, so nothing is lost without it; but
// the disk may go with a container.
const lastLook = 5 * time.Second

// settle waits for the records of a drained worker to be stored, for a while and
// no longer than the grace.
func (w *Worker) settle(ctx context.Context) {
	if w.opts.Spool == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastLook)
	defer cancel()
	for len(w.opts.Spool.Kept()) > 0 {
		select {
		case <-w.hurry:
			cancel()
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
			w.followOnce(ctx)
			continue
		}
		break
	}
	if left := len(w.opts.Spool.Kept()); left > 0 {
		w.log.WarnContext(ctx, "records are not stored yet; they stay in the spool, where the next worker finds them",
			"records", left, "in_memory_only", w.opts.Spool.Held())
	}
}
