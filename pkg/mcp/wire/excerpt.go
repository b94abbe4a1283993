package wire

import (
	"fmt"
	"strings"
	"sync"
)

// How much of a server's stderr is kept: the start names the cause of a server
// that cannot start, the end that of a crash.
const (
	stderrHead = 8 << 10
	stderrTail = 24 << 10
)

// An Excerpt keeps the head and the tail of what is written to it, in constant
// memory. It is safe for concurrent use.
type Excerpt struct {
	mu         sync.Mutex // guards all below
	head, tail []byte
	total      int
	headSize   int
	tailSize   int
}

// NewExcerpt keeps the first head and the last tail bytes.
func NewExcerpt(head, tail int) *Excerpt { return &Excerpt{headSize: head, tailSize: tail} }

// Write never fails.
func (e *Excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += n
	if room := e.headSize - len(e.head); room > 0 {
		take := min(room, len(p))
		e.head = append(e.head, p[:take]...)
		p = p[take:]
	}
	if len(p) > e.tailSize {
		p = p[len(p)-e.tailSize:]
	}
	if over := len(e.tail) + len(p) - e.tailSize; over > 0 {
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	e.tail = append(e.tail, p...)
	return n, nil
}

// String is the head and the tail, with a line between them that says how much
// was left out. Bytes that are no UTF-8 are replaced.
func (e *Excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := string(e.head)
	if out := e.total - len(e.head) - len(e.tail); out > 0 {
		text += fmt.Sprintf("\n… %d bytes left out …\n", out)
	}
	return strings.ToValidUTF8(text+string(e.tail), "\uFFFD")
}
