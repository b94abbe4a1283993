package sqlitestore_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "evalfarm.db")
	got, err := sqlitestore.Examine(t.Context(), file)
	if err != nil || got.Exists || got.Newest == 0 {
		t.Fatalf("without a file: got %+v, %v, want that there is none", got, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("got %v, want that looking makes no file", err)
	}
	db, err := sqlitestore.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	got, err = sqlitestore.Examine(t.Context(), file)
	if err != nil || !got.Exists || got.Version != got.Newest || got.Bytes == 0 {
		t.Errorf("of an open store: got %+v, %v, want the newest version", got, err)
	}
	raw, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlitestore.Examine(t.Context(), file); err != nil || got.Version != 9999 {
		t.Errorf("of a newer store: got %+v, %v, want version 9999", got, err)
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlitestore.Examine(t.Context(), empty); err != nil || got.Version != 0 {
		t.Errorf("of an empty file: got %+v, %v, want version 0", got, err)
	}
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitestore.Examine(t.Context(), text); err == nil || !strings.Contains(err.Error(), "file is not a database") {
		t.Errorf("of a text: got %v, want that it is no database", err)
	}
}
