package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// finish makes the summary of a run from the store, stores it, and lets those
// know who wait for it.
func (s *Scheduler) finish(ctx context.Context, r *running, outcome eval.RunOutcome) error {
	r.run.Outcome = outcome
	run, summary, err := end(ctx, s.store, r.run, r.snapshot)
	if err != nil {
		return err
	}
	r.run = run
	// Before anybody is told: who waits may end the process.
	forgetting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := s.queue.Forget(forgetting, r.run.ID); err != nil {
		// The verdict stands; what the queue still remembers expires by itself.
		s.log.WarnContext(ctx, "forget run in the queue", "run", r.run.ID, "error", err)
	}
	r.summary = summary
	close(r.done)
	return nil
}

// An Ender is what ending a run needs of the store.
type Ender interface {
	Source
	blob.Store
	SetState(ctx context.Context, run string, s eval.RunState) error
	Finish(ctx context.Context, r eval.Run, summary eval.Blob) error
}

// End finishes a run that nobody carries out, with what is stored.
func End(ctx context.Context, s Ender, run eval.Run, outcome eval.RunOutcome) (eval.Summary, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return eval.Summary{}, fmt.Errorf("load snapshot: %w", err)
	}
	run.Outcome = outcome
	_, summary, err := end(ctx, s, run, snap)
	return summary, err
}

// end makes the summary of a run whose outcome is set and stores it.
func end(ctx context.Context, s Ender, run eval.Run, snap eval.Snapshot) (eval.Run, eval.Summary, error) {
	if err := s.SetState(ctx, run.ID, eval.RunFinalizing); err != nil {
		return run, eval.Summary{}, fmt.Errorf("finalize: %w", err)
	}
	run.Finished = time.Now().UTC()
	summary, err := summarize(ctx, s, run, snap)
	if err != nil {
		return run, summary, fmt.Errorf("summarize: %w", err)
	}
	packed := blob.Pack(eval.Encode(summary))
	run.State, run.Summary = eval.RunDone, packed.SHA256
	run.Verdict, run.ExitCode = summary.Verdict, summary.ExitCode
	if err := s.Finish(ctx, run, packed); err != nil {
		return run, summary, fmt.Errorf("store summary: %w", err)
	}
	return run, summary, nil
}

// A Source is what a summary is made from.
type Source interface {
	EachResult(ctx context.Context, run string, fn func(store.Row) error) error
	Spent(ctx context.Context, run string) (int64, error)
}

func summarize(ctx context.Context, s Source, run eval.Run, snap eval.Snapshot) (eval.Summary, error) {
	spent, err := s.Spent(ctx, run.ID)
	if err != nil {
		return eval.Summary{}, err
	}
	each := func(fn func(store.Row) error) error { return s.EachResult(ctx, run.ID, fn) }
	summary, err := aggregate.Summarize(run, snap, each, spent)
	if err != nil {
		return eval.Summary{}, err
	}
	if summary.Fingerprint, err = aggregate.Fingerprint(snap, each); err != nil {
		return eval.Summary{}, err
	}
	aggregate.Decide(&summary, snap)
	return summary, nil
}

// Summarize makes the summary of a run as it stands now, done or not.
func Summarize(ctx context.Context, s interface {
	Source
	blob.Store
}, run eval.Run,
) (eval.Summary, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return eval.Summary{}, fmt.Errorf("load snapshot of run %s: %w", run.ID, err)
	}
	return summarize(ctx, s, run, snap)
}
