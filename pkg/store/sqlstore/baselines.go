package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// SetBaseline gives a done run a name, which another run of the suite may have
// had before.
func (db *DB) SetBaseline(ctx context.Context, b store.Baseline) error {
	if b.Made.IsZero() {
		b.Made = time.Now()
	}
	err := db.change(ctx, func(tx *transaction) error {
		var state eval.RunState
		err := tx.queryRow(ctx, `SELECT state FROM runs WHERE id = ? AND suite = ? AND parent = ''`, b.Run, b.Suite).Scan(&state)
		if err != nil {
			return missing(err)
		}
		if state != eval.RunDone {
			return errors.New("the run is not done")
		}
		_, err = tx.ExecContext(ctx, `
			INSERT INTO baselines (`+baselineColumns+`) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (suite, name, branch) DO UPDATE SET run = excluded.run, made = excluded.made, note = excluded.note`,
			b.Suite, b.Name, b.Branch, b.Run, micros(b.Made), b.Note)
		return err
	})
	if err != nil {
		return fmt.Errorf("make run %s the baseline %s of suite %s: %w", b.Run, b.Name, b.Suite, err)
	}
	return nil
}

// Baseline returns the baseline of a suite that has a name on a branch, else the one
// that has it on any, or ErrNotFound.
func (db *DB) Baseline(ctx context.Context, suite, name, branch string) (store.Baseline, error) {
	var b store.Baseline
	err := db.look(ctx, func(q querier) (err error) {
		b, err = scanBaseline(q.queryRow(ctx, `SELECT `+baselineColumns+` FROM baselines
			WHERE suite = ? AND name = ? AND branch IN (?, '') ORDER BY branch DESC LIMIT 1`, suite, name, branch))
		return err
	})
	if err != nil {
		return store.Baseline{}, fmt.Errorf("baseline %s of suite %s: %w", name, suite, missing(err))
	}
	return b, nil
}

// Baselines returns all baselines, by suite, name and branch.
func (db *DB) Baselines(ctx context.Context) ([]store.Baseline, error) {
	var bs []store.Baseline
	err := db.look(ctx, func(q querier) (err error) {
		bs, err = readAll(ctx, q, scanBaseline, `SELECT `+baselineColumns+` FROM baselines ORDER BY suite, name, branch`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list baselines: %w", err)
	}
	return bs, nil
}

// DeleteBaseline takes a name away, of exactly this branch.
func (db *DB) DeleteBaseline(ctx context.Context, suite, name, branch string) error {
	if err := db.touch(ctx, `DELETE FROM baselines WHERE suite = ? AND name = ? AND branch = ?`, suite, name, branch); err != nil {
		return fmt.Errorf("delete baseline %s of suite %s: %w", name, suite, err)
	}
	return nil
}

const baselineColumns = `suite, name, branch, run, made, note`

func scanBaseline(row scanner) (store.Baseline, error) {
	var b store.Baseline
	var made int64
	err := row.Scan(&b.Suite, &b.Name, &b.Branch, &b.Run, &made, &b.Note)
	b.Made = moment(made)
	return b, err
}
