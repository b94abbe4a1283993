package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// events is the body of an event stream (text/event-stream, WHATWG HTML §9.2)
// that lets a tap hear each message and hands on only what it lets pass. It reads
// one event at a time and does not judge lines that are none of its business.
type events struct {
	ctx   context.Context
	body  io.ReadCloser
	br    *bufio.Reader
	limit int
	tap   Tap
	buf   []byte // of the current event, still to be handed on
	err   error
	once  sync.Once
	ended func(error)
}

// errAbandoned ends a stream that its reader closed.
var errAbandoned = errors.New("closed by the reader")

func newEvents(ctx context.Context, body io.ReadCloser, limit int, tap Tap, ended func(error)) *events {
	return &events{ctx: ctx, body: body, br: bufio.NewReaderSize(body, 64<<10), limit: limit, tap: tap, ended: ended}
}

func (e *events) Read(p []byte) (int, error) {
	for len(e.buf) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		block, err := e.next()
		e.err = err
		if len(block) > 0 && e.hear(block) {
			e.buf = block
		}
		if err != nil {
			e.end(err)
		}
	}
	n := copy(p, e.buf)
	e.buf = e.buf[n:]
	return n, nil
}

func (e *events) Close() error {
	e.end(errAbandoned)
	return e.body.Close()
}

func (e *events) end(err error) {
	e.once.Do(func() {
		if errors.Is(err, io.EOF) || errors.Is(err, errAbandoned) {
			err = nil
		}
		e.ended(err)
	})
}

// next reads the lines of one event up to and with the empty line that ends it.
// At the end of the stream it returns what there is and the error.
func (e *events) next() ([]byte, error) {
	var block []byte
	start := 0
	for {
		part, err := e.br.ReadSlice('\n')
		if len(block)+len(part) > e.limit {
			return nil, ErrOversize
		}
		block = append(block, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return block, err
		}
		if len(bytes.TrimRight(block[start:], "\r\n")) == 0 {
			return block, nil
		}
		start = len(block)
	}
}

// hear tells the tap of a block's message and says whether to hand it on.
func (e *events) hear(block []byte) bool {
	name, data := parseEvent(block)
	if len(data) == 0 || name != "" && name != "message" {
		return true
	}
	m, ok := Parse(data)
	if !ok {
		m = noise(data)
	}
	return e.tap(e.ctx, m)
}

// parseEvent gives the name and the data of an event; its data lines are joined
// by line breaks.
func parseEvent(block []byte) (name string, data []byte) {
	var lines [][]byte
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if rest, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			name = strings.TrimSpace(string(rest))
		} else if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			lines = append(lines, bytes.TrimPrefix(rest, []byte(" ")))
		}
	}
	return name, bytes.Join(lines, []byte("\n"))
}
