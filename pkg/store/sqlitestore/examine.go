package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// An Examination is the state of a store's file.
type Examination struct {
	// Exists says that there is a file. Without one all else is zero but Newest.
	Exists bool
	// Version of its schema, and the newest that this program knows. Opening the store
	// brings an older one up to date.
	Version, Newest int64
	// Bytes of the file.
	Bytes int64
}

// Examine looks at the file of a store without changing it, and sees whether a
// transaction could write to it. The error is why the file is no store, or cannot
// be written.
func Examine(ctx context.Context, file string) (Examination, error) {
	var e Examination
	var err error
	if e.Newest, err = newest(); err != nil {
		return e, fmt.Errorf("examine store %s: %w", file, err)
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return e, fmt.Errorf("examine store %s: %w", file, err)
	}
	e.Exists, e.Bytes = true, info.Size()
	if e.Version, err = examine(ctx, file); err != nil {
		return e, fmt.Errorf("examine store %s: %w", file, err)
	}
	return e, nil
}

func examine(ctx context.Context, file string) (version int64, err error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return 0, err
	}
	db, err := sql.Open("sqlite", dsn(abs, url.Values{
		"mode": {"rw"}, "_busy_timeout": {strconv.FormatInt(busyTimeout.Milliseconds(), 10)}, "_txlock": {"immediate"},
	}))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&version)
	if err != nil && !strings.Contains(err.Error(), "no such table") { // a file that nobody has opened yet
		return 0, err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return version, fmt.Errorf("begin to write: %w", err)
	}
	return version, tx.Rollback()
}

// newest is the version of the last migration.
func newest() (int64, error) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		return 0, err
	}
	var last int64
	for _, f := range files {
		number, _, _ := strings.Cut(path.Base(f.Name()), "_")
		version, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("migration %s: %w", f.Name(), err)
		}
		last = max(last, version)
	}
	return last, nil
}
