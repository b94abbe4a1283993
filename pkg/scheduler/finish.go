package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// finish makes the summary of a run from the store, stores it, and lets those
// know who wait for it.
func (s *Scheduler) finish(ctx context.Context, r *running, outcome eval.RunOutcome) error {
	r.run.Outcome = outcome
	ending := end
	if r.run.Parent != "" {
		ending = endGrading
	}
	run, summary, err := ending(ctx, s.teller(r.run), r.run, r.snapshot)
	if err != nil {
		return err
	}
	r.mu.Lock() // the aggregator may hear of a record twice
	r.run = run
	r.mu.Unlock()
	// Before anybody is told: who waits may end the process.
	s.tellRun(ctx, r)
	forgetting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := r.queue.Forget(forgetting, r.run.ID); err != nil {
		// The verdict stands; what the queue still remembers expires by itself.
		s.log.WarnContext(ctx, "forget run in the queue", "run", r.run.ID, "error", err)
	}
	r.summary = summary
	s.count(ctx, r)
	close(r.done)
	return nil
}

// An Ender is what ending a run needs of the store.
type Ender interface {
	Source
	SetState(ctx context.Context, run string, s eval.RunState) error
	Finish(ctx context.Context, r eval.Run, summary eval.Blob, notices ...store.Notice) error
}

// End finishes a run that nobody carries out, with what is stored.
func End(ctx context.Context, s Ender, run eval.Run, outcome eval.RunOutcome) (eval.Summary, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return eval.Summary{}, fmt.Errorf("load snapshot: %w", err)
	}
	run.Outcome = outcome
	ending := end
	if run.Parent != "" {
		ending = endGrading
	}
	if err := endConfirmation(ctx, s, run, snap); err != nil {
		return eval.Summary{}, err
	}
	_, summary, err := ending(ctx, s, run, snap)
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
	run.State, run.Summary = eval.RunFinalizing, packed.SHA256
	run.Verdict, run.ExitCode = summary.Verdict, summary.ExitCode
	if err := s.Finish(ctx, run, packed); err != nil {
		return run, summary, fmt.Errorf("store summary: %w", err)
	}
	run.State = eval.RunDone
	return run, summary, nil
}

// EndGrading finishes a grading that nobody else carries out, whose trials all
// have their results, and returns the run's new summary.
func EndGrading(ctx context.Context, s Ender, g eval.Run) (eval.Summary, error) {
	return End(ctx, s, g, eval.OutcomeComplete)
}

// endGrading stores the end of a grading whose outcome is set, and makes the
// summary of its run anew if that is done already: the numbers are others now.
// The grading is done last, so that one whose end was cut short can be resumed.
func endGrading(ctx context.Context, s Ender, g eval.Run, snap eval.Snapshot) (eval.Run, eval.Summary, error) {
	if g.Outcome == eval.OutcomeComplete {
		if err := s.SetState(ctx, g.ID, eval.RunFinalizing); err != nil {
			return g, eval.Summary{}, fmt.Errorf("finalize: %w", err)
		}
	}
	g.Finished = time.Now().UTC()
	summary, err := regrade(ctx, s, g, snap)
	if err != nil {
		return g, summary, err
	}
	packed := blob.Pack(eval.Encode(summary))
	g.State, g.Summary = eval.RunDone, packed.SHA256
	if err := s.Finish(ctx, g, packed); err != nil {
		return g, summary, fmt.Errorf("store the end of grading %s: %w", g.ID, err)
	}
	return g, summary, nil
}

// regrade makes and stores the summary of a done run with what its current
// grading says. For one that goes on, it is the bare end of the grading.
func regrade(ctx context.Context, s Ender, g eval.Run, snap eval.Snapshot) (eval.Summary, error) {
	run, err := s.Run(ctx, g.Parent)
	if err != nil {
		return eval.Summary{}, fmt.Errorf("read run %s: %w", g.Parent, err)
	}
	if run.State != eval.RunDone {
		return eval.Summary{
			Run: g.ID, Suite: g.Suite, SuiteHash: g.SuiteHash, Outcome: g.Outcome, Version: snap.Version, Started: g.Created, Finished: g.Finished,
		}, nil
	}
	summary, err := summarize(ctx, s, run, snap)
	if err != nil {
		return summary, fmt.Errorf("summarize run %s: %w", run.ID, err)
	}
	run.Verdict, run.ExitCode = summary.Verdict, summary.ExitCode
	if err := s.Finish(ctx, run, blob.Pack(eval.Encode(summary))); err != nil {
		return summary, fmt.Errorf("store the summary of run %s: %w", run.ID, err)
	}
	return summary, nil
}

// A Source is what a summary is made from.
type Source interface {
	ReviewSource
	Run(ctx context.Context, id string) (eval.Run, error)
	Ledger(ctx context.Context, run string) (eval.Ledger, error)
}

func summarize(ctx context.Context, s Source, run eval.Run, snap eval.Snapshot) (eval.Summary, error) {
	summary, err := numbers(ctx, s, run, snap)
	if err != nil {
		return eval.Summary{}, err
	}
	each := func(fn func(store.Row) error) error { return s.EachResult(ctx, run.ID, fn) }
	if summary.Fingerprint, err = aggregate.Fingerprint(snap, each); err != nil {
		return eval.Summary{}, err
	}
	arms, err := Arms(ctx, s, run, snap)
	if err != nil {
		return eval.Summary{}, err
	}
	if summary.Confirmation, _, err = confirmed(ctx, s, run, snap); err != nil {
		return eval.Summary{}, err
	}
	if snap.Agreement, err = Agreement(ctx, s, run, snap); err != nil {
		return eval.Summary{}, err
	}
	gate.Decide(&summary, snap, arms)
	return summary, nil
}

// numbers are a summary without what the gate says of it. They speak of the plan up to
// the look at which the run stopped.
func numbers(ctx context.Context, s Source, run eval.Run, snap eval.Snapshot) (eval.Summary, error) {
	ledger, err := s.Ledger(ctx, run.ID)
	if err != nil {
		return eval.Summary{}, err
	}
	snap.Plan = snap.Plan.Until(run.Rounds)
	summary, err := aggregate.Summarize(run, snap, func(fn func(store.Row) error) error { return s.EachResult(ctx, run.ID, fn) }, ledger)
	if err != nil {
		return eval.Summary{}, err
	}
	summary.Sequential = sequential(run, snap.Plan, summary.Coverage)
	return summary, nil
}

// An armory is where arms are found.
type armory interface {
	blob.Store
	Run(ctx context.Context, id string) (eval.Run, error)
}

// Arms loads what the gate of a run compares with: the arms that its snapshot names, and
// the fresh repeats of its suspects, if they were tried again.
func Arms(ctx context.Context, s armory, run eval.Run, snap eval.Snapshot) (arms gate.Arms, err error) {
	if snap.Baseline == nil {
		return arms, nil
	}
	if _, arms.Fresh, err = confirmed(ctx, s, run, snap); err != nil {
		return arms, err
	}
	for _, of := range []struct {
		blob string
		arm  **eval.Arm
	}{{snap.Baseline.Arm, &arms.Base}, {snap.Baseline.History, &arms.History}} {
		if of.blob == "" {
			continue
		}
		*of.arm = new(eval.Arm)
		if err := blob.LoadJSON(ctx, s, of.blob, *of.arm); err != nil {
			return arms, fmt.Errorf("load baseline %s: %w", snap.Baseline.Name, err)
		}
	}
	return arms, nil
}

// Summarize makes the summary of a run as it stands now, done or not.
func Summarize(ctx context.Context, s Source, run eval.Run) (eval.Summary, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return eval.Summary{}, fmt.Errorf("load snapshot of run %s: %w", run.ID, err)
	}
	return summarize(ctx, s, run, snap)
}
