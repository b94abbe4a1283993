package wire

import (
	"bytes"
	"io"
)

// Sizes of the pieces in which stderr is redacted: whole lines, or of a line
// without end as much as this, with an overlap in which a secret that lies across
// two pieces is found whole.
const (
	pieceBytes   = 64 << 10
	overlapBytes = 4 << 10
)

// keep copies r to w until it ends, redacted. It redacts before anything is cut,
// because half a secret is not recognized.
func keep(w io.Writer, r io.Reader, redact func([]byte) []byte) {
	if redact == nil {
		_, _ = io.Copy(w, r)
		return
	}
	var held []byte
	flush := func(n int) {
		_, _ = w.Write(redact(held[:n]))
		held = append(held[:0], held[n:]...)
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		held = append(held, buf[:n]...)
		if end := bytes.LastIndexByte(held, '\n'); end >= 0 {
			flush(end + 1)
		}
		if len(held) > pieceBytes {
			held = redact(held)
			if len(held) > overlapBytes {
				flush(len(held) - overlapBytes)
			}
		}
		if err != nil {
			flush(len(held))
			return
		}
	}
}
