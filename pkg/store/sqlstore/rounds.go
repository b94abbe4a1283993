package sqlstore

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// SetRounds ends the plan of a run after a look, unless it has an end already, has been
// dispatched beyond, or is done.
func (db *DB) SetRounds(ctx context.Context, run string, rounds int) error {
	err := db.change(ctx, func(tx *transaction) error {
		r, err := scanRun(tx.queryRow(ctx, `SELECT `+runColumns+` FROM runs WHERE id = ? AND parent = ''`, run))
		if err != nil {
			return missing(err)
		}
		header, err := getBlob(ctx, tx, r.Header)
		if err != nil {
			return fmt.Errorf("header: %w", err)
		}
		snap, err := snapshotOf(header)
		if err != nil {
			return err
		}
		plan := snap.Plan.Until(rounds)
		trials := plan.Trials()
		if rounds <= 0 || trials == snap.Plan.Trials() {
			return fmt.Errorf("the plan has no end after %d rounds", rounds)
		}
		if r.Rounds > 0 || r.Cursor > trials || r.State == eval.RunDone {
			return nil
		}
		if _, err := tx.ExecContext(ctx, `UPDATE runs SET rounds = ?, trials = ? WHERE id = ?`, rounds, trials, run); err != nil {
			return err
		}
		for i, c := range plan.Cells {
			if !c.Sequential {
				continue
			}
			if err := tx.later(ctx, `UPDATE cells SET repeats = ? WHERE run = ? AND cell = ?`, c.Repeats, run, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("end run %s after %d rounds: %w", run, rounds, err)
	}
	return nil
}
