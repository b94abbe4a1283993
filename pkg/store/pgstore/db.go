// Package pgstore keeps a farm in a PostgreSQL database.
//
// Any number of processes on any number of machines may have it open. Readers never
// wait. Writers take turns by a lock of the whole store that each transaction takes
// first and that ends with it, so everything that holds for the one writer of SQLite
// holds here. docs/decisions/0006 says what that costs.
//
// A connection that is lost is made again, for a while, and what was under way is
// carried out again.
//
// The statements are those of sqlstore.
package pgstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/evalfarm/evalfarm/pkg/store/sqlstore"
)

const (
	// readers is the number of connections for queries of one process. A server has a
	// hundred by default, for everybody.
	readers = 4
	// connecting bounds one try to connect, unless the URL has a connect_timeout.
	connecting = 5 * time.Second
	// frozen is how long a transaction may be idle until the server ends it: that of
	// a process that was stopped in the middle of one would keep all others from
	// writing.
	frozen = 10 * time.Second
)

//go:embed migrations/*.sql
var migrations embed.FS

// Open opens the store in the database that a postgres:// URL names, and brings its
// schema up to date. The database must exist; the schema is the first of its search
// path. No error shows the URL's password.
func Open(ctx context.Context, url string) (*sqlstore.DB, error) {
	return openAt(ctx, url, time.Now)
}

// openAt opens a store whose days begin by a clock.
func openAt(ctx context.Context, url string, now func() time.Time) (*sqlstore.DB, error) {
	config, err := parse(url)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, config, now)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", address(config), explain(config, err))
	}
	return db, nil
}

func open(ctx context.Context, config *pgx.ConnConfig, now func() time.Time) (*sqlstore.DB, error) {
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	config.DialFunc = dialer().DialContext
	config.RuntimeParams["application_name"] = "evalfarm"
	write := config.Copy()
	write.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(frozen.Milliseconds())
	read := config.Copy()
	read.RuntimeParams["default_transaction_read_only"] = "on"
	w, r := stdlib.OpenDB(*write), stdlib.OpenDB(*read)
	w.SetMaxOpenConns(1)
	r.SetMaxOpenConns(readers)
	r.SetMaxIdleConns(readers)
	if err := prepare(ctx, w, r); err != nil {
		return nil, errors.Join(err, r.Close(), w.Close())
	}
	return sqlstore.Open(ctx, sqlstore.Options{Write: w, Read: r, Now: now, Dialect: dialect()})
}

// prepare brings the schema up to date, one process after the other.
func prepare(ctx context.Context, write, read *sql.DB) error {
	guard, err := read.Conn(ctx)
	if err != nil {
		return err
	}
	defer guard.Close()
	var encoding string
	if err := guard.QueryRowContext(ctx, `SHOW server_encoding`).Scan(&encoding); err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s; make one with ENCODING 'UTF8'", encoding)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if _, err := guard.ExecContext(ctx, `SELECT pg_advisory_lock(`+migrating+`)`); err != nil {
		return err
	}
	err = sqlstore.Migrate(ctx, write, "postgres", files)
	if _, free := guard.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock(`+migrating+`)`); err == nil {
		err = free
	}
	return err
}
