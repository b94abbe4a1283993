package scheduler

import (
	"context"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// serveEvery is how often a service looks for runs that came.
const serveEvery = time.Second

// again is when it tries once more to take up a run that it could not.
const again = 5 * time.Second

// Serve takes up the runs that the store has for a service, those that are there and
// those that come, and lets go of those that are done, until ctx ends. ended, when it
// is not nil, is told what each came to. Run has to move them.
func (s *Scheduler) Serve(ctx context.Context, ended func(eval.Summary)) error {
	later := map[string]time.Time{}
	ticker := time.NewTicker(serveEvery)
	defer ticker.Stop()
	for {
		s.letGo(ctx, ended)
		s.takeUp(ctx, later)
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// takeUp adopts what is new. What cannot be adopted now waits: its turn comes later,
// and it keeps nobody else from theirs.
func (s *Scheduler) takeUp(ctx context.Context, later map[string]time.Time) {
	ids, err := s.store.ServiceRuns(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "look for runs", "error", err)
	}
	for _, id := range ids {
		if s.has(id) || time.Now().Before(later[id]) {
			continue
		}
		err := s.Adopt(ctx, id, false)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.log.ErrorContext(ctx, "take up a run", "run", id, "error", err)
			later[id] = time.Now().Add(again)
		default:
			s.log.InfoContext(ctx, "took up a run", "run", id)
			delete(later, id)
		}
	}
}

func (s *Scheduler) has(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run] != nil
}

// letGo drops the copies of runs that are over, with those of their gradings.
func (s *Scheduler) letGo(ctx context.Context, ended func(eval.Summary)) {
	s.mu.Lock()
	var over []*running
	for id, r := range s.runs {
		if r.over() && r.run.Parent == "" && r.run.Confirms == "" { // it does not change any more
			over = append(over, r)
			delete(s.runs, id)
			for _, with := range r.family() {
				delete(s.runs, with.run.ID)
			}
		}
	}
	s.mu.Unlock()
	for _, r := range over {
		switch {
		case r.err != nil:
			s.log.WarnContext(ctx, "let go of a run", "run", r.run.ID, "error", r.err)
		case ended != nil:
			ended(r.summary)
		}
	}
}
