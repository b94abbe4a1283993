// Package sqlitestore keeps a farm in one SQLite file.
//
// Several processes may open the file at once: a run in one terminal, a status
// or a cancel in another. Readers never wait for writers (WAL); writers wait for
// each other. A committed transaction survives kill -9 and power loss
// (synchronous=FULL). The file must be on a local disk: WAL shares memory
// between processes, which network file systems cannot.
//
// The statements are those of sqlstore.
package sqlitestore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver

	"github.com/evalfarm/evalfarm/pkg/store/sqlstore"
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

//go:embed migrations/*.sql
var migrations embed.FS

// Open opens the store in the file path and brings its schema up to date. A
// file that does not exist is created, its folder is not.
func Open(ctx context.Context, path string) (*sqlstore.DB, error) {
	return openAt(ctx, path, time.Now)
}

// openAt opens a store whose days begin by a clock.
func openAt(ctx context.Context, path string, now func() time.Time) (*sqlstore.DB, error) {
	db, err := open(ctx, path, now)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return db, nil
}

func open(ctx context.Context, path string, now func() time.Time) (*sqlstore.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	timeout := strconv.FormatInt(busyTimeout.Milliseconds(), 10)
	// Transactions begin immediate: one that reads before it writes cannot find its
	// snapshot outdated.
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

	files, err := fs.Sub(migrations, "migrations")
	if err == nil {
		err = sqlstore.Migrate(ctx, write, "sqlite3", files)
	}
	if err != nil {
		return nil, errors.Join(err, read.Close(), write.Close())
	}
	return sqlstore.Open(ctx, sqlstore.Options{
		Write: write, Read: read, Now: now,
		Dialect: sqlstore.Dialect{
			// Unasked, SQLite would go through all trials of a run.
			OpenTrials: "trials INDEXED BY trials_outstanding",
			Shrink:     func(ctx context.Context) error { return shrink(ctx, write) },
		},
	})
}

// dsn names a file as a URI, so that a path may hold any character.
func dsn(path string, options url.Values) string {
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode()}
	return u.String()
}

// slice is how many pages shrink hands back in one transaction, so that other
// writers get their turn within milliseconds.
const slice = 1000

// shrink hands the free pages back to the file system, step by step.
func shrink(ctx context.Context, write *sql.DB) error {
	for before := math.MaxInt; ; {
		var free int
		if err := write.QueryRowContext(ctx, `PRAGMA freelist_count`).Scan(&free); err != nil {
			return err
		}
		if free == 0 || free >= before { // others may need and free pages meanwhile
			return nil
		}
		before = free
		// A transaction of its own.
		if _, err := write.ExecContext(ctx, fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, slice)); err != nil {
			return err
		}
	}
}
