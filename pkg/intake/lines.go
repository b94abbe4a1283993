package intake

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

const (
	// mostLine is how many bytes a line may have.
	mostLine = 16 << 20
	// mostLines is how many lines a file may have, blank ones included.
	mostLines = math.MaxInt32
)

// lines reads the lines of a file that are not blank.
type lines struct {
	scanner *bufio.Scanner
	hash    hash.Hash
	n       int
	// offset is where the line begins, and read how far has been read.
	offset, read int64
}

func newLines(r io.Reader) *lines {
	l := &lines{hash: sha256.New()}
	l.scanner = bufio.NewScanner(io.TeeReader(r, l.hash))
	l.scanner.Buffer(nil, mostLine)
	l.scanner.Split(func(data []byte, atEOF bool) (advance int, token []byte, err error) {
		advance, token, err = bufio.ScanLines(data, atEOF)
		l.offset = l.read
		l.read += int64(advance)
		return advance, token, err
	})
	return l
}

// next gives the next line, which stands until it is called again, or io.EOF.
func (l *lines) next() ([]byte, error) {
	for l.scanner.Scan() {
		if l.n == mostLines {
			return nil, wrong("", "", "the file has more than %d lines", mostLines)
		}
		l.n++
		raw := l.scanner.Bytes()
		if l.n == 1 {
			plain := bytes.TrimPrefix(raw, []byte("\ufeff"))
			l.offset += int64(len(raw) - len(plain))
			raw = plain
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
		File: file, Line: n, Column: len([]rune(string(raw[:at]))) + 1, Message: clean(m.message), Hint: clean(m.hint), Source: string(raw),
	}}
}

// clean replaces what a file has put into a text and a terminal would obey.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}
