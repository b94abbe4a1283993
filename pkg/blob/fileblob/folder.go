// Package fileblob keeps blobs in a folder, which may be on a file system that
// many machines share. Any number of processes may write at once: a blob appears
// by a rename, under the name of its content, so whoever is last changes nothing.
package fileblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A Folder is a [blob.Share]. It is safe for concurrent use.
//
// The blob with the sha256 abcd… is the file ab/abcd….zst. Its time of change is
// when it was last put, so what is older than the runs that are kept can go.
type Folder struct{ dir string }

var _ blob.Share = (*Folder)(nil)

// Open opens a folder and makes it if need be; the folder that it is in must be
// there, or a share that is not mounted would be taken for an empty one.
func Open(dir string) (*Folder, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("open the blob folder: %w", err)
	}
	return &Folder{dir: dir}, nil
}

func (f *Folder) path(sha256 string) string {
	return filepath.Join(f.dir, sha256[:2], sha256+".zst")
}

// PutBlobs implements [blob.Store].
func (f *Folder) PutBlobs(_ context.Context, bs ...eval.Blob) error {
	for _, b := range bs {
		if err := f.put(b); err != nil {
			return fmt.Errorf("put blob %.64q: %w", b.SHA256, err)
		}
	}
	return nil
}

func (f *Folder) put(b eval.Blob) error {
	if _, err := blob.Unpack(b); err != nil {
		return err
	}
	path := f.path(b.SHA256)
	now := time.Now()
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(b.Zstd)) {
		return os.Chtimes(path, now, now)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return write(path, b.Zstd)
}

// GetBlob implements [blob.Store]. The content is checked: others may write here.
func (f *Folder) GetBlob(_ context.Context, sha256 string) (eval.Blob, error) {
	if !blob.Named(sha256) {
		return eval.Blob{}, fmt.Errorf("get blob %.64q: %w", sha256, store.ErrNotFound)
	}
	content, err := os.ReadFile(f.path(sha256))
	if errors.Is(err, fs.ErrNotExist) {
		err = store.ErrNotFound
	}
	b := eval.Blob{SHA256: sha256, Zstd: content}
	if err == nil {
		_, err = blob.Unpack(b)
	}
	if err != nil {
		return eval.Blob{}, fmt.Errorf("get blob %s from %s: %w", sha256, f.dir, err)
	}
	return b, nil
}

// ReadFile implements [blob.Share].
func (f *Folder) ReadFile(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(f.dir, filepath.Base(name)))
}

// WriteFile implements [blob.Share].
func (f *Folder) WriteFile(_ context.Context, name string, content []byte) error {
	if err := write(filepath.Join(f.dir, filepath.Base(name)), content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// write makes a file of content, wholly or not at all.
func write(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}
