package cli

import (
	"context"
	"errors"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// mostTraced bounds the cells whose trajectories are read: those that reports list.
const mostTraced = 20

// arms are what was compared; along an axis both are of the whole run.
type arms struct{ base, head eval.Arm }

// trace finds, for the cells that became worse, the first step in which a failing trial
// of the head differs from a passing one of the base. A run that is not in the store
// any more, and one that is known from a file alone, has no trajectories.
func trace(ctx context.Context, s reader, c *eval.ArmComparison, of arms) error {
	var suspects []*eval.CellComparison
	for i := range c.Cells {
		if cell := &c.Cells[i]; (cell.Change == eval.ChangeRegressed || cell.Change == eval.ChangeWorse) && len(suspects) < mostTraced {
			suspects = append(suspects, cell)
		}
	}
	if len(suspects) == 0 {
		return nil
	}
	passed, err := witnesses(ctx, s, of.base, c.Axis, c.Base.Value, suspects, eval.Pass)
	if err != nil || len(passed) == 0 {
		return err
	}
	failed, err := witnesses(ctx, s, of.head, c.Axis, c.Head.Value, suspects, eval.Fail)
	if err != nil {
		return err
	}
	for _, cell := range suspects {
		a, b := passed[cell], failed[cell]
		if a == nil || b == nil {
			continue
		}
		var base, head eval.Trajectory
		err := blob.LoadJSON(ctx, s, a.Row.Result.Trajectory, &base)
		if err == nil {
			err = blob.LoadJSON(ctx, s, b.Row.Result.Trajectory, &head)
		}
		if errors.Is(err, store.ErrNotFound) {
			continue // what is old may have been deleted
		}
		if err != nil {
			return err
		}
		if cell.Step = compare.FirstStep(base, head, cell.Kind); cell.Step != nil {
			cell.Step.BaseRepeat, cell.Step.HeadRepeat = a.Repeat, b.Repeat
			cell.Step.BaseTraceURL, cell.Step.HeadTraceURL = a.Row.TraceURL, b.Row.TraceURL
		}
	}
	return nil
}

// witnesses finds of each cell the first trial of an arm that came to a verdict and has
// a trajectory.
func witnesses(ctx context.Context, s reader, arm eval.Arm, axis, value string, cells []*eval.CellComparison, v eval.Verdict) (map[*eval.CellComparison]*report.Trial, error) {
	found := map[*eval.CellComparison]*report.Trial{}
	run, err := s.Run(ctx, arm.Run)
	if errors.Is(err, store.ErrNotFound) || arm.Run == "" {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return nil, err
	}
	type key struct{ kase, variant string }
	wanted := map[key]*eval.CellComparison{}
	for _, cell := range cells {
		wanted[key{cell.Case, cell.Variant}] = cell
	}
	var trials []*report.Trial
	of := map[*report.Trial]*eval.CellComparison{}
	order := eval.NewOrder(snap.Plan)
	for ordinal := range run.Trials {
		i, repeat, err := order.At(ordinal)
		if err != nil {
			return nil, err
		}
		at := snap.Plan.Cells[i]
		ref, variant := snap.Cases[at.Case], snap.Variants[at.Variant]
		name := variant.ID
		if axis != "" {
			if variant.Axes[axis] != value {
				continue
			}
			name = compare.Without(variant.Axes, axis).ID
		}
		if cell := wanted[key{ref.ID, name}]; cell != nil {
			t := &report.Trial{Trial: eval.Trial{Run: run.ID, Ordinal: ordinal, Case: ref, Variant: variant, Repeat: repeat}}
			trials, of[t] = append(trials, t), cell
		}
	}
	if err := fillIn(ctx, s, run, trials); err != nil {
		return nil, err
	}
	for _, t := range trials {
		if cell := of[t]; t.Row != nil && t.Row.Result.Verdict == v && t.Row.Result.Trajectory != "" && found[cell] == nil {
			found[cell] = t
		}
	}
	return found, nil
}
