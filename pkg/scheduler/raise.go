package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Budgeter stores the caps of runs.
type Budgeter interface {
	blob.Store
	SetBudget(ctx context.Context, run string, b eval.Budget) error
	SetDayCap(ctx context.Context, run string, microUSD int64) error
}

// Raise gives a run that is taken up again other caps, its own and that of the
// day, if they can be kept: a [*BudgetError] says why not. What the run has taken
// already counts. how is the grading that is to come; nil, if trials are to run.
// Caps of a grading are set for its run.
func Raise(ctx context.Context, s Budgeter, run eval.Run, b eval.Budget, dayMicroUSD int64, how *eval.Grading) error {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return fmt.Errorf("read the snapshot of run %s: %w", run.ID, err)
	}
	if how != nil {
		snap.Grading = how
	}
	run.Budget, run.DayMicroUSD = b, dayMicroUSD
	if how == nil || how.By == "" { // nobody pays a person
		if err := bearable(ctx, s, run, snap); err != nil {
			return err
		}
	}
	id := run.ID
	if run.Parent != "" {
		id = run.Parent
	}
	if err := s.SetBudget(ctx, id, b); err != nil {
		return fmt.Errorf("store the budget of run %s: %w", id, err)
	}
	if err := s.SetDayCap(ctx, id, dayMicroUSD); err != nil {
		return fmt.Errorf("store the day's cap of run %s: %w", id, err)
	}
	return nil
}

// bearable checks the caps of a run or a grading that is stored.
func bearable(ctx context.Context, s blob.Store, run eval.Run, snap eval.Snapshot) error {
	cases, err := casesOf(ctx, s, snap)
	if err != nil {
		return err
	}
	return checkBudget(run, snap, cases)
}

// casesOf reads the cases of a snapshot, in its order.
func casesOf(ctx context.Context, s blob.Store, snap eval.Snapshot) ([]eval.Case, error) {
	cases := make([]eval.Case, len(snap.Cases))
	for i, ref := range snap.Cases {
		if err := blob.LoadJSON(ctx, s, ref.Blob, &cases[i]); err != nil {
			return nil, fmt.Errorf("read case %s: %w", ref.ID, err)
		}
	}
	return cases, nil
}
