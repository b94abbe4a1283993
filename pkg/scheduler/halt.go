package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// halt keeps workers from beginning anything more of a run, and takes back what
// waits in the queue. What has begun comes to its end.
func (s *Scheduler) halt(ctx context.Context, r *running) error {
	if !r.halted {
		if err := r.queue.Control(ctx, r.run.ID, eval.ControlPause); err != nil {
			return away("halt", err)
		}
		r.halted = true
	}
	idle, err := s.idle(ctx, r)
	if err != nil || len(idle) == 0 {
		return err
	}
	if err := r.queue.Delete(ctx, r.jobs(idle)); err != nil {
		return away("empty the queue", err)
	}
	if err := s.store.TakeBack(ctx, r.run.ID, marks(idle)); err != nil {
		return fmt.Errorf("take back what nobody has begun: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range idle {
		if now, still := r.outstanding[t.Ordinal]; still && now.Attempt == t.Attempt && !now.Reported {
			now.State, now.Hold = store.Waiting, eval.Amount{}
			r.outstanding[t.Ordinal] = now
		}
	}
	return nil
}

// idle lists the trials that wait in the queue, and that no worker has begun.
func (s *Scheduler) idle(ctx context.Context, r *running) ([]store.Trial, error) {
	out := r.dispatched()
	if len(out) == 0 {
		return nil, nil
	}
	standings, err := r.queue.Audit(ctx, r.run.ID, r.jobs(out))
	if err != nil {
		return nil, away("look for what nobody has begun", err)
	}
	var idle []store.Trial
	for i, st := range standings {
		if st == jobs.Queued {
			idle = append(idle, out[i])
		}
	}
	return idle, nil
}
