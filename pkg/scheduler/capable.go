package scheduler

import (
	"context"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// requires is what a worker must have for a trial. Those of a grading are judged
// anywhere.
func (r *running) requires(ordinal int) string {
	if !r.choosy {
		return ""
	}
	cell, _, err := r.order.At(ordinal)
	if err != nil {
		return "" // it is of no run, and whoever gets it says so
	}
	return r.snapshot.Plan.Cells[cell].Requires
}

// choosy says whether any trial of a run requires something of its worker.
func choosy(run eval.Run, snap eval.Snapshot) bool {
	return run.Parent == "" && slices.ContainsFunc(snap.Plan.Cells, func(c eval.Cell) bool { return c.Requires != "" })
}

// lacking lists what dispatched trials of a run require and no living worker has:
// each as a text, sorted.
func (s *Scheduler) lacking(ctx context.Context, r *running) ([]string, error) {
	if !r.choosy {
		return nil, nil
	}
	workers, err := r.queue.Capabilities(ctx)
	if err != nil {
		return nil, away("ask what workers can do", err)
	}
	var lacking []string
	for _, t := range r.dispatched() {
		requires := r.requires(t.Ordinal)
		capable := slices.ContainsFunc(workers, func(has []string) bool { return len(eval.Lacks(has, requires)) == 0 })
		if requires != "" && !capable && !slices.Contains(lacking, requires) {
			lacking = append(lacking, requires)
		}
	}
	slices.Sort(lacking)
	return lacking, nil
}
