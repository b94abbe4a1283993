package sqlstore

import (
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Events returns events of a run (of all runs for "") after a sequence number,
// at most limit, all of them for 0. Writers take turns, so an event never
// appears before one that was returned already.
func (db *DB) Events(ctx context.Context, run string, after int64, n int) ([]eval.Event, error) {
	query := `SELECT seq, run, kind, at, ordinal, verdict, state FROM events WHERE seq > ? ORDER BY seq LIMIT ?`
	var args []any
	if run != "" {
		query = `SELECT seq, run, kind, at, ordinal, verdict, state FROM events WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?`
		args = []any{run}
	}
	args = append(args, after, limit(n))
	var es []eval.Event
	err := db.look(ctx, func(q querier) (err error) {
		es, err = readAll(ctx, q, scanEvent, query, args...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return es, nil
}

func scanEvent(row scanner) (eval.Event, error) {
	var e eval.Event
	var at int64
	err := row.Scan(&e.Seq, &e.Run, &e.Kind, &at, &e.Ordinal, &e.Verdict, &e.State)
	e.At = moment(at)
	return e, err
}

func addEvent(ctx context.Context, tx *transaction, e eval.Event) error {
	return tx.later(ctx, `INSERT INTO events (run, kind, at, ordinal, verdict, state) VALUES (?, ?, ?, ?, ?, ?)`,
		e.Run, e.Kind, micros(e.At), e.Ordinal, e.Verdict, e.State)
}
