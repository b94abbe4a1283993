package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// said is the record of what somebody who is no judge said of one trial.
func said(grading, by string, d store.Trial, scores []eval.Score) eval.Record {
	now := time.Now().UTC()
	return eval.Record{
		UID: ulid.Make().String(), Run: grading, Ordinal: d.Ordinal, N: d.Attempt, Worker: by,
		Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass, Stop: eval.StopDone, Scores: scores}, Started: now, Ended: now,
	}
}

// keep stores records of a grading that nobody else carries out.
func keep(ctx context.Context, s store.Store, grading string, records ...eval.Record) error {
	var marks []store.Mark
	for _, r := range records {
		marks = append(marks, store.Mark{Ordinal: r.Ordinal, Attempt: r.N})
	}
	if _, err := s.Dispatch(ctx, grading, marks); err != nil {
		return err
	}
	stored, err := s.Commit(ctx, records)
	if err != nil {
		return err
	}
	for _, one := range stored {
		if !one.Final {
			return fmt.Errorf("grading %s: trial %d has a result already", grading, one.Ordinal)
		}
	}
	return nil
}
