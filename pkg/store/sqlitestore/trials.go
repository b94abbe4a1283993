package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// openTrials is the table for questions about trials that are not done, which
// are few, and asked all the time. Unasked, SQLite would go through all trials of
// the run.
const openTrials = `trials INDEXED BY trials_outstanding`

// Dispatch writes marks and the run's new cursor in one step. A mark creates
// the trial's row, or moves it from waiting to dispatched if its attempt is the
// current one; a mark that is older changes nothing. The cursor never moves back.
func (db *DB) Dispatch(ctx context.Context, run string, marks []store.Mark, cursor int) error {
	err := db.change(ctx, func(tx *sql.Tx) error { return dispatch(ctx, newBatch(tx), run, marks, cursor) })
	if err != nil {
		return fmt.Errorf("dispatch %d trials of run %s: %w", len(marks), run, err)
	}
	return nil
}

func dispatch(ctx context.Context, b *batch, run string, marks []store.Mark, cursor int) error {
	var trials int
	if err := b.tx.QueryRowContext(ctx, `SELECT trials FROM runs WHERE id = ?`, run).Scan(&trials); err != nil {
		return missing(err)
	}
	for _, m := range marks {
		if m.Ordinal < 0 || m.Ordinal >= trials {
			return fmt.Errorf("ordinal %d is outside the plan's %d trials", m.Ordinal, trials)
		}
		_, err := b.ExecContext(ctx, `
			INSERT INTO trials (run, ordinal, attempt, state, hold) VALUES (?, ?, ?, 'dispatched', ?)
			ON CONFLICT (run, ordinal) DO UPDATE SET state = 'dispatched', not_before = 0, hold = excluded.hold
			WHERE state = 'waiting' AND attempt = excluded.attempt`,
			run, m.Ordinal, m.Attempt, m.HoldMicroUSD)
		if err != nil {
			return err
		}
	}
	_, err := b.ExecContext(ctx, `UPDATE runs SET cursor = ?2 WHERE id = ?1 AND cursor < ?2`, run, cursor)
	return err
}

// waitingAtOnce bounds the waiting trials that Outstanding returns. A grading
// has one for each trial that its judge has not come to.
const waitingAtOnce = 5000

// Outstanding returns the trials that are not done, by ordinal, but no more than
// the first few thousand of those that wait. The failure or
// loss of a current attempt that is Reported is among Failures and Losses.
func (db *DB) Outstanding(ctx context.Context, run string) ([]store.Trial, error) {
	ts, err := readAll(ctx, db.read, scanTrial, `
		SELECT * FROM (SELECT `+trialColumns+` FROM `+openTrials+` WHERE run = ?1 AND state <> 'done' AND state = 'dispatched')
		UNION ALL
		SELECT * FROM (SELECT `+trialColumns+` FROM `+openTrials+` WHERE run = ?1 AND state <> 'done' AND state = 'waiting' ORDER BY ordinal LIMIT ?2)
		ORDER BY ordinal`, run, waitingAtOnce)
	if err == nil && len(ts) == 0 {
		err = known(ctx, db.read, run)
	}
	if err != nil {
		return nil, fmt.Errorf("outstanding trials of run %s: %w", run, err)
	}
	return ts, nil
}

const trialColumns = `run, ordinal, attempt, state, not_before, hold, failures, losses, reported, subject`

func scanTrial(row scanner) (store.Trial, error) {
	var t store.Trial
	var notBefore int64
	err := row.Scan(&t.Run, &t.Ordinal, &t.Attempt, &t.State, &notBefore, &t.HoldMicroUSD, &t.Failures, &t.Losses, &t.Reported, &t.Subject)
	t.NotBefore = moment(notBefore)
	return t, err
}

// Next makes attempt n+1 of a trial due at a time, if n is still its current
// attempt and no result stands; otherwise it does nothing. A trial that was
// never dispatched is ErrNotFound.
func (db *DB) Next(ctx context.Context, run string, ordinal, n int, notBefore time.Time) error {
	err := db.change(ctx, func(tx *sql.Tx) error {
		var there int
		if err := tx.QueryRowContext(ctx, `SELECT 1 FROM trials WHERE run = ? AND ordinal = ?`, run, ordinal).Scan(&there); err != nil {
			return missing(err)
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = ?, hold = 0, reported = 0
			WHERE run = ? AND ordinal = ? AND attempt = ? AND state <> 'done'`,
			micros(notBefore), run, ordinal, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("next attempt of trial %s:%d: %w", run, ordinal, err)
	}
	return nil
}

// Release takes every dispatched trial back to waiting with the next attempt
// number, due at once, for a run whose former owner is known to be gone. It
// counts no losses and forgets no failures: to kill a farm changes no verdict.
func (db *DB) Release(ctx context.Context, run string) (int, error) {
	var n int64
	err := db.change(ctx, func(tx *sql.Tx) error {
		if err := known(ctx, tx, run); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `
			UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + 1, not_before = 0, hold = 0, reported = 0
			WHERE run = ? AND state <> 'done' AND state = 'dispatched'`, run)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("release the trials of run %s: %w", run, err)
	}
	return int(n), nil
}

// Retry clears the standing results with one of the verdicts and makes their
// trials due again, with the next attempt number and no failures or losses
// counted. It returns how many trials are outstanding then: the ones cleared,
// and those that had not ended. Trials never dispatched are not among them.
//
// A done run goes back to running if any trial of its plan has no result then,
// also one that a cancel kept from starting. Attempts that were out when it
// ended are void. Only error, unjudged and unfinished can be retried: to run a
// failed trial again until it passes would bias the rates.
func (db *DB) Retry(ctx context.Context, run string, vs []eval.Verdict) (int, error) {
	n := 0
	err := db.change(ctx, func(tx *sql.Tx) error {
		var err error
		n, err = retry(ctx, tx, run, vs)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("retry run %s: %w", run, err)
	}
	return n, nil
}

func retry(ctx context.Context, tx *sql.Tx, run string, vs []eval.Verdict) (int, error) {
	var state eval.RunState
	var trials int
	var parent string
	if err := tx.QueryRowContext(ctx, `SELECT state, trials, parent FROM runs WHERE id = ?`, run).Scan(&state, &trials, &parent); err != nil {
		return 0, missing(err)
	}
	if parent != "" {
		return 0, errors.New("a grading is never changed: judge its run again")
	}
	for _, v := range vs {
		if !slices.Contains([]eval.Verdict{eval.Error, eval.Unjudged, eval.Unfinished}, v) {
			return 0, fmt.Errorf("a trial with verdict %q is not run again", v)
		}
	}
	those, err := json.Marshal(vs)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = 0, failures = 0, losses = 0, result = NULL, subject = ''
		WHERE run = ?1 AND ordinal IN (SELECT ordinal FROM (`+verdicts+`) WHERE verdict IN (SELECT value FROM json_each(?2)))`, run, string(those))
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM counts WHERE run = ? AND verdict IN (SELECT value FROM json_each(?))`, run, string(those))
	if err != nil {
		return 0, err
	}
	// What judges said of a trial that is run again is void.
	_, err = tx.ExecContext(ctx, `
		DELETE FROM trials WHERE run IN (SELECT id FROM runs WHERE parent = ?1 AND parent <> '')
			AND ordinal IN (SELECT ordinal FROM `+openTrials+` WHERE run = ?1 AND state <> 'done')`, run)
	if err != nil {
		return 0, err
	}
	if state == eval.RunDone {
		if err := reopen(ctx, tx, run, trials); err != nil {
			return 0, err
		}
	}
	// What runs again may have to be judged again.
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET state = ?2, control = ?3, outcome = '', verdict = '', exit_code = 0, summary = '', finished = 0
		WHERE id = (SELECT grading FROM runs WHERE id = ?1 AND state <> 'done') AND state = 'done'`, run, eval.RunRunning, eval.ControlRun)
	if err != nil {
		return 0, err
	}
	var open int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM `+openTrials+` WHERE run = ? AND state <> 'done'`, run).Scan(&open)
	return open, err
}

// reopen takes a done run back to running, unless all its trials have results.
func reopen(ctx context.Context, tx *sql.Tx, run string, trials int) error {
	var standing int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(n), 0) FROM counts WHERE run = ?`, run).Scan(&standing)
	if err != nil || standing >= trials {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + (state = 'dispatched'),
			not_before = 0, hold = 0, failures = 0, losses = 0, reported = 0
		WHERE run = ? AND state <> 'done'`, run)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET control = ?, outcome = '', verdict = '', exit_code = 0, summary = '', finished = 0 WHERE id = ?`,
		eval.ControlRun, run)
	if err != nil {
		return err
	}
	return moveRun(ctx, tx, run, eval.RunRunning)
}
