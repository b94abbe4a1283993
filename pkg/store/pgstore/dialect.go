package pgstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/evalfarm/evalfarm/pkg/store/sqlstore"
)

// Locks of this kind are those of evalfarm: the first half of their number says so,
// in the letters "eval". The second half is that of the table of the store's id, so
// that stores in several schemas of a database do not wait for each other.
const (
	turn      = `SELECT pg_advisory_xact_lock(1702257004, 'meta'::regclass::oid::integer)`
	migrating = `1702257004, hashtext(current_schema())`
)

func dialect() sqlstore.Dialect {
	return sqlstore.Dialect{
		Numbered: true,
		Prepares: true,
		Together: together,
		// Not the default of the server, which may be another one.
		Isolation:  sql.LevelReadCommitted,
		Turn:       turn,
		OpenTrials: "trials",
		Arg:        arg,
		Passes:     passes,
	}
}

// together sends statements and a query in one go. What would be a journey for each
// of them is most of the time that a transaction takes.
func together(ctx context.Context, on *sql.Conn, held []sqlstore.Statement, query *sqlstore.Statement, dest []any) error {
	return on.Raw(func(driver any) error {
		var batch pgx.Batch
		for _, s := range held {
			batch.Queue(s.SQL, s.Args...)
		}
		if query != nil {
			batch.Queue(query.SQL, query.Args...).QueryRow(func(row pgx.Row) error { return row.Scan(dest...) })
		}
		return driver.(*stdlib.Conn).Conn().SendBatch(ctx, &batch).Close()
	})
}

// arg turns an argument into what PostgreSQL can hold. Text is UTF-8 without the
// character 0: of that, names get U+FFFD. What a server said is kept as it is.
func arg(a any) (any, error) {
	if b, ok := a.(sqlstore.Bytes); ok {
		return []byte(b), nil
	}
	v, err := driver.DefaultParameterConverter.ConvertValue(a)
	if s, ok := v.(string); ok {
		v = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	return v, err
}

// passes says whether an error is one of the connection, or of a server that is
// about to end or to begin.
func passes(err error) bool {
	if answer, ok := errors.AsType[*pgconn.PgError](err); ok {
		return slices.Contains([]string{
			"57P01", // admin_shutdown
			"57P02", // crash_shutdown
			"57P03", // cannot_connect_now
			"25P03", // idle_in_transaction_session_timeout: we were stopped for a while
			"40001", // serialization_failure
			"40P01", // deadlock_detected
			"53300", // too_many_connections
		}, answer.Code) || strings.HasPrefix(answer.Code, "08") // connection_exception
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
