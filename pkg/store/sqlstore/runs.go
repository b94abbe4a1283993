package sqlstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const runColumns = `id, suite, suite_hash, suite_path, state, control, header, trials, cursor,
	attempts, max_lost, priority, outcome, verdict, exit_code, summary, created, finished, grading, parent,
	budget_microusd, budget_tokens, budget_time, day_microusd, short, carrier, tenant, schedule, schedule_microusd, notify, idempotency_key, asked, rounds,
	confirms, reserve_microusd, reserve_tokens`

func scanRun(row scanner) (eval.Run, error) {
	var r eval.Run
	var created, finished int64
	var notify string
	err := row.Scan(&r.ID, &r.Suite, &r.SuiteHash, &r.SuitePath, &r.State, &r.Control, &r.Header, &r.Trials, &r.Cursor,
		&r.Attempts, &r.MaxLost, &r.Priority, &r.Outcome, &r.Verdict, &r.ExitCode, &r.Summary, &created, &finished, &r.Grading, &r.Parent,
		&r.Budget.MicroUSD, &r.Budget.Tokens, &r.Budget.Time, &r.DayMicroUSD, &r.Short, &r.Carrier, &r.Tenant,
		&r.Schedule, &r.ScheduleMicroUSD, &notify, &r.Key, &r.Asked, &r.Rounds,
		&r.Confirms, &r.Reserve.MicroUSD, &r.Reserve.Tokens)
	if notify != "" {
		r.Notify = strings.Fields(notify)
	}
	r.Created, r.Finished = moment(created), moment(finished)
	return r, err
}

// CreateRun stores a run with its header and case blobs, in one step. The
// header must be an [eval.Snapshot]; it and the cases that it lists must be
// among the blobs or stored already. Creating the same run again does nothing;
// another run with the same id is an error.
func (db *DB) CreateRun(ctx context.Context, r eval.Run, blobs []eval.Blob, gradings ...eval.Run) error {
	err := check(blobs)
	if err == nil {
		err = db.change(ctx, func(tx *transaction) error {
			for _, run := range append([]eval.Run{r}, gradings...) {
				if err := createRun(ctx, tx, run, blobs); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("create run %s: %w", r.ID, err)
	}
	return nil
}

func createRun(ctx context.Context, tx *transaction, r eval.Run, blobs []eval.Blob) error {
	if err := bearable(r.Budget); err != nil {
		return err
	}
	if err := bearableDay(r.DayMicroUSD); err != nil {
		return err
	}
	if r.ScheduleMicroUSD < 0 {
		return errors.New("a schedule's cap cannot be negative")
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO runs (`+runColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		r.ID, r.Suite, r.SuiteHash, r.SuitePath, r.State, r.Control, r.Header, r.Trials, r.Cursor,
		r.Attempts, r.MaxLost, r.Priority, r.Outcome, r.Verdict, r.ExitCode, r.Summary, micros(r.Created), micros(r.Finished), r.Grading, r.Parent,
		r.Budget.MicroUSD, r.Budget.Tokens, r.Budget.Time, r.DayMicroUSD, r.Short, r.Carrier, r.Tenant,
		r.Schedule, r.ScheduleMicroUSD, strings.Join(r.Notify, " "), r.Key, r.Asked, r.Rounds,
		r.Confirms, r.Reserve.MicroUSD, r.Reserve.Tokens)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil {
		return err
	} else if n == 0 {
		return sameRun(ctx, tx, r)
	}
	var emptying bool
	err = tx.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM collected WHERE run = ?)`, r.ID).Scan(&emptying)
	if err == nil && emptying {
		err = errors.New("a run with this id is still being deleted")
	}
	if err != nil {
		return err
	}
	if err := putBlobs(ctx, tx, blobs); err != nil {
		return err
	}
	header, err := getBlob(ctx, tx, r.Header)
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	snap, err := snapshotOf(header)
	if err != nil {
		return err
	}
	if err := needBlobs(ctx, tx, r.ID, r.Header); err != nil {
		return err
	}
	for _, c := range snap.Cases {
		var there bool
		if err := tx.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM blobs WHERE sha256 = ?)`, c.Blob).Scan(&there); err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("blob %.64q of case %s: %w", c.Blob, c.ID, store.ErrNotFound)
		}
		if err := needBlobs(ctx, tx, r.ID, c.Blob); err != nil {
			return err
		}
	}
	if base := snap.Baseline; base != nil {
		for _, sha256 := range []string{base.Arm, base.History} {
			if sha256 == "" {
				continue
			}
			if _, err := getBlob(ctx, tx, sha256); err != nil {
				return fmt.Errorf("blob %.64q of the baseline: %w", sha256, err)
			}
			if err := needBlobs(ctx, tx, r.ID, sha256); err != nil {
				return err
			}
		}
	}
	if r.Parent != "" {
		return nil // its cells are those of the run
	}
	var branch, base string
	if snap.Git != nil {
		branch = snap.Git.Branch
	}
	if snap.Baseline != nil {
		base = snap.Baseline.Run
	}
	partial := 0
	if snap.Partial {
		partial = 1
	}
	if err := tx.later(ctx, `UPDATE runs SET branch = ?, partial = ?, base = ? WHERE id = ?`, branch, partial, base, r.ID); err != nil {
		return err
	}
	for i, c := range snap.Plan.Cells {
		if c.Case < 0 || c.Case >= len(snap.Cases) || c.Variant < 0 || c.Variant >= len(snap.Variants) {
			return fmt.Errorf("header: cell %d refers to case %d of %d and variant %d of %d", i, c.Case, len(snap.Cases), c.Variant, len(snap.Variants))
		}
		of := snap.Cases[c.Case]
		err := tx.later(ctx, `INSERT INTO cells (run, cell, case_id, kind, variant, repeats) VALUES (?, ?, ?, ?, ?, ?)`,
			r.ID, i, of.ID, of.Kind, snap.Variants[c.Variant].ID, c.Repeats)
		if err != nil {
			return err
		}
	}
	return nil
}

// snapshotOf reads the snapshot in a run's header.
func snapshotOf(header eval.Blob) (snap eval.Snapshot, err error) {
	plain, err := blob.Unpack(header)
	if err == nil {
		err = json.Unmarshal(plain, &snap)
	}
	if err != nil {
		return snap, fmt.Errorf("header: %w", err)
	}
	return snap, nil
}

// sameRun tells a repeated CreateRun from an id, or a key, that is taken.
func sameRun(ctx context.Context, tx *transaction, r eval.Run) error {
	old, err := scanRun(tx.queryRow(ctx, `SELECT `+runColumns+` FROM runs WHERE id = ?`, r.ID))
	if err = missing(err); errors.Is(err, store.ErrNotFound) {
		return store.ErrKeyTaken
	}
	if err != nil {
		return err
	}
	if old.Header != r.Header || micros(old.Created) != micros(r.Created) {
		return fmt.Errorf("there is another run with this id, created at %s", old.Created.Format(time.RFC3339))
	}
	return nil
}

// Run returns a run by its full id, or ErrNotFound.
func (db *DB) Run(ctx context.Context, id string) (eval.Run, error) {
	var r eval.Run
	err := db.look(ctx, func(q querier) (err error) {
		r, err = scanRun(q.queryRow(ctx, `SELECT `+runColumns+` FROM runs WHERE id = ?`, id))
		return err
	})
	if err != nil {
		return eval.Run{}, fmt.Errorf("run %s: %w", id, missing(err))
	}
	return r, nil
}

// RunOfKey returns the run that a tenant has asked for under a key, or ErrNotFound.
func (db *DB) RunOfKey(ctx context.Context, tenant, key string) (eval.Run, error) {
	var r eval.Run
	err := db.look(ctx, func(q querier) (err error) {
		r, err = scanRun(q.queryRow(ctx, `SELECT `+runColumns+` FROM runs WHERE tenant = ? AND idempotency_key = ? AND idempotency_key <> ''`, tenant, key))
		return err
	})
	if err != nil {
		return eval.Run{}, fmt.Errorf("run of the idempotency key %.64q: %w", key, missing(err))
	}
	return r, nil
}

// ListRuns returns runs, newest first. A limit of 0 means all.
func (db *DB) ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error) {
	until := int64(math.MaxInt64)
	if !f.Until.IsZero() {
		until = micros(f.Until)
	}
	var rs []eval.Run
	err := db.look(ctx, func(q querier) (err error) {
		rs, err = readAll(ctx, q, scanRun, `
			SELECT `+runColumns+` FROM runs
			WHERE parent = '' AND confirms = '' AND (?1 = '' OR suite = ?1) AND substr(id, 1, length(?2)) = ?2 AND (NOT ?3 OR state <> 'done') AND (?5 = '' OR schedule = ?5) AND (?6 = '' OR tenant = ?6)
				AND (?7 = '' OR branch = ?7) AND created <= ?8
				AND (NOT ?9 OR state = 'done' AND outcome = 'complete' AND verdict = 'pass' AND partial = 0)
			ORDER BY created DESC, id DESC LIMIT ?4`,
			f.Suite, f.Prefix, f.Unfinished, limit(f.Limit), f.Schedule, f.Tenant, f.Branch, until, f.Green)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	return rs, nil
}

// ServiceRuns returns the ids of the runs that a service is to carry out and that
// are not done, oldest first.
func (db *DB) ServiceRuns(ctx context.Context) (ids []string, err error) {
	err = db.look(ctx, func(q querier) (err error) {
		ids, err = readAll(ctx, q, func(row scanner) (id string, err error) {
			err = row.Scan(&id)
			return id, err
		}, `SELECT id FROM runs WHERE carrier = 'service' AND state <> 'done' AND parent = '' AND confirms = '' ORDER BY created, id`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list runs of the service: %w", err)
	}
	return ids, nil
}

// limit is a LIMIT; one that is not positive means none.
func limit(n int) int {
	if n <= 0 {
		return math.MaxInt
	}
	return n
}

// SetState moves a run to a state, and adds an event if it was in another. Only
// Finish makes a run done, and only Retry takes it back from there.
func (db *DB) SetState(ctx context.Context, run string, s eval.RunState) error {
	err := db.change(ctx, func(tx *transaction) error {
		var old eval.RunState
		var parent string
		if err := tx.queryRow(ctx, `SELECT state, parent FROM runs WHERE id = ?`, run).Scan(&old, &parent); err != nil {
			return missing(err)
		}
		switch {
		case old == s:
			return nil
		case old == eval.RunDone:
			return store.ErrDone
		case s == eval.RunDone:
			return errors.New("a run becomes done by Finish only")
		case s == eval.RunFinalizing && parent != "":
			if err := supersede(ctx, tx, run, parent); err != nil {
				return err
			}
		}
		return moveRun(ctx, tx, run, s)
	})
	if err != nil {
		return fmt.Errorf("set run %s to %s: %w", run, s, err)
	}
	return nil
}

func moveRun(ctx context.Context, tx *transaction, run string, s eval.RunState) error {
	if _, err := tx.ExecContext(ctx, `UPDATE runs SET state = ? WHERE id = ?`, s, run); err != nil {
		return err
	}
	return addEvent(ctx, tx, eval.Event{Run: run, Kind: "state", At: time.Now(), State: s})
}

// SetControl records what a person wants of a run.
func (db *DB) SetControl(ctx context.Context, run string, c eval.Control) error {
	if err := db.touch(ctx, `UPDATE runs SET control = ? WHERE id = ?`, c, run); err != nil {
		return fmt.Errorf("set control of run %s to %s: %w", run, c, err)
	}
	return nil
}

// touch carries out a statement that changes one row, or is ErrNotFound.
func (db *DB) touch(ctx context.Context, query string, args ...any) error {
	n, err := db.exec(ctx, query, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// Finish stores the outcome, what ran out, the verdict, exit code, time and
// summary of a run and makes it done, with an event if it was not. The summary's
// name is that of the blob; a zero Finished means now. Trials that are still out
// are charged what they hold, and stay out: what comes of them in time counts.
// Notices of the run go into the outbox in the same step.
func (db *DB) Finish(ctx context.Context, r eval.Run, summary eval.Blob, notices ...store.Notice) error {
	if r.Finished.IsZero() {
		r.Finished = db.now()
	}
	err := check([]eval.Blob{summary})
	if err == nil {
		err = db.change(ctx, func(tx *transaction) error {
			if err := finish(ctx, tx, r, summary, db.now()); err != nil {
				return err
			}
			return addNotices(ctx, tx, r.ID, notices)
		})
	}
	if err != nil {
		return fmt.Errorf("finish run %s: %w", r.ID, err)
	}
	return nil
}

func finish(ctx context.Context, tx *transaction, r eval.Run, summary eval.Blob, now time.Time) error {
	var old eval.RunState
	if err := tx.queryRow(ctx, `SELECT state FROM runs WHERE id = ?`, r.ID).Scan(&old); err != nil {
		return missing(err)
	}
	if old == eval.RunDone && r.State != eval.RunDone {
		return nil // another leader was first
	}
	if err := putBlobs(ctx, tx, []eval.Blob{summary}); err != nil {
		return err
	}
	if err := needBlobs(ctx, tx, r.ID, summary.SHA256); err != nil {
		return err
	}
	if err := giveUp(ctx, tx, now, `run = ?`, r.ID); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM live WHERE run = ?`, r.ID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE runs SET outcome = ?, short = ?, verdict = ?, exit_code = ?, summary = ?, finished = ? WHERE id = ?`,
		r.Outcome, r.Short, r.Verdict, r.ExitCode, summary.SHA256, micros(r.Finished), r.ID)
	if err != nil || old == eval.RunDone {
		return err
	}
	if r.Parent != "" && r.Outcome == eval.OutcomeComplete {
		if err := supersede(ctx, tx, r.ID, r.Parent); err != nil {
			return err
		}
	}
	return moveRun(ctx, tx, r.ID, eval.RunDone)
}

// known is ErrNotFound for a run that does not exist.
func known(ctx context.Context, q querier, run string) error {
	var there bool
	if err := q.queryRow(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?)`, run).Scan(&there); err != nil {
		return err
	}
	if !there {
		return store.ErrNotFound
	}
	return nil
}
