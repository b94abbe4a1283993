package broker

import (
	"bytes"
	"net"
	"os"
	"sync"
	"time"
)

// A pipe is the client's end of an in-memory connection that buffers what the
// server sends. The bare one does not: there a server that answers the first
// command of a long pipeline waits for a client that is still writing the rest,
// and both wait for ever.
type pipe struct {
	net.Conn
	mu       sync.Mutex // guards what follows
	buf      bytes.Buffer
	err      error         // why nothing more comes
	deadline time.Time     // of Read; zero for none
	wake     chan struct{} // closed when any of them changed
}

func newPipe(c net.Conn) *pipe {
	p := &pipe{Conn: c, wake: make(chan struct{})}
	go p.pump()
	return p
}

// pump moves bytes from the server to the buffer until either end closes.
func (p *pipe) pump() {
	chunk := make([]byte, 32<<10)
	for {
		n, err := p.Conn.Read(chunk)
		p.mu.Lock()
		p.buf.Write(chunk[:n])
		p.err = err
		p.changed()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// changed wakes the reader. The caller holds mu.
func (p *pipe) changed() {
	close(p.wake)
	p.wake = make(chan struct{})
}

// Read implements [net.Conn].
func (p *pipe) Read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		deadline, wake := p.deadline, p.wake
		switch {
		case p.buf.Len() > 0:
			n, _ := p.buf.Read(b)
			p.mu.Unlock()
			return n, nil
		case p.err != nil:
			defer p.mu.Unlock()
			return 0, p.err
		}
		p.mu.Unlock()
		if deadline.IsZero() {
			<-wake
			continue
		}
		left := time.Until(deadline)
		if left <= 0 {
			return 0, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(left)
		select {
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// SetReadDeadline implements [net.Conn].
func (p *pipe) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = t
	p.changed()
	return nil
}

// SetDeadline implements [net.Conn].
func (p *pipe) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}
