package cli_test

import (
	"bytes"
	"sync"
)

// A buffer may be read while a process still writes to it.
type buffer struct {
	mu  sync.Mutex // guards buf
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
