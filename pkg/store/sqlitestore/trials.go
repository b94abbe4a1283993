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

// Dispatch writes marks in order, up to the first whose hold does not fit the
// caps. A mark creates the trial's row, or moves it from waiting to dispatched if
// its attempt is the current one; another one changes nothing, holds nothing, and
// counts as written. The cursor never moves back.
func (db *DB) Dispatch(ctx context.Context, run string, marks []store.Mark) (store.Marked, error) {
	var d store.Marked
	err := db.change(ctx, func(tx *sql.Tx) error {
		var err error
		d, err = dispatch(ctx, newBatch(tx), run, marks, db.now())
		return err
	})
	if err != nil {
		return store.Marked{}, fmt.Errorf("dispatch %d trials of run %s: %w", len(marks), run, err)
	}
	return d, nil
}

func dispatch(ctx context.Context, b *batch, run string, marks []store.Mark, now time.Time) (d store.Marked, err error) {
	var trials int
	var head string
	var state eval.RunState
	err = b.tx.QueryRowContext(ctx, `SELECT trials, coalesce(nullif(parent, ''), id), state FROM runs WHERE id = ?`, run).Scan(&trials, &head, &state)
	if err != nil {
		return d, missing(err)
	}
	if state == eval.RunDone {
		return d, store.ErrDone
	}
	for _, m := range marks {
		if m.Ordinal < 0 || m.Ordinal >= trials {
			return d, fmt.Errorf("ordinal %d is outside the plan's %d trials", m.Ordinal, trials)
		}
		if m.Hold.MicroUSD < 0 || m.Hold.Tokens < 0 {
			return d, fmt.Errorf("trial %d cannot hold less than nothing", m.Ordinal)
		}
	}
	caps, err := boundsOf(ctx, b.tx, head, now)
	if err != nil {
		return d, err
	}
	var held eval.Amount
	cursor := 0
	for i, m := range marks {
		var written bool
		if short, final := caps.short(m.Hold); short == "" {
			written, err = mark(ctx, b, run, m)
		} else {
			var idle bool
			if idle, err = moot(ctx, b, run, m); err == nil && !idle {
				d.Short, d.Final = short, final
				break
			}
		}
		if err != nil {
			return d, err
		}
		if written {
			held = held.Add(m.Hold)
			caps.take(m.Hold)
		} else if out, err := isOut(ctx, b, run, m); err != nil {
			return d, err
		} else if !out {
			d.Moot = append(d.Moot, i)
		}
		d.Marks++
		cursor = max(cursor, m.Cursor)
	}
	_, err = b.ExecContext(ctx, `
		UPDATE runs SET cursor = max(cursor, ?), held_microusd = held_microusd + ?, held_tokens = held_tokens + ? WHERE id = ?`,
		cursor, held.MicroUSD, held.Tokens, run)
	return d, err
}

// mark writes one mark, and says whether it changed anything.
func mark(ctx context.Context, b *batch, run string, m store.Mark) (bool, error) {
	res, err := b.ExecContext(ctx, `
		INSERT INTO trials (run, ordinal, attempt, state, hold, hold_tokens) VALUES (?, ?, ?, 'dispatched', ?, ?)
		ON CONFLICT (run, ordinal) DO UPDATE SET state = 'dispatched', not_before = 0, hold = excluded.hold, hold_tokens = excluded.hold_tokens
		WHERE state = 'waiting' AND attempt = excluded.attempt`,
		run, m.Ordinal, m.Attempt, m.Hold.MicroUSD, m.Hold.Tokens)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// moot says whether a mark would change nothing, so that it needs no room.
func moot(ctx context.Context, b *batch, run string, m store.Mark) (moot bool, err error) {
	err = b.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM trials WHERE run = ? AND ordinal = ? AND NOT (state = 'waiting' AND attempt = ?))`,
		run, m.Ordinal, m.Attempt).Scan(&moot)
	return moot, err
}

// isOut says whether a mark's attempt is out.
func isOut(ctx context.Context, b *batch, run string, m store.Mark) (out bool, err error) {
	err = b.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM trials WHERE run = ? AND ordinal = ? AND attempt = ? AND state = 'dispatched' AND NOT reported)`,
		run, m.Ordinal, m.Attempt).Scan(&out)
	return out, err
}

// TakeBack undoes marks whose attempts nobody has begun. The same attempt waits
// again, and what it held is free.
func (db *DB) TakeBack(ctx context.Context, run string, marks []store.Mark) error {
	err := db.change(ctx, func(tx *sql.Tx) error {
		if err := known(ctx, tx, run); err != nil {
			return err
		}
		bk := newBooks(newBatch(tx), db.now())
		for _, m := range marks {
			if err := takeBack(ctx, bk, run, m); err != nil {
				return err
			}
		}
		return bk.write(ctx)
	})
	if err != nil {
		return fmt.Errorf("take back %d trials of run %s: %w", len(marks), run, err)
	}
	return nil
}

func takeBack(ctx context.Context, bk *books, run string, m store.Mark) error {
	const out = ` WHERE run = ? AND ordinal = ? AND attempt = ? AND state = 'dispatched' AND NOT reported`
	var hold eval.Amount
	err := bk.batch.queryRow(ctx, `SELECT hold, hold_tokens FROM trials`+out, run, m.Ordinal, m.Attempt).Scan(&hold.MicroUSD, &hold.Tokens)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	e := bk.of(run)
	e.held = less(e.held, hold)
	_, err = bk.batch.ExecContext(ctx, `UPDATE trials SET state = 'waiting', not_before = 0, hold = 0, hold_tokens = 0`+out,
		run, m.Ordinal, m.Attempt)
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

const trialColumns = `run, ordinal, attempt, state, not_before, hold, hold_tokens, failures, losses, reported, subject`

func scanTrial(row scanner) (store.Trial, error) {
	var t store.Trial
	var notBefore int64
	err := row.Scan(&t.Run, &t.Ordinal, &t.Attempt, &t.State, &notBefore, &t.Hold.MicroUSD, &t.Hold.Tokens, &t.Failures, &t.Losses, &t.Reported, &t.Subject)
	t.NotBefore = moment(notBefore)
	return t, err
}

// Next makes attempt n+1 of a trial due at a time, if n is still its current
// attempt and no result stands; otherwise it does nothing. A trial that was
// never dispatched is ErrNotFound. What the attempt holds, because it has no
// record, is charged.
func (db *DB) Next(ctx context.Context, run string, ordinal, n int, notBefore time.Time) error {
	err := db.change(ctx, func(tx *sql.Tx) error {
		var there int
		if err := tx.QueryRowContext(ctx, `SELECT 1 FROM trials WHERE run = ? AND ordinal = ?`, run, ordinal).Scan(&there); err != nil {
			return missing(err)
		}
		if err := giveUp(ctx, tx, db.now(), `run = ? AND ordinal = ? AND attempt = ?`, run, ordinal, n); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = ?, reported = 0
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
// What attempts hold, because they have no record, is charged.
func (db *DB) Release(ctx context.Context, run string) (int, error) {
	var n int64
	err := db.change(ctx, func(tx *sql.Tx) error {
		if err := known(ctx, tx, run); err != nil {
			return err
		}
		if err := giveUp(ctx, tx, db.now(), `run = ?`, run); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `
			UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + 1, not_before = 0, reported = 0
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
// also one that a cancel or an empty budget kept from starting. Attempts that
// were out when it ended are void. Only error, unjudged and unfinished can be retried: to run a
// failed trial again until it passes would bias the rates.
func (db *DB) Retry(ctx context.Context, run string, vs []eval.Verdict) (int, error) {
	n := 0
	err := db.change(ctx, func(tx *sql.Tx) error {
		var err error
		n, err = retry(ctx, tx, run, vs, db.now())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("retry run %s: %w", run, err)
	}
	return n, nil
}

func retry(ctx context.Context, tx *sql.Tx, run string, vs []eval.Verdict, now time.Time) (int, error) {
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
	const again = `ordinal IN (SELECT ordinal FROM (` + verdicts + `) WHERE verdict IN (SELECT value FROM json_each(?2)))`
	if err := discount(ctx, tx, `id = ?1`, again, run, string(those)); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = 0, failures = 0, losses = 0, result = NULL, subject = ''
		WHERE run = ?1 AND `+again, run, string(those))
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM counts WHERE run = ? AND verdict IN (SELECT value FROM json_each(?))`, run, string(those))
	if err != nil {
		return 0, err
	}
	if err := forgetJudgements(ctx, tx, run, now); err != nil {
		return 0, err
	}
	if state == eval.RunDone {
		if err := reopen(ctx, tx, run, trials, now); err != nil {
			return 0, err
		}
	}
	// What runs again may have to be judged again.
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET state = ?2, control = ?3, outcome = '', short = '', verdict = '', exit_code = 0, summary = '', finished = 0
		WHERE id = (SELECT grading FROM runs WHERE id = ?1 AND state <> 'done') AND state = 'done'`, run, eval.RunRunning, eval.ControlRun)
	if err != nil {
		return 0, err
	}
	var open int
	err = tx.QueryRowContext(ctx, `SELECT count(*) FROM `+openTrials+` WHERE run = ? AND state <> 'done'`, run).Scan(&open)
	return open, err
}

// forgetJudgements takes what judges said of a run's open trials out of its
// gradings: it is void, since they run again.
func forgetJudgements(ctx context.Context, tx *sql.Tx, run string, now time.Time) error {
	const (
		gradings = `parent = ?1 AND parent <> ''`
		open     = `ordinal IN (SELECT ordinal FROM ` + openTrials + ` WHERE run = ?1 AND state <> 'done')`
		those    = `run IN (SELECT id FROM runs WHERE ` + gradings + `) AND ` + open
	)
	if err := giveUp(ctx, tx, now, those, run); err != nil {
		return err
	}
	if err := discount(ctx, tx, gradings, open, run); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM trials WHERE `+those, run)
	return err
}

// reopen takes a done run back to running, unless all its trials have results.
func reopen(ctx context.Context, tx *sql.Tx, run string, trials int, now time.Time) error {
	var standing int
	err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(n), 0) FROM counts WHERE run = ?`, run).Scan(&standing)
	if err != nil || standing >= trials {
		return err
	}
	if err := giveUp(ctx, tx, now, `run = ?`, run); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + (state = 'dispatched'),
			not_before = 0, failures = 0, losses = 0, reported = 0
		WHERE run = ? AND state <> 'done'`, run)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET control = ?, outcome = '', short = '', verdict = '', exit_code = 0, summary = '', finished = 0 WHERE id = ?`,
		eval.ControlRun, run)
	if err != nil {
		return err
	}
	return moveRun(ctx, tx, run, eval.RunRunning)
}
