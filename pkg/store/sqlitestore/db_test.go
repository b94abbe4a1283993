package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Exercise(t, func(t *testing.T) store.Store {
		return openFile(t, filepath.Join(t.TempDir(), "store.db"))
	})
}

func openFile(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
