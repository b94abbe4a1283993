package sqlstore

import (
	"context"
	"database/sql"
)

// A querier reads: in a transaction what that has written, too.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	queryRow(ctx context.Context, query string, args ...any) scanner
}

// A snapshot reads what was committed before each query.
type snapshot struct {
	db      *sql.DB
	dialect *Dialect
}

// QueryContext asks for rows.
func (s snapshot) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	args, err := s.dialect.args(args)
	if err != nil {
		return nil, err
	}
	return s.db.QueryContext(ctx, s.dialect.render(query), args...)
}

func (s snapshot) queryRow(ctx context.Context, query string, args ...any) scanner {
	return firstRow(s.QueryContext(ctx, query, args...))
}

// scanner is what a row and the rows of a query have in common.
type scanner interface {
	Scan(dest ...any) error
}

// A row is the first of a query, or the error of the query.
type row struct {
	rows *sql.Rows
	err  error
}

func firstRow(rows *sql.Rows, err error) row { return row{rows, err} }

// Scan reads the row and ends the query. It fails with sql.ErrNoRows if there is
// none.
func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	return r.rows.Close()
}

// readAll reads all rows of a query.
func readAll[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}
