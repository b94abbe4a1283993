package httpapi

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// everything has the same content under every name.
type everything struct{ content eval.Blob }

func (e everything) PutBlobs(context.Context, ...eval.Blob) error { return nil }

func (e everything) GetBlob(context.Context, string) (eval.Blob, error) { return e.content, nil }

// Whatever the paths of an order are, its files are in its folder afterwards, and
// nowhere else.
func FuzzOrder(f *testing.F) {
	const sha256 = `"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"` // of x
	for _, path := range []string{"a.yaml", "a/b.yaml", "../a.yaml", "/etc/a.yaml", "a/../../b", "a//b", ".", "", "a\\u0000", "C:\\\\a", "a/b.yaml/c"} {
		f.Add([]byte(`{"suite":{"path":"a/b.yaml","files":[{"path":"a/b.yaml",` + sha256 + `},{"path":"` + path + `",` + sha256 + `}]}}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var o Order
		if json.Unmarshal(raw, &o) != nil || o.check() != nil || o.With != nil || o.Gate != nil {
			return
		}
		above := t.TempDir()
		dir := filepath.Join(above, "order")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		d, err := deliver(t.Context(), everything{blob.Pack([]byte("x"))}, o, dir)
		if err != nil {
			return // names that the file system does not take
		}
		if rel, err := filepath.Rel(filepath.Join(dir, suiteDir), d.SuitePath); err != nil || !filepath.IsLocal(rel) {
			t.Errorf("the suite is at %s, outside of %s", d.SuitePath, dir)
		}
		files := 0
		err = filepath.WalkDir(above, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files++
				if rel, err := filepath.Rel(filepath.Join(dir, suiteDir), path); err != nil || !filepath.IsLocal(rel) || !e.Type().IsRegular() {
					t.Errorf("%s is not in the folder of the suite", path)
				}
			}
			return err
		})
		if err != nil || files != len(o.Suite.Files) {
			t.Errorf("%d files are there (%v), want %d", files, err, len(o.Suite.Files))
		}
	})
}
