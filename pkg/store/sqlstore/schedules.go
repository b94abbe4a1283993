package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// PutSchedule stores a schedule, in place of the one of its name. One that had the
// same times stays due when it was, and one that is paused by hand stays paused.
func (db *DB) PutSchedule(ctx context.Context, s eval.Schedule, due time.Time) error {
	_, err := db.exec(ctx, `
		INSERT INTO schedules (name, cron, timezone, body, paused, due) VALUES (?, ?, ?, ?, 0, ?)
		ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, timezone = excluded.timezone, body = excluded.body,
			due = CASE WHEN schedules.cron = excluded.cron AND schedules.timezone = excluded.timezone THEN schedules.due ELSE excluded.due END`,
		s.Name, s.Cron, s.Timezone, string(eval.Encode(s)), micros(due))
	if err != nil {
		return fmt.Errorf("store schedule %s: %w", s.Name, err)
	}
	return nil
}

// Schedule returns a schedule, or ErrNotFound.
func (db *DB) Schedule(ctx context.Context, name string) (store.Schedule, error) {
	var s store.Schedule
	err := db.look(ctx, func(q querier) (err error) {
		s, err = scanSchedule(q.queryRow(ctx, `SELECT body, paused, due FROM schedules WHERE name = ?`, name))
		if err != nil {
			return err
		}
		return addTaken(ctx, q, &s)
	})
	if err != nil {
		return store.Schedule{}, fmt.Errorf("schedule %s: %w", name, missing(err))
	}
	return s, nil
}

// Schedules returns all schedules, by name.
func (db *DB) Schedules(ctx context.Context) ([]store.Schedule, error) {
	var all []store.Schedule
	err := db.look(ctx, func(q querier) (err error) {
		all, err = readAll(ctx, q, scanSchedule, `SELECT body, paused, due FROM schedules ORDER BY name`)
		for i := range all {
			if err == nil {
				err = addTaken(ctx, q, &all[i])
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return all, nil
}

func scanSchedule(row scanner) (store.Schedule, error) {
	var s store.Schedule
	var body string
	var paused, due int64
	if err := row.Scan(&body, &paused, &due); err != nil {
		return s, err
	}
	s.PausedByHand, s.Due = paused != 0, moment(due)
	return s, json.Unmarshal([]byte(body), &s.Schedule)
}

// PauseSchedule pauses a schedule by hand.
func (db *DB) PauseSchedule(ctx context.Context, name string) error {
	n, err := db.exec(ctx, `UPDATE schedules SET paused = 1 WHERE name = ?`, name)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("pause schedule %s: %w", name, err)
	}
	return nil
}

// ResumeSchedule ends that a schedule is paused by hand. One that was not stays due
// when it is.
func (db *DB) ResumeSchedule(ctx context.Context, name string, due time.Time) error {
	n, err := db.exec(ctx, `
		UPDATE schedules SET due = CASE WHEN paused = 1 THEN ? ELSE due END, paused = 0 WHERE name = ?`, micros(due), name)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("resume schedule %s: %w", name, err)
	}
	return nil
}

// DeleteSchedule deletes a schedule and its firings.
func (db *DB) DeleteSchedule(ctx context.Context, name string) error {
	err := db.change(ctx, func(tx *transaction) error {
		there, err := changes(tx.ExecContext(ctx, `DELETE FROM schedules WHERE name = ?`, name))
		if err == nil && !there {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM firings WHERE schedule = ?`, name)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete schedule %s: %w", name, err)
	}
	return nil
}

// Fire stores what becomes of a firing, and what it starts, if the schedule is due
// then; with a zero next, if there is no such firing or a queued one.
func (db *DB) Fire(ctx context.Context, f eval.Firing, next time.Time, start *store.Start) (won bool, err error) {
	if start != nil {
		err = check(start.Blobs)
	}
	if err == nil {
		err = db.change(ctx, func(tx *transaction) error {
			won, err = fire(ctx, tx, f, next, start)
			return err
		})
	}
	if err != nil {
		return false, fmt.Errorf("fire schedule %s of %s: %w", f.Schedule, f.Due.UTC().Format(time.RFC3339), err)
	}
	return won, nil
}

func fire(ctx context.Context, tx *transaction, f eval.Firing, next time.Time, start *store.Start) (bool, error) {
	statement, args := `UPDATE schedules SET due = due WHERE name = ?`, []any{f.Schedule}
	if !next.IsZero() {
		statement, args = `UPDATE schedules SET due = ? WHERE name = ? AND due = ?`, []any{micros(next), f.Schedule, micros(f.Due)}
	}
	if changed, err := changes(tx.ExecContext(ctx, statement, args...)); err != nil || !changed {
		return false, err
	}
	// Last come the runs: the firing is what two schedulers meet at.
	changed, err := changes(tx.ExecContext(ctx, `
		INSERT INTO firings (schedule, due, at, outcome, run, message) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (schedule, due) DO UPDATE SET at = excluded.at, outcome = excluded.outcome, run = excluded.run, message = excluded.message
		WHERE firings.outcome = 'queued'`,
		f.Schedule, micros(f.Due), micros(f.At), f.Outcome, f.Run, f.Message))
	if err != nil || !changed || start == nil {
		return changed, err
	}
	if start.Cancel {
		_, err := tx.ExecContext(ctx, `UPDATE runs SET control = ? WHERE schedule = ? AND state <> 'done' AND id <> ?`,
			eval.ControlCancel, f.Schedule, start.Run.ID)
		if err != nil {
			return false, err
		}
	}
	for _, r := range append([]eval.Run{start.Run}, start.Gradings...) {
		if err := createRun(ctx, tx, r, start.Blobs); err != nil {
			return false, fmt.Errorf("create run %s: %w", r.ID, err)
		}
	}
	return true, nil
}

// changes says whether a statement changed anything.
func changes(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// Firings returns what became of firings, the newest first. A limit of 0 means all.
func (db *DB) Firings(ctx context.Context, f store.FiringFilter) ([]eval.Firing, error) {
	var fs []eval.Firing
	err := db.look(ctx, func(q querier) (err error) {
		fs, err = readAll(ctx, q, scanFiring, `
			SELECT schedule, due, at, outcome, run, message FROM firings
			WHERE schedule = ?1 AND (?2 = '' OR outcome = ?2) ORDER BY due DESC LIMIT ?3`,
			f.Schedule, f.Outcome, limit(f.Limit))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("firings of schedule %s: %w", f.Schedule, err)
	}
	return fs, nil
}

func scanFiring(row scanner) (eval.Firing, error) {
	var f eval.Firing
	var due, at int64
	err := row.Scan(&f.Schedule, &due, &at, &f.Outcome, &f.Run, &f.Message)
	f.Due, f.At = moment(due), moment(at)
	return f, err
}

// takenBy is what the runs of a schedule and their gradings have taken: what is gone
// for good, that of collected runs too, and what is held. A grading belongs to the
// schedule of its run, whatever its own row says.
func takenBy(ctx context.Context, q querier, schedule string) (gone, held int64, err error) {
	err = q.queryRow(ctx, `
		SELECT coalesce(sum(gone), 0), coalesce(sum(held), 0) FROM (
			SELECT spent + charged_microusd AS gone, held_microusd AS held FROM runs WHERE schedule = ? AND schedule <> '' AND parent = ''
			UNION ALL SELECT g.spent + g.charged_microusd, g.held_microusd
				FROM runs r JOIN runs g ON g.parent = r.id AND g.parent <> '' WHERE r.schedule = ? AND r.schedule <> ''
			UNION ALL SELECT microusd, 0 FROM schedule_money WHERE schedule = ?) AS taken`,
		schedule, schedule, schedule).Scan(&gone, &held)
	return gone, held, err
}

func addTaken(ctx context.Context, q querier, s *store.Schedule) error {
	gone, held, err := takenBy(ctx, q, s.Name)
	s.TakenMicroUSD = gone + held
	return err
}

// keepTaken adds what collected runs of schedules have taken to what is kept of
// them.
func keepTaken(ctx context.Context, tx *transaction) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO schedule_money (schedule, microusd)
		SELECT h.schedule, sum(r.spent + r.charged_microusd)
		FROM runs r JOIN runs h ON h.id = coalesce(nullif(r.parent, ''), r.id)
		WHERE h.schedule <> '' AND r.id IN (SELECT run FROM collected) GROUP BY h.schedule
		ON CONFLICT (schedule) DO UPDATE SET microusd = schedule_money.microusd + excluded.microusd`)
	return err
}
