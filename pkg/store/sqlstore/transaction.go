package sqlstore

import (
	"context"
	"database/sql"
)

// A transaction carries out statements that write. It may have the same few many
// times: it prepares each at its first use, and its end closes them.
type transaction struct {
	tx      *sql.Tx
	dialect *Dialect
	stmts   map[string]*sql.Stmt
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.tx.PrepareContext(ctx, t.dialect.render(query))
	if err != nil {
		return nil, err
	}
	t.stmts[query] = s
	return s, nil
}

// ExecContext carries out a statement.
func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	args, err := t.dialect.args(args)
	if err != nil {
		return nil, err
	}
	if t.dialect.Prepares {
		return t.tx.ExecContext(ctx, t.dialect.render(query), args...)
	}
	s, err := t.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(ctx, args...)
}

// QueryContext asks for rows.
func (t *transaction) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	args, err := t.dialect.args(args)
	if err != nil {
		return nil, err
	}
	if t.dialect.Prepares {
		return t.tx.QueryContext(ctx, t.dialect.render(query), args...)
	}
	s, err := t.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// queryRow reads one row.
func (t *transaction) queryRow(ctx context.Context, query string, args ...any) scanner {
	return firstRow(t.QueryContext(ctx, query, args...))
}
