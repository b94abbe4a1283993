package sqlstore

import (
	"context"
	"database/sql"
)

// A transaction carries out statements that write. It may have the same few many
// times: it prepares each at its first use, and its end closes them.
type transaction struct {
	on      *sql.Conn
	tx      *sql.Tx
	dialect *Dialect
	stmts   map[string]*sql.Stmt
	// held are statements that wait for the next journey to the database.
	held []Statement
}

// heldAtOnce bounds the memory that held statements take.
const heldAtOnce = 500

func (t *transaction) statement(query string, args []any) (Statement, error) {
	args, err := t.dialect.args(args)
	return Statement{t.dialect.render(query), args}, err
}

func (t *transaction) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s, ok := t.stmts[query]; ok {
		return s, nil
	}
	s, err := t.tx.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	t.stmts[query] = s
	return s, nil
}

// later carries out a statement whose result nobody asks for: before any other
// statement and before the end, which may have its error.
func (t *transaction) later(ctx context.Context, query string, args ...any) error {
	if t.dialect.Together == nil {
		_, err := t.ExecContext(ctx, query, args...)
		return err
	}
	s, err := t.statement(query, args)
	if err != nil {
		return err
	}
	t.held = append(t.held, s)
	if len(t.held) < heldAtOnce {
		return nil
	}
	return t.flush(ctx)
}

// flush carries out what is held.
func (t *transaction) flush(ctx context.Context) error {
	if len(t.held) == 0 {
		return nil
	}
	held := t.held
	t.held = nil
	return t.dialect.Together(ctx, t.on, held, nil, nil)
}

// ExecContext carries out a statement.
func (t *transaction) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s, err := t.statement(query, args)
	if err == nil {
		err = t.flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	if t.dialect.Prepares {
		return t.tx.ExecContext(ctx, s.SQL, s.Args...)
	}
	stmt, err := t.prepare(ctx, s.SQL)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(ctx, s.Args...)
}

// QueryContext asks for rows.
func (t *transaction) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s, err := t.statement(query, args)
	if err == nil {
		err = t.flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	if t.dialect.Prepares {
		return t.tx.QueryContext(ctx, s.SQL, s.Args...)
	}
	stmt, err := t.prepare(ctx, s.SQL)
	if err != nil {
		return nil, err
	}
	return stmt.QueryContext(ctx, s.Args...)
}

// queryRow reads one row, when that is scanned.
func (t *transaction) queryRow(ctx context.Context, query string, args ...any) scanner {
	return question{t, ctx, query, args}
}

// A question is a query for one row that has not been asked yet.
type question struct {
	t     *transaction
	ctx   context.Context //nolint:containedctx // lives until the next expression
	query string
	args  []any
}

// Scan asks, together with what is held.
func (q question) Scan(dest ...any) error {
	if len(q.t.held) == 0 {
		return firstRow(q.t.QueryContext(q.ctx, q.query, q.args...)).Scan(dest...)
	}
	s, err := q.t.statement(q.query, q.args)
	if err != nil {
		return err
	}
	held := q.t.held
	q.t.held = nil
	return q.t.dialect.Together(q.ctx, q.t.on, held, &s, dest)
}
