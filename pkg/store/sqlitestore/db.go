// Package sqlitestore keeps a farm in one SQLite file.
//
// Several processes may open the file at once: a run in one terminal, a status
// or a cancel in another. Readers never wait for writers (WAL); writers wait for
// each other. A committed transaction survives kill -9 and power loss
// (synchronous=FULL). The file must be on a local disk: WAL shares memory
// between processes, which network file systems cannot.
//
// The behaviour is the one that storetest fixes for every store.
package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver

	"github.com/evalfarm/evalfarm/pkg/store"
)

const (
	// busyTimeout bounds the wait for another process's transaction. The longest
	// are those of Collect, well below a second; the rest is for a machine under
	// load.
	busyTimeout = 30 * time.Second
	// readers is the number of connections for queries. It bounds the page
	// caches (2 MB each), not the callers: those wait for their turn.
	readers = 4
	// walKept is how large a write-ahead log stays, in bytes, once it has been
	// folded in. Normal traffic keeps it at 4 MB.
	walKept = 64 << 20
)

var _ store.Store = (*DB)(nil)

// DB is a store in a SQLite file. It is safe for concurrent use.
type DB struct {
	id string
	// write has one connection, so that writers of this process queue in Go
	// instead of polling SQLite's lock. Its transactions begin immediate: one
	// that reads before it writes cannot find its snapshot outdated.
	write *sql.DB
	read  *sql.DB
	// now is the clock of days and events.
	now func() time.Time
}

// Open opens the store in the file path and brings its schema up to date. A
// file that does not exist is created, its folder is not.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := open(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return db, nil
}

func open(ctx context.Context, path string) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	timeout := strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	write, err := sql.Open("sqlite", dsn(abs, url.Values{
		"_busy_timeout": {timeout},
		"_auto_vacuum":  {"incremental"},
		"_journal_mode": {"wal"},
		"_synchronous":  {"full"},
		"_foreign_keys": {"on"},
		"_txlock":       {"immediate"},
		"_pragma":       {"journal_size_limit(" + strconv.Itoa(walKept) + ")"},
	}))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := sql.Open("sqlite", dsn(abs, url.Values{
		"_busy_timeout": {timeout},
		"_query_only":   {"on"},
	}))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)

	db := &DB{write: write, read: read, now: time.Now}
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if db.id, err = identify(ctx, write); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// dsn names a file as a URI, so that a path may hold any character.
func dsn(path string, options url.Values) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode()}
	return u.String()
}

// ID names the store for ever: 16 letters and digits, minted when the file was
// created.
func (db *DB) ID() string { return db.id }

// Close waits for the transactions under way and closes the file. The last
// process to close it folds the write-ahead log into it.
func (db *DB) Close() error {
	return errors.Join(db.read.Close(), db.write.Close())
}

// change carries out fn in one transaction. It waits for other writers.
func (db *DB) change(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) { // done: ctx ended
			err = errors.Join(err, undo)
		}
		return err
	}
	return tx.Commit()
}

// querier is what *sql.DB and *sql.Tx have in common.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
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

// scanner is what *sql.Row and *sql.Rows have in common.
type scanner interface {
	Scan(dest ...any) error
}

// missing turns the absence of a row into the store's own error.
func missing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// micros is a time as it is stored.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// moment is a stored time.
func moment(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}
