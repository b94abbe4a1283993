package intake

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// mostLine is how many bytes a line may have.
const mostLine = 16 << 20

// Spool copies what can be read only once into a file of a folder. The file has no
// name any more, so it is gone with the process.
func Spool(dir string, r io.Reader) (*os.File, error) {
	f, err := os.CreateTemp(dir, "import-*.jsonl")
	if err != nil {
		return nil, fmt.Errorf("spool the input: %w", err)
	}
	err = os.Remove(f.Name())
	if err == nil {
		_, err = io.Copy(f, r)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("spool the input: %w", err), f.Close())
	}
	return f, nil
}

// lines reads the lines of a file that are not blank.
type lines struct {
	scanner *bufio.Scanner
	hash    hash.Hash
	n       int
}

// readLines begins at the start of a file, which gzip has packed or not.
func readLines(in io.ReadSeeker, packed bool) (*lines, error) {
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r := io.Reader(in)
	if packed {
		var err error
		if r, err = gzip.NewReader(bufio.NewReader(in)); err != nil {
			return nil, err
		}
	}
	l := &lines{hash: sha256.New()}
	l.scanner = bufio.NewScanner(io.TeeReader(r, l.hash))
	l.scanner.Buffer(nil, mostLine)
	return l, nil
}

// next gives the next line, which stands until it is called again, or io.EOF.
func (l *lines) next() ([]byte, error) {
	for l.scanner.Scan() {
		l.n++
		raw := l.scanner.Bytes()
		if l.n == 1 {
			raw = bytes.TrimPrefix(raw, []byte("\ufeff"))
		}
		if len(bytes.TrimSpace(raw)) > 0 {
			return raw, nil
		}
	}
	err := l.scanner.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		l.n++
		return nil, wrong("", "", "the line has more than %d MiB", mostLine>>20)
	case err != nil:
		return nil, err
	}
	return nil, io.EOF
}

// sum is the sha256 of what was read, in hex.
func (l *lines) sum() string { return hex.EncodeToString(l.hash.Sum(nil)) }

// A ProblemError is input that cannot be used.
type ProblemError struct{ Problem strictyaml.Problem }

func (e *ProblemError) Error() string {
	if e.Problem.Line == 0 {
		return e.Problem.File + ": " + e.Problem.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Problem.File, e.Problem.Line, e.Problem.Column, e.Problem.Message)
}

// problem gives a mistake its place; another error is passed on.
func problem(file string, n int, raw []byte, err error) error {
	m, ok := errors.AsType[*mistake](err)
	if !ok {
		return fmt.Errorf("read %s: %w", file, err)
	}
	at := max(m.offset, 0)
	if m.field != "" {
		at = max(bytes.Index(raw, []byte(strictyaml.Quote(m.field))), 0)
	}
	at = min(at, len(raw))
	return &ProblemError{strictyaml.Problem{
		File: file, Line: n, Column: len([]rune(string(raw[:at]))) + 1, Message: m.message, Hint: m.hint, Source: string(raw),
	}}
}
