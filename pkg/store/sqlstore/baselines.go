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
			INSERT INTO baselines (suite, name, run, made) VALUES (?, ?, ?, ?)
			ON CONFLICT (suite, name) DO UPDATE SET run = excluded.run, made = excluded.made`, b.Suite, b.Name, b.Run, micros(b.Made))
		return err
	})
	if err != nil {
		return fmt.Errorf("make run %s the baseline %s of suite %s: %w", b.Run, b.Name, b.Suite, err)
	}
	return nil
}

// Baseline returns a baseline of a suite, or ErrNotFound.
func (db *DB) Baseline(ctx context.Context, suite, name string) (store.Baseline, error) {
	var b store.Baseline
	err := db.look(ctx, func(q querier) (err error) {
		b, err = scanBaseline(q.queryRow(ctx, `SELECT suite, name, run, made FROM baselines WHERE suite = ? AND name = ?`, suite, name))
		return err
	})
	if err != nil {
		return store.Baseline{}, fmt.Errorf("baseline %s of suite %s: %w", name, suite, missing(err))
	}
	return b, nil
}

// Baselines returns all baselines, by suite and name.
func (db *DB) Baselines(ctx context.Context) ([]store.Baseline, error) {
	var bs []store.Baseline
	err := db.look(ctx, func(q querier) (err error) {
		bs, err = readAll(ctx, q, scanBaseline, `SELECT suite, name, run, made FROM baselines ORDER BY suite, name`)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list baselines: %w", err)
	}
	return bs, nil
}

func scanBaseline(row scanner) (store.Baseline, error) {
	var b store.Baseline
	var made int64
	err := row.Scan(&b.Suite, &b.Name, &b.Run, &made)
	b.Made = moment(made)
	return b, err
}
