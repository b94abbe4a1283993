package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// openTrials stands for [Dialect.OpenTrials].
const openTrials = `{open trials}`

// Dispatch writes marks in order, up to the first whose hold does not fit the
// caps. A mark creates the trial's row, or moves it from waiting to dispatched if
// its attempt is the current one; another one changes nothing, holds nothing, and
// counts as written. The cursor never moves back.
func (db *DB) Dispatch(ctx context.Context, run string, marks []store.Mark) (store.Marked, error) {
	var d store.Marked
	err := db.change(ctx, func(tx *transaction) error {
		var err error
		d, err = dispatch(ctx, tx, run, marks, db.now())
		return err
	})
	if err != nil {
		return store.Marked{}, fmt.Errorf("dispatch %d trials of run %s: %w", len(marks), run, err)
	}
	return d, nil
}

func dispatch(ctx context.Context, tx *transaction, run string, marks []store.Mark, now time.Time) (d store.Marked, err error) {
	var trials int
	var head string
	var state eval.RunState
	err = tx.queryRow(ctx, `SELECT trials, coalesce(nullif(parent, ''), id), state FROM runs WHERE id = ?`, run).Scan(&trials, &head, &state)
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
	caps, err := boundsOf(ctx, tx, head, now)
	if err != nil {
		return d, err
	}
	var held eval.Amount
	cursor := 0
	for i, m := range marks {
		var written bool
		if short, final := caps.short(m.Hold); short == "" {
			written, err = mark(ctx, tx, run, m, now)
		} else {
			var idle bool
			if idle, err = moot(ctx, tx, run, m); err == nil && !idle {
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
		} else if out, err := isOut(ctx, tx, run, m); err != nil {
			return d, err
		} else if !out {
			d.Moot = append(d.Moot, i)
		}
		d.Marks++
		cursor = max(cursor, m.Cursor)
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE runs SET cursor = CASE WHEN cursor < ?1 THEN ?1 ELSE cursor END,
			held_microusd = held_microusd + ?2, held_tokens = held_tokens + ?3 WHERE id = ?4`,
		cursor, held.MicroUSD, held.Tokens, run)
	return d, err
}

// mark writes one mark, and says whether it changed anything.
func mark(ctx context.Context, tx *transaction, run string, m store.Mark, now time.Time) (bool, error) {
	res, err := tx.ExecContext(ctx, `
		INSERT INTO trials (run, ordinal, attempt, state, hold, hold_tokens, sent) VALUES (?, ?, ?, 'dispatched', ?, ?, ?)
		ON CONFLICT (run, ordinal) DO UPDATE SET state = 'dispatched', not_before = 0, hold = excluded.hold, hold_tokens = excluded.hold_tokens, sent = excluded.sent
		WHERE trials.state = 'waiting' AND trials.attempt = excluded.attempt`,
		run, m.Ordinal, m.Attempt, m.Hold.MicroUSD, m.Hold.Tokens, micros(now))
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// moot says whether a mark would change nothing, so that it needs no room.
func moot(ctx context.Context, tx *transaction, run string, m store.Mark) (moot bool, err error) {
	err = tx.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM trials WHERE run = ? AND ordinal = ? AND NOT (state = 'waiting' AND attempt = ?))`,
		run, m.Ordinal, m.Attempt).Scan(&moot)
	return moot, err
}

// isOut says whether a mark's attempt is out.
func isOut(ctx context.Context, tx *transaction, run string, m store.Mark) (out bool, err error) {
	err = tx.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM trials WHERE run = ? AND ordinal = ? AND attempt = ? AND state = 'dispatched' AND NOT reported)`,
		run, m.Ordinal, m.Attempt).Scan(&out)
	return out, err
}

// TakeBack undoes marks whose attempts nobody has begun. The same attempt waits
// again, and what it held is free.
func (db *DB) TakeBack(ctx context.Context, run string, marks []store.Mark) error {
	err := db.change(ctx, func(tx *transaction) error {
		if err := known(ctx, tx, run); err != nil {
			return err
		}
		bk := newBooks(tx, db.now())
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
	err := bk.tx.queryRow(ctx, `SELECT hold, hold_tokens FROM trials`+out, run, m.Ordinal, m.Attempt).Scan(&hold.MicroUSD, &hold.Tokens)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	e := bk.of(run)
	e.held = less(e.held, hold)
	_, err = bk.tx.ExecContext(ctx, `UPDATE trials SET state = 'waiting', not_before = 0, hold = 0, hold_tokens = 0`+out,
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
	var ts []store.Trial
	err := db.look(ctx, func(q querier) (err error) {
		ts, err = readAll(ctx, q, scanTrial, `
			SELECT * FROM (SELECT `+trialColumns+` FROM `+openTrials+` WHERE run = ?1 AND state <> 'done' AND state = 'dispatched') AS out
			UNION ALL
			SELECT * FROM (SELECT `+trialColumns+` FROM `+openTrials+` WHERE run = ?1 AND state <> 'done' AND state = 'waiting' ORDER BY ordinal LIMIT ?2) AS due
			ORDER BY ordinal`, run, waitingAtOnce)
		if err == nil && len(ts) == 0 {
			err = known(ctx, q, run)
		}
		return err
	})
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
	err := db.change(ctx, func(tx *transaction) error {
		var there int
		if err := tx.queryRow(ctx, `SELECT 1 FROM trials WHERE run = ? AND ordinal = ?`, run, ordinal).Scan(&there); err != nil {
			return missing(err)
		}
		if err := giveUp(ctx, tx, db.now(), `run = ? AND ordinal = ? AND attempt = ?`, run, ordinal, n); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `
			UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = ?, reported = FALSE
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
	err := db.change(ctx, func(tx *transaction) error {
		if err := known(ctx, tx, run); err != nil {
			return err
		}
		if err := giveUp(ctx, tx, db.now(), `run = ?`, run); err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, `
			UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + 1, not_before = 0, reported = FALSE
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
	err := db.change(ctx, func(tx *transaction) error {
		var err error
		n, err = retry(ctx, tx, run, vs, db.now())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("retry run %s: %w", run, err)
	}
	return n, nil
}

func retry(ctx context.Context, tx *transaction, run string, vs []eval.Verdict, now time.Time) (int, error) {
	var state eval.RunState
	var trials int
	var parent string
	if err := tx.queryRow(ctx, `SELECT state, trials, parent FROM runs WHERE id = ?`, run).Scan(&state, &trials, &parent); err != nil {
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
	// There are three that may be asked for; no trial has the verdict "".
	those := append([]eval.Verdict{"", "", ""}, vs...)
	args := []any{run, those[len(vs)], those[len(vs)+1], those[len(vs)+2]}
	const (
		asked = `verdict IN (?2, ?3, ?4)`
		again = `ordinal IN (SELECT ordinal FROM (` + verdicts + `) AS v WHERE ` + asked + `)`
	)
	if err := discount(ctx, tx, `id = ?1`, again, args...); err != nil {
		return 0, err
	}
	_, err := tx.ExecContext(ctx, `
		UPDATE trials SET state = 'waiting', attempt = attempt + 1, not_before = 0, failures = 0, losses = 0, result = NULL, subject = ''
		WHERE run = ?1 AND `+again, args...)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM counts WHERE run = ?1 AND `+asked, args...)
	if err != nil {
		return 0, err
	}
	if err := forgetJudgements(ctx, tx, run, now); err != nil {
		return 0, err
	}
	confirming, goesOn, err := retryConfirmation(ctx, tx, run, vs, now)
	if err != nil {
		return 0, err
	}
	if state == eval.RunDone {
		if err := reopen(ctx, tx, run, trials, goesOn, now); err != nil {
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
	err = tx.queryRow(ctx, `SELECT count(*) FROM `+openTrials+` WHERE run = ? AND state <> 'done'`, run).Scan(&open)
	return open + confirming, err
}

// retryConfirmation does the same for the run that confirms another one, and says whether
// that goes on.
func retryConfirmation(ctx context.Context, tx *transaction, run string, vs []eval.Verdict, now time.Time) (open int, goesOn bool, err error) {
	id := eval.Run{ID: run}.Confirmation()
	var state eval.RunState
	switch err := tx.queryRow(ctx, `SELECT state FROM runs WHERE id = ? AND confirms = ?`, id, run).Scan(&state); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	if open, err = retry(ctx, tx, id, vs, now); err != nil {
		return 0, false, err
	}
	err = tx.queryRow(ctx, `SELECT state FROM runs WHERE id = ?`, id).Scan(&state)
	return open, state != eval.RunDone, err
}

// forgetJudgements takes what judges said of a run's open trials out of its
// gradings: it is void, since they run again.
func forgetJudgements(ctx context.Context, tx *transaction, run string, now time.Time) error {
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

// reopen takes a done run back to running, unless all its trials have results and nothing
// goes on that it has to wait for.
func reopen(ctx context.Context, tx *transaction, run string, trials int, waits bool, now time.Time) error {
	var standing int
	err := tx.queryRow(ctx, `SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM counts WHERE run = ?`, run).Scan(&standing)
	if err != nil || standing >= trials && !waits {
		return err
	}
	if err := giveUp(ctx, tx, now, `run = ?`, run); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE `+openTrials+` SET state = 'waiting', attempt = attempt + CASE WHEN state = 'dispatched' THEN 1 ELSE 0 END,
			not_before = 0, failures = 0, losses = 0, reported = FALSE
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
