package blob

import (
	"bytes"
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestPackUnpack(t *testing.T) {
	noise := make([]byte, 1<<20)
	rand.Read(noise)
	for name, data := range map[string][]byte{
		"nothing":     {},
		"text":        []byte("hello"),
		"repetitive":  bytes.Repeat([]byte("abc"), 1<<20),
		"random":      noise,
		"zstd itself": Pack([]byte("hello")).Zstd,
	} {
		t.Run(name, func(t *testing.T) {
			b := Pack(data)
			got, err := Unpack(b)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, data) {
				t.Errorf("got %d other bytes, want the %d packed", len(got), len(data))
			}
		})
	}
	// The name is the plain sha256, so that other tools can compute it.
	const want = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	if got := Pack([]byte("hello")).SHA256; got != want {
		t.Errorf("got name %s, want %s", got, want)
	}
}

func TestUnpackRefuses(t *testing.T) {
	good := Pack([]byte("hello"))
	bomb := Pack(make([]byte, 1<<20))
	two := Pack(make([]byte, 700<<10))
	for name, tc := range map[string]struct {
		blob eval.Blob
		want string
	}{
		"other content":     {eval.Blob{SHA256: good.SHA256, Zstd: Pack([]byte("other")).Zstd}, "the content has sha256"},
		"no content":        {eval.Blob{SHA256: good.SHA256}, "the content has sha256"},
		"no zstd":           {eval.Blob{SHA256: good.SHA256, Zstd: []byte("hello")}, "magic"},
		"cut short":         {eval.Blob{SHA256: good.SHA256, Zstd: good.Zstd[:len(good.Zstd)-1]}, "EOF"},
		"upper-case name":   {eval.Blob{SHA256: strings.ToUpper(good.SHA256), Zstd: good.Zstd}, "the content has sha256"},
		"bomb":              {bomb, zstd.ErrDecoderSizeExceeded.Error()},
		"bomb in two parts": {eval.Blob{SHA256: two.SHA256, Zstd: append(slices.Clone(two.Zstd), two.Zstd...)}, zstd.ErrDecoderSizeExceeded.Error()},
		"bomb without size": {eval.Blob{SHA256: bomb.SHA256, Zstd: stream(t, make([]byte, 1<<20))}, zstd.ErrDecoderSizeExceeded.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unpack(tc.blob, 1<<20-1)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// stream compresses without the content's size in the frame header.
func stream(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w, err := zstd.NewWriter(&buf, zstd.WithWindowSize(1<<16))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func FuzzUnpack(f *testing.F) {
	f.Add(Pack([]byte("hello")).Zstd)
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0xff})
	f.Fuzz(func(t *testing.T, zstd []byte) {
		const limit = 1 << 16
		data, err := unpack(eval.Blob{SHA256: name(nil), Zstd: zstd}, limit)
		if err == nil && len(data) != 0 {
			t.Errorf("got %d bytes under the name of none", len(data))
		}
	})
}

func BenchmarkPack(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		data := bytes.Repeat([]byte(`{"tool":"get_order","latency_ms":12.5},`), size/39)
		b.Run(byteCount(size), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				Pack(data)
			}
		})
	}
}

func BenchmarkUnpack(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		blob := Pack(bytes.Repeat([]byte(`{"tool":"get_order","latency_ms":12.5},`), size/39))
		b.Run(byteCount(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Unpack(blob); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func byteCount(n int) string { return map[int]string{1 << 10: "1KiB", 64 << 10: "64KiB"}[n] }
