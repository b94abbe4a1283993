package storetest

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testBlobs(t *testing.T, s store.Store) {
	a, b := blob.Pack([]byte("a")), blob.Pack(nil)
	for range 2 {
		must(t, s.PutBlobs(t.Context(), a, b, a))
	}
	must(t, s.PutBlobs(t.Context()))
	for _, want := range []eval.Blob{a, b} {
		got, err := s.GetBlob(t.Context(), want.SHA256)
		must(t, err)
		equal(t, "blob", got, want)
	}

	c := blob.Pack([]byte("c"))
	for name, bad := range map[string]eval.Blob{
		"other content": {SHA256: blob.Pack([]byte("d")).SHA256, Zstd: a.Zstd},
		"plain content": {SHA256: blob.Pack([]byte("d")).SHA256, Zstd: []byte("d")},
		"no name":       {Zstd: a.Zstd},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.PutBlobs(t.Context(), c, bad); err == nil {
				t.Error("got no error for a damaged blob")
			}
			_, err := s.GetBlob(t.Context(), bad.SHA256)
			notFound(t, "the damaged blob", err)
			_, err = s.GetBlob(t.Context(), c.SHA256)
			notFound(t, "the good blob of the same call", err)
		})
	}
}
