package sqlitestore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. Each migration is one transaction.
func migrate(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
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

// identify returns the store's id and mints it in a new file.
func identify(ctx context.Context, db *sql.DB) (string, error) {
	var id string
	err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'id'`).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	// 80 random bits: two stores on one Redis never meet.
	mint := strings.ToLower(rand.Text()[:16])
	if _, err := db.ExecContext(ctx, `INSERT INTO meta (key, value) VALUES ('id', ?) ON CONFLICT DO NOTHING`, mint); err != nil {
		return "", err
	}
	err = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'id'`).Scan(&id)
	return id, err
}
