package wire

import (
	"bufio"
	"errors"
	"io"
)

// ErrOversize is the end of a stream that carried a message over the frame
// limit.
var ErrOversize = errors.New("message over the frame limit")

// readLines calls fn with every line of r, without its line break. The last
// line may lack one: whole is then false. It returns nil at the end of r,
// ErrOversize at a line of more than limit bytes, or the read error. The line is
// only valid during the call.
func readLines(r io.Reader, limit int, fn func(line []byte, whole bool)) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(long)+len(part) > limit {
			return ErrOversize
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			long = append(long, part...)
			continue
		}
		line := part
		if len(long) > 0 {
			long = append(long, part...)
			line = long
		}
		switch {
		case err == nil:
			fn(line[:len(line)-1], true)
		case len(line) > 0:
			fn(line, false)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		long = nil
	}
}
