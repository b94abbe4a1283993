package chaos

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
)

// A line is the way of a scheduler to Redis. It sees the commands that go by, and cuts
// it off before one that is waited for: so a scheduler dies at a moment, and not
// somewhere about it.
type line struct {
	to string // the socket of Redis

	mu sync.Mutex // guards what follows
	// before is what a command must be for trap to be called; nil for none.
	before func(words [][]byte) bool
	trap   func()
}

// KilledBeforeAck kills the scheduler that has stored results and is about to
// acknowledge them in the stream.
func KilledBeforeAck() Fault {
	return killedBefore("a scheduler is killed between commit and ack", func(words [][]byte) bool {
		return has(words, func(w string) bool { return w == "agg" }) && has(words, func(w string) bool { return strings.HasSuffix(w, ":results") })
	})
}

// KilledBeforeJob kills the scheduler that has marked a trial as dispatched in the store
// and is about to put its job into the queue.
func KilledBeforeJob() Fault {
	return killedBefore("a scheduler is killed between mark and job", func(words [][]byte) bool {
		return has(words, func(w string) bool {
			return strings.HasPrefix(w, "asynq:{trials-") && strings.HasSuffix(w, "}:pending")
		})
	})
}

func has(words [][]byte, match func(string) bool) bool {
	for _, w := range words {
		if len(w) < 200 && match(string(w)) {
			return true
		}
	}
	return false
}

// killedBefore kills the scheduler that comes to a script first, be it the one that the
// step is for or another one: only a leader does.
func killedBefore(name string, script func([][]byte) bool) Fault {
	return Fault{Name: name, Leases: 0.5, befall: func(ctx context.Context, f *Farm, s Step) error {
		f.linesBusy.Lock()
		defer f.linesBusy.Unlock()
		caught := make(chan int, len(f.lines))
		for i, l := range f.lines {
			l.set(func(words [][]byte) bool {
				return bytes.HasPrefix(bytes.ToLower(words[0]), []byte("eval")) && script(words)
			}, func() {
				f.schedulers[i].busy.Lock() // until it is started again, or another fault would start one too
				f.schedulers[i].kill()
				caught <- i
			})
		}
		var dead []int
		select {
		case i := <-caught:
			dead = append(dead, i)
			pass(ctx, s.For)
		case <-ctx.Done():
		}
		for _, l := range f.lines {
			l.set(nil, nil)
		}
		for len(caught) > 0 {
			dead = append(dead, <-caught)
		}
		var err error
		for _, i := range dead {
			err = errors.Join(err, f.schedulers[i].start())
			f.schedulers[i].busy.Unlock()
		}
		return err
	}}
}

// set waits for a command, in place of what was waited for before.
func (l *line) set(before func([][]byte) bool, trap func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.before, l.trap = before, trap
}

// caught calls the trap if a command is waited for, once.
func (l *line) caught(words [][]byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.before == nil || len(words) == 0 || !l.before(words) {
		return false
	}
	l.before = nil
	l.trap()
	return true
}

// serve carries connections until the listener is closed.
func (l *line) serve(at net.Listener) {
	for {
		from, err := at.Accept()
		if err != nil {
			return
		}
		go l.carry(from)
	}
}

// carry carries one connection to its end.
func (l *line) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("unix", l.to)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	}()
	in := bufio.NewReader(from)
	for {
		raw, words, err := command(in)
		if err != nil || l.caught(words) {
			return
		}
		if _, err := to.Write(raw); err != nil {
			return
		}
	}
}

// command reads a command: an array of strings, as clients send them.
func command(r *bufio.Reader) (raw []byte, words [][]byte, err error) {
	number := func(kind byte) (int, error) {
		head, err := r.ReadBytes('\n')
		raw = append(raw, head...)
		if err != nil {
			return 0, err
		}
		if head[0] != kind {
			return 0, fmt.Errorf("got %q where %q was to be", head, kind)
		}
		return strconv.Atoi(strings.TrimSpace(string(head[1:])))
	}
	n, err := number('*')
	if err != nil {
		return nil, nil, err
	}
	for range n {
		size, err := number('$')
		if err != nil {
			return nil, nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, nil, err
		}
		raw = append(raw, word...)
		words = append(words, word[:size])
	}
	return raw, words, nil
}
