package fileblob_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/blobtest"
	"github.com/evalfarm/evalfarm/pkg/blob/fileblob"
)

func open(t *testing.T, dir string) *fileblob.Folder {
	t.Helper()
	f, err := fileblob.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func path(dir, sha256 string) string { return filepath.Join(dir, sha256[:2], sha256+".zst") }

func TestConformance(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	blobtest.Share(t, func(t *testing.T) blob.Share { t.Helper(); return open(t, dir) },
		func(t *testing.T, sha256 string, content []byte) {
			t.Helper()
			if err := os.WriteFile(path(dir, sha256), content, 0o600); err != nil {
				t.Fatal(err)
			}
		})
	left, err := filepath.Glob(filepath.Join(dir, "*", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("half files are left: %q, %v", left, err)
	}
}

// What is put again is young again, so that what is old can be deleted.
func TestPutAgainIsYoung(t *testing.T) {
	dir := t.TempDir()
	f, b := open(t, dir), blob.Pack([]byte("hello"))
	if err := f.PutBlobs(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-24 * time.Hour)
	if err := os.Chtimes(path(dir, b.SHA256), old, old); err != nil {
		t.Fatal(err)
	}
	if err := f.PutBlobs(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path(dir, b.SHA256)); err != nil || !info.ModTime().After(old) {
		t.Errorf("the blob is of %v, %v, want it younger", info.ModTime(), err)
	}
}

func TestFolderThatIsNotMounted(t *testing.T) {
	if _, err := fileblob.Open(filepath.Join(t.TempDir(), "not", "mounted")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want %v", err, fs.ErrNotExist)
	}
}
