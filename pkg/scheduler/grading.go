package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Grader stores gradings.
type Grader interface {
	blob.Store
	CreateGrading(ctx context.Context, g eval.Run, blobs []eval.Blob, all bool) (int, error)
	Gradings(ctx context.Context, run string) ([]eval.Run, error)
}

// Grade adds a grading to a run. It scores what nobody has decided; with all,
// every trial that came to something. It returns how many trials that is, or a
// [*BudgetError] when the caps of the run cannot be kept by it. Nothing is
// dispatched before a scheduler adopts the grading.
func Grade(ctx context.Context, s Grader, run eval.Run, how eval.Grading, all bool) (eval.Run, int, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return eval.Run{}, 0, fmt.Errorf("grade run %s: %w", run.ID, err)
	}
	if judged := snap; how.By == "" { // nobody pays a person
		judged.Grading = &how
		if err := bearable(ctx, s, run, judged); err != nil {
			return eval.Run{}, 0, err
		}
	}
	before, err := s.Gradings(ctx, run.ID)
	if err != nil {
		return eval.Run{}, 0, fmt.Errorf("grade run %s: %w", run.ID, err)
	}
	g, header := grading(run, snap, len(before)+1, how)
	g.Created = time.Now().UTC()
	n, err := s.CreateGrading(ctx, g, []eval.Blob{header}, all)
	if err != nil {
		return eval.Run{}, 0, fmt.Errorf("grade run %s: %w", run.ID, err)
	}
	return g, n, nil
}

// grading makes the n-th grading of a run: a run with the same plan and a
// snapshot that says what it scores.
func grading(run eval.Run, snap eval.Snapshot, n int, how eval.Grading) (eval.Run, eval.Blob) {
	how.Run = run.ID
	snap.Grading, snap.Traceparent = &how, "" // who asked for the run has not asked for this
	header := blob.Pack(eval.Encode(snap))
	return eval.Run{
		ID: fmt.Sprintf("%s.g%d", run.ID, n), Parent: run.ID, Suite: run.Suite, SuiteHash: run.SuiteHash, SuitePath: run.SuitePath,
		State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256, Trials: run.Trials,
		Attempts: run.Attempts, MaxLost: run.MaxLost, Priority: run.Priority, Tenant: run.Tenant, Carrier: eval.CarrierProcess, Created: run.Created,
	}, header
}

// judges says whether any case has a check that a judge decides, and which model
// judges first.
func judges(cases []eval.Case) (model string, there bool) {
	for _, c := range cases {
		_ = eachCheck(c.Checks, func(check *eval.Check) error { // never fails
			if check.Judge != nil {
				model, there = cmp.Or(model, check.Judge.Model), true
			}
			return nil
		})
	}
	return model, there
}
