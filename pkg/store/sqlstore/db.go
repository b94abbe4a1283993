// Package sqlstore keeps a farm in a database, by statements that SQLite and
// PostgreSQL both understand. What the two do differently is in a [Dialect]; an
// adapter for each gives one, with its connections and its migrations.
//
// Writers take turns, in this process and beside it: that is how nobody comes
// between the look at the caps and the marks, how a trial gets one result, and how
// events appear in the order of their numbers. Readers wait for nobody.
//
// The behaviour is the one that storetest fixes for every store.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

var _ store.Store = (*DB)(nil)

// DB is a store in a database. It is safe for concurrent use.
type DB struct {
	Options
	id string
}

// Options of a store. All but Now are required.
type Options struct {
	// Write has one connection, so that the writers of this process queue in Go and
	// not in the database.
	Write *sql.DB
	// Read has connections for queries. The number of them bounds memory, not the
	// callers: those wait for their turn.
	Read *sql.DB
	// Dialect of the database.
	Dialect Dialect
	// Now is the clock of days and events; nil means the one of the machine.
	Now func() time.Time
}

// Open makes a store of a database whose schema is up to date. Its connections
// become those of the store, and are closed if there is an error.
func Open(ctx context.Context, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	db := &DB{Options: o}
	if err := db.identify(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// ID names the store for ever: 16 letters and digits, minted when the database
// was first opened.
func (db *DB) ID() string { return db.id }

// Close waits for the transactions under way and closes the connections.
func (db *DB) Close() error {
	return errors.Join(db.Read.Close(), db.Write.Close())
}

func (db *DB) now() time.Time { return db.Now() }

// change carries out fn in one transaction. It waits for other writers. fn may be
// carried out again, so it must begin anew each time: whether a commit that got
// no answer has happened, nobody knows, and every write may be repeated.
func (db *DB) change(ctx context.Context, fn func(tx *transaction) error) error {
	return db.patiently(ctx, func() error { return db.transact(ctx, fn) })
}

func (db *DB) transact(ctx context.Context, fn func(tx *transaction) error) error {
	on, err := db.Write.Conn(ctx)
	if err != nil {
		return err
	}
	defer on.Close()
	// Each statement sees what was committed before it, so what it reads is as new as
	// its turn to write.
	raw, err := on.BeginTx(ctx, &sql.TxOptions{Isolation: db.Dialect.Isolation})
	if err != nil {
		return err
	}
	tx := &transaction{on: on, tx: raw, dialect: &db.Dialect, stmts: map[string]*sql.Stmt{}}
	if db.Dialect.Turn != "" {
		err = tx.later(ctx, db.Dialect.Turn)
	}
	if err == nil {
		err = fn(tx)
	}
	if err == nil {
		err = tx.flush(ctx)
	}
	if err == nil {
		return raw.Commit()
	}
	if undo := raw.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) && !db.passes(err) { // done: ctx ended
		err = errors.Join(err, undo)
	}
	return err
}

// exec carries out one statement that writes.
func (db *DB) exec(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = db.change(ctx, func(tx *transaction) error {
		res, err := tx.ExecContext(ctx, query, args...)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// look carries out fn, which only reads. Each of its queries sees what was
// committed before it. fn may be carried out again, from the start.
func (db *DB) look(ctx context.Context, fn func(q querier) error) error {
	return db.patiently(ctx, func() error { return fn(snapshot{db.Read, &db.Dialect}) })
}

// patience is how long a lost connection is tried to be made again. A database
// that is restarted comes back sooner; one that does not is for a person to see.
const patience = 10 * time.Second

// patiently tries again what fails by an error that passes.
func (db *DB) patiently(ctx context.Context, try func() error) error {
	begun := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		err := try()
		if err == nil || ctx.Err() != nil || !db.passes(err) || time.Since(begun) > patience {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

func (db *DB) passes(err error) bool {
	return db.Dialect.Passes != nil && db.Dialect.Passes(err)
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
