package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Budgeter stores the budgets of runs.
type Budgeter interface {
	blob.Store
	SetBudget(ctx context.Context, run string, b eval.Budget) error
}

// Raise gives a run another budget, if it can be kept: a [*BudgetError] says why
// not. What the run has taken already counts.
func Raise(ctx context.Context, s Budgeter, run eval.Run, b eval.Budget) error {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return fmt.Errorf("read the snapshot of run %s: %w", run.ID, err)
	}
	cases := make([]eval.Case, len(snap.Cases))
	for i, ref := range snap.Cases {
		if err := blob.LoadJSON(ctx, s, ref.Blob, &cases[i]); err != nil {
			return fmt.Errorf("read case %s: %w", ref.ID, err)
		}
	}
	run.Budget = b
	if err := checkBudget(run, snap, cases); err != nil {
		return err
	}
	if err := s.SetBudget(ctx, run.ID, b); err != nil {
		return fmt.Errorf("store the budget of run %s: %w", run.ID, err)
	}
	return nil
}
