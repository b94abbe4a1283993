package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// maxExpected bounds how many different trajectories of a baseline a case is
// compared with.
const maxExpected = 20

// A BaselineSource is where baselines are found.
type BaselineSource interface {
	PastReviewSource
	Run(ctx context.Context, id string) (eval.Run, error)
	Baseline(ctx context.Context, suite, name, branch string) (store.Baseline, error)
}

// Attach gives the trajectory checks of a suite that compare with a baseline its
// trajectories: the calls of the passing trials of the same case, each list once.
// name is the baseline of checks that name none, and branch that of the suite. A
// baseline that does not exist leaves its checks open, as on the first run, and so does
// one in a file, which has no trajectories.
func Attach(ctx context.Context, s BaselineSource, suite *eval.Suite, branch, name string) error {
	known := map[string]map[string][][]eval.CallPattern{}
	for i := range suite.Cases {
		err := eachCheck(suite.Cases[i].Checks, func(c *eval.Check) error {
			if c.Trajectory == nil || len(c.Trajectory.Calls) > 0 {
				return nil
			}
			c.Trajectory.Baseline = cmp.Or(c.Trajectory.Baseline, name)
			of := c.Trajectory.Baseline
			if of == "" {
				return nil
			}
			if known[of] == nil {
				lists, err := expected(ctx, s, suite.Name, branch, of)
				if err != nil {
					return fmt.Errorf("baseline %s: %w", of, err)
				}
				known[of] = lists
			}
			c.Trajectory.Trajectories = known[of][suite.Cases[i].ID]
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachCheck visits checks, those in groups too.
func eachCheck(cs []eval.Check, fn func(*eval.Check) error) error {
	for i := range cs {
		if err := fn(&cs[i]); err != nil {
			return err
		}
		if err := eachCheck(cs[i].Any, fn); err != nil {
			return err
		}
		if err := eachCheck(cs[i].All, fn); err != nil {
			return err
		}
	}
	return nil
}

// expected collects the calls of a baseline's passing agent trials, by case.
func expected(ctx context.Context, s BaselineSource, suite, branch, name string) (map[string][][]eval.CallPattern, error) {
	lists := map[string][][]eval.CallPattern{}
	if _, file := eval.BaselineFile(name); file {
		return lists, nil
	}
	run, err := BaseRun(ctx, s, suite, branch, name)
	if errors.Is(err, store.ErrNotFound) {
		return lists, nil
	}
	if err != nil {
		return nil, err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return nil, err
	}
	order := eval.NewOrder(snap.Plan)
	seen := map[string]bool{}
	err = s.EachResult(ctx, run.ID, func(row store.Row) error {
		cell, _, err := order.At(row.Ordinal)
		if err != nil {
			return err
		}
		ref := snap.Cases[snap.Plan.Cells[cell].Case]
		if ref.Kind != eval.KindAgent || row.Result.Verdict != eval.Pass || len(lists[ref.ID]) == maxExpected {
			return nil
		}
		if row.Result.Trajectory == "" { // it was imported
			return nil
		}
		var tr eval.Trajectory
		if err := blob.LoadJSON(ctx, s, row.Result.Trajectory, &tr); err != nil {
			return err
		}
		calls := made(tr)
		if key := ref.ID + string(eval.Encode(calls)); !seen[key] {
			seen[key] = true
			lists[ref.ID] = append(lists[ref.ID], calls)
		}
		return nil
	})
	return lists, err
}

// made lists the calls that reached a server.
func made(tr eval.Trajectory) []eval.CallPattern {
	calls := []eval.CallPattern{}
	for _, turn := range tr.Turns {
		for _, c := range turn.Calls {
			if c.Tool == "" || c.Invalid != "" || c.Method == eval.MethodSearch {
				continue
			}
			tool := c.Tool
			if c.Server != "" {
				tool = "mcp__" + c.Server + "__" + c.Tool
			}
			calls = append(calls, eval.CallPattern{Tool: tool, Arguments: slices.Clone(c.Arguments)})
		}
	}
	return calls
}
