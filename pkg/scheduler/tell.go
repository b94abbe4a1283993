package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// telling puts notices into the outbox together with the end of a run. One that is
// not stored with it could be lost.
type telling struct {
	Ender
	ended func(ctx context.Context, run eval.Run) ([]store.Notice, error)
}

// teller is what the run is ended with. That a grading has made numbers of a done
// run anew is no other end of it.
func (s *Scheduler) teller(run eval.Run) Ender {
	if s.opts.Ended == nil || run.Parent != "" || run.Confirms != "" {
		return s.store
	}
	return telling{s.store, s.opts.Ended}
}

// Finish stores the end of a run, with its notices.
func (t telling) Finish(ctx context.Context, r eval.Run, summary eval.Blob, _ ...store.Notice) error {
	notices, err := t.ended(ctx, r)
	if err != nil {
		return fmt.Errorf("find whom to tell: %w", err)
	}
	return t.Ender.Finish(ctx, r, summary, notices...)
}
