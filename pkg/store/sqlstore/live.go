package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// SetLive replaces what is known of what a run is doing right now. Of a done run
// nothing is kept: its last news may come late.
func (db *DB) SetLive(ctx context.Context, run string, l eval.Live) error {
	err := db.setLive(ctx, run, l)
	if err != nil {
		return fmt.Errorf("store what run %s is doing: %w", run, err)
	}
	return nil
}

func (db *DB) setLive(ctx context.Context, run string, l eval.Live) error {
	body, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return db.change(ctx, func(tx *transaction) error {
		res, err := tx.ExecContext(ctx, `
			INSERT INTO live (run, body) SELECT id, CAST(?2 AS TEXT) FROM runs WHERE id = ?1 AND state <> 'done'
			ON CONFLICT (run) DO UPDATE SET body = excluded.body`, run, string(body))
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return known(ctx, tx, run)
	})
}

// Live returns what SetLive stored last, or ErrNotFound.
func (db *DB) Live(ctx context.Context, run string) (eval.Live, error) {
	var body []byte
	var l eval.Live
	err := db.look(ctx, func(q querier) error {
		return q.queryRow(ctx, `SELECT body FROM live WHERE run = ?`, run).Scan(&body)
	})
	if err == nil {
		err = json.Unmarshal(body, &l)
	}
	if err != nil {
		return eval.Live{}, fmt.Errorf("what run %s is doing: %w", run, missing(err))
	}
	return l, nil
}
