package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

// Migrate brings a schema up to date with the files, whose dialect is the name that
// goose has for the database: "sqlite3" or "postgres". Each migration is one
// transaction.
func Migrate(ctx context.Context, db *sql.DB, dialect string, files fs.FS) error {
	p, err := goose.NewProvider(goose.Dialect(dialect), db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	current, newest, err := p.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("its schema has version %d and this program knows versions up to %d: it was written by a newer evalfarm", current, newest)
	}
	// Another process may be carrying out the same migrations: then one of ours
	// fails, and what is left to do is looked at again.
	for tries := 0; ; tries++ {
		_, err := p.Up(ctx)
		if err == nil {
			return nil
		}
		if current, _, again := p.GetVersions(ctx); again == nil && current == newest {
			return nil
		}
		if tries == 100 {
			return fmt.Errorf("migrate the schema: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("migrate the schema: %w", context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// identify reads the store's id, and mints it in a new database.
func (db *DB) identify(ctx context.Context) error {
	const ask = `SELECT value FROM meta WHERE key = 'id'`
	err := db.look(ctx, func(q querier) error { return q.queryRow(ctx, ask).Scan(&db.id) })
	if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	// 80 random bits: two stores on one Redis never meet.
	mint := strings.ToLower(rand.Text()[:16])
	return db.change(ctx, func(tx *transaction) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('id', ?) ON CONFLICT DO NOTHING`, mint); err != nil {
			return err
		}
		return tx.queryRow(ctx, ask).Scan(&db.id)
	})
}
