package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Park takes back what of a run and its grading waits in the queue, after the
// workers of this process have drained: nobody has begun it, so that it is charged
// nothing when the run goes on. The run is moved no more until it is adopted again.
func (s *Scheduler) Park(ctx context.Context, id string) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	r := s.runs[id]
	s.mu.Unlock()
	if r == nil || r.over() {
		return nil
	}
	s.mu.Lock()
	delete(s.runs, id)
	if r.judges != nil {
		delete(s.runs, r.judges.run.ID)
	}
	s.mu.Unlock()
	for _, r := range []*running{r, r.judges} {
		if r == nil {
			continue
		}
		if err := s.reload(ctx, r); err != nil {
			return fmt.Errorf("park run %s: %w", r.run.ID, err)
		}
		out := r.dispatched()
		standings, err := r.queue.Audit(ctx, r.run.ID, r.jobs(out))
		if err != nil {
			return away("park run "+r.run.ID, err)
		}
		var idle []store.Trial
		for i, st := range standings {
			if st == jobs.Queued {
				idle = append(idle, out[i])
			}
		}
		if err := s.store.TakeBack(ctx, r.run.ID, marks(idle)); err != nil {
			return fmt.Errorf("park run %s: %w", r.run.ID, err)
		}
	}
	return nil
}
