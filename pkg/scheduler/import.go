package scheduler

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// importBatch is how many results are stored in one step.
const importBatch = 500

// Foreign is a run that was carried out elsewhere.
type Foreign struct {
	// Snapshot has its Origin, and Blobs are those of its cases.
	Snapshot eval.Snapshot
	Blobs    []eval.Blob
	// Each hands over the record of every trial of the plan, best by rising ordinals,
	// which a store takes faster than any other order. The run and the UID are left
	// to the one who asks.
	Each func(fn func(eval.Record) error) error
}

// An Importer is what storing a foreign run needs of a store.
type Importer interface {
	Ender
	Creator
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
	Dispatch(ctx context.Context, run string, marks []store.Mark) (store.Marked, error)
	Commit(ctx context.Context, rs []eval.Record) ([]store.Stored, error)
}

// Import stores a run that was carried out elsewhere, and ends it. The run is done
// only when all of it is stored. If the process dies before, the next import of the
// same goes on where it stopped; what is stored already is not stored again.
func Import(ctx context.Context, s Importer, f Foreign) (eval.Summary, error) {
	run, err := begin(ctx, s, f, time.Now())
	if err != nil {
		return eval.Summary{}, err
	}
	if err := keep(ctx, s, run, f); err != nil {
		return eval.Summary{}, fmt.Errorf("import into run %s: %w", run.ID, err)
	}
	run.Outcome = eval.OutcomeComplete
	_, summary, err := end(ctx, s, run, f.Snapshot)
	if err != nil {
		return eval.Summary{}, fmt.Errorf("end the imported run %s: %w", run.ID, err)
	}
	return summary, nil
}

// begin stores the run, or finds the one that an import of the same has begun.
func begin(ctx context.Context, s Importer, f Foreign, now time.Time) (eval.Run, error) {
	header := blob.Pack(eval.Encode(f.Snapshot))
	open, err := s.ListRuns(ctx, store.RunFilter{Suite: f.Snapshot.Suite, Unfinished: true})
	if err != nil {
		return eval.Run{}, err
	}
	for _, run := range open {
		if run.Carrier == eval.CarrierImport && run.Header == header.SHA256 && run.Control != eval.ControlCancel {
			return run, nil
		}
	}
	trials := f.Snapshot.Plan.Trials()
	run := eval.Run{
		ID: newRunID(now), Suite: f.Snapshot.Suite, SuiteHash: f.Snapshot.SuiteHash, State: eval.RunRunning, Control: eval.ControlRun,
		Header: header.SHA256, Trials: trials, Attempts: 1, MaxLost: 1, Priority: 1, Carrier: eval.CarrierImport, Created: now.UTC(),
	}
	if err := s.CreateRun(ctx, run, append(f.Blobs, header)); err != nil {
		return eval.Run{}, fmt.Errorf("store run %s: %w", run.ID, err)
	}
	return run, nil
}

// keep stores the results of the run.
func keep(ctx context.Context, s Importer, run eval.Run, f Foreign) error {
	var records []eval.Record
	var marks []store.Mark
	kept := 0
	flush := func() error {
		if len(records) == 0 {
			return nil
		}
		kept += len(records)
		for i := range marks {
			marks[i].Cursor = kept
		}
		if _, err := s.Dispatch(ctx, run.ID, marks); err != nil {
			return err
		}
		stored, err := s.Commit(ctx, records)
		if err != nil {
			return err
		}
		for _, st := range stored {
			if st.Outcome != eval.AttemptDone {
				return fmt.Errorf("trial %d: %s", st.Ordinal, st.Result.Message)
			}
		}
		records, marks = records[:0], marks[:0]
		return nil
	}
	err := f.Each(func(r eval.Record) error {
		// The same for the same trial, so that nothing is stored twice.
		r.Run, r.UID, r.N, r.Outcome = run.ID, fmt.Sprintf("%s-%07d", run.ID, r.Ordinal), 1, eval.AttemptDone
		records, marks = append(records, r), append(marks, store.Mark{Ordinal: r.Ordinal, Attempt: 1})
		if len(records) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err == nil && kept != run.Trials {
		err = fmt.Errorf("got %d of %d trials", kept, run.Trials)
	}
	return err
}

// Runnable says why nothing more can be run or judged of a run: it was imported.
func Runnable(run eval.Run) error {
	switch {
	case run.Carrier != eval.CarrierImport:
		return nil
	case run.State == eval.RunDone:
		return refuse("evalfarm report "+run.ID, "run %s was imported: its trials ran elsewhere, and nothing can be run or judged of them here", run.ID)
	default:
		return refuse("import the same file again to go on, or give it up: evalfarm cancel "+run.ID, "the import of run %s was stopped before its end", run.ID)
	}
}
