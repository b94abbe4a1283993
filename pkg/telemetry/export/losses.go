package export

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// losses are counted, and told of once a minute.
type losses struct {
	now func() time.Time

	mu    sync.Mutex
	n     int
	since time.Time // of the first that has not been told of
	why   error
}

// add counts. What it returns is to be told.
func (l *losses) add(n int, why error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.since = l.now()
	}
	l.n += n
	if l.why == nil || !errors.Is(why, errFull) {
		l.why = why // a queue is full because of something else
	}
	if l.now().Sub(l.since) < time.Minute {
		return nil
	}
	return l.take()
}

// rest is what has not been told of yet.
func (l *losses) rest() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.take()
}

func (l *losses) take() error {
	if l.n == 0 {
		return nil
	}
	err := fmt.Errorf("%d spans are lost: %w", l.n, l.why)
	l.n, l.why = 0, nil
	return err
}
