// Package blobtest is the conformance suite of blob stores: whatever keeps blobs
// for a farm passes it.
package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Exercise runs the suite. open gives an empty store, each time as another process
// would have it: what one has put, the others get.
func Exercise(t *testing.T, open func(t *testing.T) blob.Store) {
	t.Helper()
	one, other := open(t), open(t)
	for _, c := range []struct {
		name string
		test func(t *testing.T, one, other blob.Store)
	}{
		{"PutGet", putGet},
		{"NotFound", notFound},
		{"Refuses", refuses},
		{"ManyWriters", manyWriters},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, one, other) })
	}
}

// noise is content that does not compress.
func noise(size int) []byte {
	out := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(out) // never fails
	return out
}

func putGet(t *testing.T, one, other blob.Store) {
	var all []eval.Blob
	for name, content := range map[string][]byte{
		"nothing": {}, "text": []byte("hello"), "bytes": {0, 255, 10}, "much": bytes.Repeat([]byte("abc"), 1<<20), "large": noise(6 << 20),
	} {
		t.Run(name, func(t *testing.T) {
			b := blob.Pack(content)
			all = append(all, b)
			for range 2 { // putting again is harmless
				if err := one.PutBlobs(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			got(t, other, b)
		})
	}
	if err := other.PutBlobs(t.Context(), all...); err != nil {
		t.Error(err)
	}
	if err := other.PutBlobs(t.Context()); err != nil {
		t.Errorf("put nothing: %v", err)
	}
}

// got wants a blob with its content.
func got(t *testing.T, s blob.Store, want eval.Blob) {
	t.Helper()
	b, err := s.GetBlob(t.Context(), want.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	content, err := blob.Unpack(b)
	if err != nil {
		t.Fatal(err)
	}
	if plain, _ := blob.Unpack(want); b.SHA256 != want.SHA256 || !bytes.Equal(content, plain) {
		t.Errorf("got %d other bytes as %s, want the %d put", len(content), b.SHA256, len(plain))
	}
}

func notFound(t *testing.T, one, _ blob.Store) {
	for name, sha := range map[string]string{
		"never put":  strings.Repeat("ab", 32),
		"no sha256":  "abc",
		"upper case": strings.Repeat("AB", 32),
		"a path":     "../../../../../etc/passwd",
		"long path":  "../" + strings.Repeat("a", 61),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := one.GetBlob(t.Context(), sha); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %v, want %v", err, store.ErrNotFound)
			}
		})
	}
}

func refuses(t *testing.T, one, _ blob.Store) {
	good := blob.Pack([]byte("good"))
	for name, b := range map[string]eval.Blob{
		"other content": {SHA256: good.SHA256, Zstd: blob.Pack([]byte("evil")).Zstd},
		"no zstd":       {SHA256: good.SHA256, Zstd: []byte("evil")},
		"a path":        {SHA256: "../evil", Zstd: good.Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			if err := one.PutBlobs(t.Context(), b); err == nil {
				t.Error("it was taken, want an error")
			}
			if _, err := one.GetBlob(t.Context(), good.SHA256); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("get after a refused put: got %v, want %v", err, store.ErrNotFound)
			}
		})
	}
}

// manyWriters put the same blobs and others at once, while readers see all of a
// blob or nothing.
func manyWriters(t *testing.T, one, other blob.Store) {
	common := blob.Pack(noise(200 << 10))
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			s := []blob.Store{one, other}[w%2]
			own := blob.Pack(fmt.Appendf(nil, "of writer %d", w))
			if err := s.PutBlobs(t.Context(), common, own); err != nil {
				t.Error(err)
			}
			if _, err := s.GetBlob(t.Context(), own.SHA256); err != nil {
				t.Error(err)
			}
		})
	}
	for range 20 {
		b, err := other.GetBlob(t.Context(), common.SHA256)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			t.Error(err)
		} else if _, err := blob.Unpack(b); err != nil {
			t.Error(err)
		}
	}
	writers.Wait()
	got(t, one, common)
}

// Share runs the suite of what a scheduler and its workers share; spoil replaces
// what is stored of a blob.
func Share(t *testing.T, open func(t *testing.T) blob.Share, spoil func(t *testing.T, sha256 string, content []byte)) {
	t.Helper()
	Exercise(t, func(t *testing.T) blob.Store { t.Helper(); return open(t) })
	t.Run("Files", func(t *testing.T) {
		one, other := open(t), open(t)
		if _, err := one.ReadFile(t.Context(), "farm.json"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("read no file: got %v, want %v", err, os.ErrNotExist)
		}
		for _, content := range []string{"one", "two"} {
			if err := one.WriteFile(t.Context(), "farm.json", []byte(content)); err != nil {
				t.Fatal(err)
			}
			if got, err := other.ReadFile(t.Context(), "farm.json"); err != nil || string(got) != content {
				t.Errorf("got %q, %v, want %q", got, err, content)
			}
		}
	})
	t.Run("Spoiled", func(t *testing.T) {
		s := open(t)
		b := blob.Pack([]byte("to be spoiled"))
		for name, content := range map[string][]byte{"other content": blob.Pack([]byte("evil")).Zstd, "cut short": b.Zstd[:3], "nothing": {}} {
			if err := s.PutBlobs(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			spoil(t, b.SHA256, content)
			if got, err := s.GetBlob(t.Context(), b.SHA256); err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: got %v, %v, want an error that says so", name, got, err)
			}
		}
	})
}
