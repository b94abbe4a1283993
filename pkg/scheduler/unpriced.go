package scheduler

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Unpriced says whether agents of a run ask a model whose price nobody knows, the
// models that play their users included, and whether judges do.
func Unpriced(ctx context.Context, s blob.Store, run eval.Run) (agents, judges bool, err error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return false, false, fmt.Errorf("read the snapshot of run %s: %w", run.ID, err)
	}
	unpriced := func(m eval.Model) bool { return m.Price == nil && !m.Free() }
	some := false
	for _, m := range snap.Models {
		some = some || unpriced(m)
	}
	if !some {
		return false, false, nil
	}
	cases, err := casesOf(ctx, s, snap)
	if err != nil {
		return false, false, err
	}
	for _, cell := range snap.Plan.Cells {
		c := cases[cell.Case]
		if c.Kind != eval.KindAgent {
			continue
		}
		for _, m := range asked(snap, c, snap.Variants[cell.Variant]) {
			agents = agents || unpriced(m)
		}
		for _, check := range (eval.Grading{}).Checks(c) {
			judges = judges || unpriced(snap.Models[check.Judge.Model])
		}
	}
	return agents, judges, nil
}
