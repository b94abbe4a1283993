package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// SetQuarantine puts a case under quarantine, or changes its quarantine.
func (db *DB) SetQuarantine(ctx context.Context, q eval.Quarantine) error {
	if q.Made.IsZero() {
		q.Made = time.Now()
	}
	_, err := db.exec(ctx, `
		INSERT INTO quarantines (suite, case_id, variant, reason, made_by, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (suite, case_id, variant) DO UPDATE SET
			reason = excluded.reason, made_by = excluded.made_by, made = excluded.made, expires = excluded.expires`,
		q.Suite, q.Case, q.Variant, q.Reason, q.By, micros(q.Made), micros(q.Expires))
	if err != nil {
		return fmt.Errorf("quarantine case %s of suite %s: %w", q.Case, q.Suite, err)
	}
	return nil
}

// DropQuarantine ends the quarantine of a case and variant, or is ErrNotFound.
func (db *DB) DropQuarantine(ctx context.Context, suite, id, variant string) error {
	err := db.touch(ctx, `DELETE FROM quarantines WHERE suite = ? AND case_id = ? AND variant = ?`, suite, id, variant)
	if err != nil {
		return fmt.Errorf("end the quarantine of case %s of suite %s: %w", id, suite, err)
	}
	return nil
}

// Quarantines returns those of a suite, or of all, by suite, case and variant.
func (db *DB) Quarantines(ctx context.Context, suite string) ([]eval.Quarantine, error) {
	var qs []eval.Quarantine
	err := db.look(ctx, func(q querier) (err error) {
		qs, err = readAll(ctx, q, scanQuarantine, `
			SELECT suite, case_id, variant, reason, made_by, made, expires FROM quarantines
			WHERE ?1 = '' OR suite = ?1 ORDER BY suite, case_id, variant`, suite)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list quarantines: %w", err)
	}
	return qs, nil
}

func scanQuarantine(row scanner) (eval.Quarantine, error) {
	var q eval.Quarantine
	var made, expires int64
	err := row.Scan(&q.Suite, &q.Case, &q.Variant, &q.Reason, &q.By, &made, &expires)
	q.Made, q.Expires = moment(made), moment(expires)
	return q, err
}
