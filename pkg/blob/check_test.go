package blob_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
)

// Check finds what Unpack finds, and a few bytes that expand to a lot take no memory.
func TestCheck(t *testing.T) {
	b := blob.Pack([]byte("hello"))
	if err := blob.Check(b); err != nil {
		t.Error(err)
	}
	b.SHA256 = strings.Repeat("0", 64)
	if blob.Check(b) == nil {
		t.Error("another sha256 is not noticed")
	}
	b.Zstd = []byte("junk")
	if blob.Check(b) == nil {
		t.Error("what is no zstd is not noticed")
	}
	large := blob.Pack(bytes.Repeat([]byte{0}, blob.MaxSize))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := blob.Check(large); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 96<<20 {
		t.Errorf("a blob of %d bytes took %d bytes of memory to check", len(large.Zstd), took)
	}
	if blob.Check(blob.Pack(make([]byte, blob.MaxSize+1))) == nil {
		t.Error("a blob that is too large is not noticed")
	}
}
