// Package blob packs content into blobs and keeps them near.
//
// A blob is content under the sha256 of its plain bytes, compressed with zstd
// (RFC 8878). Whoever holds the name can check the content, so blobs may come
// from anywhere: a database, a worker's upload, a cache. [Unpack] is the check;
// no content is used before it.
package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// MaxSize is the largest plain content of a blob, in bytes. It is far above any
// snapshot or trajectory, and low enough that a decompression bomb does no harm.
const MaxSize = 256 << 20

// A Store keeps blobs. It is the part of the farm's store that workers see,
// directly or over HTTP.
type Store interface {
	// PutBlobs stores blobs; one that is there already is left alone.
	PutBlobs(ctx context.Context, bs ...eval.Blob) error
	// GetBlob returns the blob with a name.
	GetBlob(ctx context.Context, name string) (eval.Blob, error)
}

// Pack names and compresses content. It is safe for concurrent use; the encoder
// behind it is shared and kept by the zstd package.
func Pack(data []byte) eval.Blob {
	return eval.Blob{SHA256: name(data), Zstd: zstd.EncodeTo(nil, data)}
}

// Unpack returns the plain content of a blob. Content that does not have the
// blob's sha256, is larger than [MaxSize] or is no zstd is an error.
func Unpack(b eval.Blob) ([]byte, error) { return unpack(b, MaxSize) }

// maxWindow bounds the memory that [Check] takes, whatever a blob expands to. Pack
// and the levels of zstd that need no --ultra and no --long stay far below.
const maxWindow = 32 << 20

// Check says what [Unpack] would say of a blob, but keeps little of it in memory.
func Check(b eval.Blob) error {
	dec, err := zstd.NewReader(bytes.NewReader(b.Zstd), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return fmt.Errorf("unpack blob %.64q: %w", b.SHA256, err)
	}
	defer dec.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(dec, MaxSize+1))
	switch got := hex.EncodeToString(sum.Sum(nil)); {
	case err != nil:
		return fmt.Errorf("unpack blob %.64q: %w", b.SHA256, err)
	case n > MaxSize:
		return fmt.Errorf("unpack blob %.64q: it has more than %d bytes", b.SHA256, MaxSize)
	case got != b.SHA256:
		return fmt.Errorf("unpack blob %.64q: the content has sha256 %s", b.SHA256, got)
	}
	return nil
}

func unpack(b eval.Blob, limit uint64) ([]byte, error) {
	// A decoder for each call: the shared one of the zstd package allows four
	// times our limit, and a small decoder is cheap beside the hash.
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(limit))
	if err != nil {
		return nil, fmt.Errorf("unpack blob %.64q: %w", b.SHA256, err)
	}
	defer dec.Close()
	data, err := dec.DecodeAll(b.Zstd, nil)
	if err != nil {
		return nil, fmt.Errorf("unpack blob %.64q: %w", b.SHA256, err)
	}
	if got := name(data); got != b.SHA256 {
		return nil, fmt.Errorf("unpack blob %.64q: the content has sha256 %s", b.SHA256, got)
	}
	return data, nil
}

// name is the sha256 of plain content in lower-case hex.
func name(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
