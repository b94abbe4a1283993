package scheduler

import (
	"context"
	"fmt"
)

// Park takes back what of a run, its grading and its confirmation waits in the queue, after the
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
	for _, with := range r.family() {
		delete(s.runs, with.run.ID)
	}
	s.mu.Unlock()
	for _, r := range r.family() {
		if err := s.reload(ctx, r); err != nil {
			return fmt.Errorf("park run %s: %w", r.run.ID, err)
		}
		idle, err := s.idle(ctx, r)
		if err != nil {
			return fmt.Errorf("park run %s: %w", r.run.ID, err)
		}
		if err := s.store.TakeBack(ctx, r.run.ID, marks(idle)); err != nil {
			return fmt.Errorf("park run %s: %w", r.run.ID, err)
		}
	}
	return nil
}
