package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A RefusedError says why a run does not do what somebody asked of it.
type RefusedError struct {
	Message string
	// Hint says what to do; it may be empty.
	Hint string
}

func (e *RefusedError) Error() string { return e.Message }

func refuse(hint, format string, args ...any) error {
	return &RefusedError{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// A Controller stores what people want of runs.
type Controller interface {
	SetControl(ctx context.Context, run string, c eval.Control) error
}

// Cancel asks for the end of a run.
func Cancel(ctx context.Context, s Controller, run eval.Run) error {
	switch {
	case run.State == eval.RunDone:
		return refuse("", "run %s is done already: %s", run.ID, run.Outcome)
	case run.Confirms != "":
		return refuse("evalfarm cancel "+run.Confirms, "%s confirms run %s, and is cancelled with it", run.ID, run.Confirms)
	}
	if err := s.SetControl(ctx, run.ID, eval.ControlCancel); err != nil {
		return fmt.Errorf("cancel run %s: %w", run.ID, err)
	}
	return nil
}

// Pausable says why a run cannot be paused.
func Pausable(run eval.Run) error {
	switch {
	case run.Confirms != "":
		return refuse("evalfarm pause "+run.Confirms, "%s confirms run %s, and is paused with it", run.ID, run.Confirms)
	case run.Parent != "":
		return refuse("evalfarm pause "+run.Parent, "%s is a grading; it is paused with its run", run.ID)
	case run.State == eval.RunDone:
		return refuse("", "run %s is done already: %s", run.ID, run.Outcome)
	case run.Control == eval.ControlCancel:
		return refuse("", "run %s is being cancelled", run.ID)
	}
	return nil
}

// Pause asks that a run begins nothing new.
func Pause(ctx context.Context, s Controller, run eval.Run) error {
	if err := Pausable(run); err != nil {
		return err
	}
	if err := s.SetControl(ctx, run.ID, eval.ControlPause); err != nil {
		return fmt.Errorf("pause run %s: %w", run.ID, err)
	}
	return nil
}

// A Resumer finds what there is to go on with.
type Resumer interface {
	Controller
	Run(ctx context.Context, id string) (eval.Run, error)
	blob.Store
}

// Whole is what there is to go on with when a run is named: a grading that was
// interrupted, or else the run that it belongs to.
func Whole(ctx context.Context, s Resumer, run eval.Run) (eval.Run, error) {
	if run.Confirms != "" {
		return s.Run(ctx, run.Confirms)
	}
	if run.Parent == "" {
		return run, nil
	}
	of, err := s.Run(ctx, run.Parent)
	if err != nil || of.State != eval.RunDone || run.State == eval.RunDone {
		return of, err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return run, err
	}
	if g := snap.Grading; g != nil && g.By != "" {
		return run, refuse("start another one; what was scored before the last complete one counts", "the grading %s was %s's and cannot be gone on with", run.ID, g.By)
	}
	return run, nil
}

// Unpause takes back that a run was paused. Of one that is not, nothing changes.
func Unpause(ctx context.Context, s Controller, run eval.Run) error {
	if run.Control != eval.ControlPause || run.State == eval.RunDone {
		return nil
	}
	if err := s.SetControl(ctx, run.ID, eval.ControlRun); err != nil {
		return fmt.Errorf("resume run %s: %w", run.ID, err)
	}
	return nil
}

// A Retrier makes trials due again.
type Retrier interface {
	Budgeter
	Run(ctx context.Context, id string) (eval.Run, error)
	Counts(ctx context.Context, run string) (eval.VerdictCounts, error)
	Retry(ctx context.Context, run string, vs []eval.Verdict) (int, error)
}

// Retryable says why trials of a run cannot be tried again.
func Retryable(run eval.Run) error {
	switch {
	case run.Confirms != "":
		return refuse("evalfarm retry "+run.Confirms, "%s confirms run %s, and is tried again with it", run.ID, run.Confirms)
	case run.Parent != "":
		return refuse("evalfarm judge "+run.Parent, "%s is a grading, which is never changed", run.ID)
	case run.State == eval.RunFinalizing && run.Carrier == eval.CarrierService:
		return refuse("", "run %s is being ended right now; try again in a moment", run.ID)
	}
	return nil
}

// Due counts the trials that a retry would run, those of the run that confirms this one
// included. Unfinished ones are those of the plan without a result.
func Due(ctx context.Context, s Retrier, run eval.Run, vs []eval.Verdict) (int, error) {
	counts, err := s.Counts(ctx, run.ID)
	if err != nil {
		return 0, err
	}
	due := 0
	for _, v := range vs {
		due += counts.Of(v)
		if v == eval.Unfinished {
			due += run.Trials - counts.Total()
		}
	}
	if run.Confirms != "" {
		return due, nil
	}
	again, err := s.Run(ctx, run.Confirmation())
	if errors.Is(err, store.ErrNotFound) {
		return due, nil
	}
	if err != nil {
		return 0, err
	}
	more, err := Due(ctx, s, again, vs)
	return due + more, err
}

// Retry makes the trials of a run with one of the verdicts due again, and says how many
// they are, those that were never dispatched included.
func Retry(ctx context.Context, s Retrier, run eval.Run, vs []eval.Verdict) (int, eval.Run, error) {
	n, err := s.Retry(ctx, run.ID, vs)
	if err != nil {
		return 0, run, fmt.Errorf("retry run %s: %w", run.ID, err)
	}
	run, err = s.Run(ctx, run.ID)
	return n + run.Trials - run.Cursor, run, err
}

// TakeUp gives a run or a grading that is to go on the caps under which it does: more
// in place of its own, and the cap of the day that is in force now. What it has spent
// already counts, and the time of more counts from now. how is the grading that is to
// come; nil, if trials are to run.
func TakeUp(ctx context.Context, s Retrier, run eval.Run, more eval.Budget, dayMicroUSD int64, how *eval.Grading) (eval.Run, error) {
	of := run
	if run.Parent != "" {
		var err error
		if of, err = s.Run(ctx, run.Parent); err != nil {
			return run, err
		}
	}
	if more.Time > 0 { // the time of a run counts from its beginning
		more.Time += (time.Since(of.Created) + time.Second).Truncate(time.Second)
	}
	if err := Raise(ctx, s, run, of.Budget.Over(more), dayMicroUSD, how); err != nil {
		return run, err
	}
	return s.Run(ctx, run.ID)
}

// A Leaser knows who has a lease.
type Leaser interface {
	Lease(ctx context.Context, name string) (store.Lease, error)
}

// LeaderLease is the name of the lease of the scheduler that leads a farm.
const LeaderLease = "leader"

// Leader tells which scheduler leads the farm of a store; empty if none does.
func Leader(ctx context.Context, s Leaser) (string, error) {
	l, err := s.Lease(ctx, LeaderLease)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return l.Holder, err
}
