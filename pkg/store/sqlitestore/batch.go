package sqlitestore

import (
	"context"
	"database/sql"
)

// A batch is a transaction that carries out the same few statements many
// times. It prepares each at its first use; the end of the transaction closes
// them.
type batch struct {
	tx    *sql.Tx
	stmts map[string]*sql.Stmt
}

func newBatch(tx *sql.Tx) *batch { return &batch{tx: tx, stmts: map[string]*sql.Stmt{}} }

func (b *batch) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := b.stmts[query]; ok {
		return s, nil
	}
	s, err := b.tx.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	b.stmts[query] = s
	return s, nil
}

// ExecContext carries out a statement.
func (b *batch) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := b.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// queryRow reads one row.
func (b *batch) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := b.prepare(ctx, query)
	if err != nil {
		return b.tx.QueryRowContext(ctx, query, args...) // the row carries the error
	}
	return s.QueryRowContext(ctx, args...)
}
