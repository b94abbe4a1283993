package blob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// shelf is a store whose reads can be held up.
type shelf struct {
	mu    sync.Mutex // guards all below
	blobs map[string]eval.Blob
	reads int
	gate  chan struct{} // reads wait for it to close, if set
}

func newShelf(bs ...eval.Blob) *shelf {
	s := &shelf{blobs: map[string]eval.Blob{}}
	_ = s.PutBlobs(context.Background(), bs...)
	return s
}

func (s *shelf) PutBlobs(_ context.Context, bs ...eval.Blob) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range bs {
		s.blobs[b.SHA256] = b
	}
	return nil
}

func (s *shelf) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	s.mu.Lock()
	s.reads++
	gate := s.gate
	b, ok := s.blobs[sha256]
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return eval.Blob{}, ctx.Err()
		}
	}
	if !ok {
		return eval.Blob{}, errNone
	}
	return b, nil
}

func (s *shelf) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

var errNone = errors.New("no such blob")

func TestCacheReadsOnce(t *testing.T) {
	b := Pack([]byte("hello"))
	s := newShelf(b)
	c := NewCache(s, 1<<20)
	for range 3 {
		got, err := c.GetBlob(t.Context(), b.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := Unpack(got); err != nil || string(plain) != "hello" {
			t.Errorf("got %q, %v, want hello", plain, err)
		}
	}
	if got := s.count(); got != 1 {
		t.Errorf("got %d reads of the store, want 1", got)
	}
}

func TestCacheBound(t *testing.T) {
	var bs []eval.Blob
	for i := range 4 {
		bs = append(bs, Pack([]byte(fmt.Sprint("blob ", i))))
	}
	size := int64(len(bs[0].Zstd))
	s := newShelf(bs...)
	c := NewCache(s, 2*size)
	get := func(i int) {
		t.Helper()
		if _, err := c.GetBlob(t.Context(), bs[i].SHA256); err != nil {
			t.Fatal(err)
		}
	}
	get(0)
	get(1)
	get(0) // 1 is now the one unused for longest
	get(2) // drops 1
	get(0)
	if got := s.count(); got != 3 {
		t.Errorf("got %d reads with the recent blobs kept, want 3", got)
	}
	get(1)
	if got := s.count(); got != 4 {
		t.Errorf("got %d reads after the oldest blob was dropped, want 4", got)
	}
	if c.size > c.limit {
		t.Errorf("got %d bytes kept, want at most %d", c.size, c.limit)
	}

	tiny := NewCache(s, size-1)
	for range 2 {
		if _, err := tiny.GetBlob(t.Context(), bs[0].SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.count(); got != 6 {
		t.Errorf("got %d reads of a blob larger than the cache, want 6", got)
	}
}

func TestCacheSingleFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Pack([]byte("hello"))
		s := newShelf(b)
		s.gate = make(chan struct{})
		c := NewCache(s, 1<<20)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := c.GetBlob(t.Context(), b.SHA256); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait() // all ten wait
		close(s.gate)
		wg.Wait()
		if got := s.count(); got != 1 {
			t.Errorf("got %d reads for ten readers, want 1", got)
		}
	})
}

func TestCacheWaiterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Pack([]byte("hello"))
		s := newShelf(b)
		s.gate = make(chan struct{})
		c := NewCache(s, 1<<20)

		first, leave := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { _, err := c.GetBlob(first, b.SHA256); errs <- err }()
		synctest.Wait()
		go func() { _, err := c.GetBlob(t.Context(), b.SHA256); errs <- err }()
		synctest.Wait()

		leave()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v from the waiter that gave up, want %v", err, context.Canceled)
		}
		close(s.gate)
		if err := <-errs; err != nil {
			t.Errorf("got %v from the waiter that stayed, want the blob", err)
		}
	})
}

func TestCacheLastWaiterCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := Pack([]byte("hello"))
		s := newShelf(b)
		s.gate = make(chan struct{}) // never opens for the first read
		c := NewCache(s, 1<<20)
		ctx, leave := context.WithCancel(t.Context())
		errs := make(chan error)
		go func() { _, err := c.GetBlob(ctx, b.SHA256); errs <- err }()
		synctest.Wait()
		leave()
		<-errs
		// The bubble ends only if the read's goroutine did; a later reader is not
		// handed the cancelled read.
		s.mu.Lock()
		s.gate = nil
		s.mu.Unlock()
		if _, err := c.GetBlob(t.Context(), b.SHA256); err != nil {
			t.Errorf("got %v after a cancelled read, want the blob", err)
		}
	})
}

func TestCacheKeepsNoErrors(t *testing.T) {
	b := Pack([]byte("hello"))
	s := newShelf(eval.Blob{SHA256: b.SHA256, Zstd: Pack([]byte("other")).Zstd})
	c := NewCache(s, 1<<20)
	if _, err := c.GetBlob(t.Context(), b.SHA256); err == nil {
		t.Error("got a damaged blob, want an error")
	}
	if _, err := c.GetBlob(t.Context(), "absent"); !errors.Is(err, errNone) {
		t.Errorf("got %v, want the store's own error", err)
	}
	if err := c.PutBlobs(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.GetBlob(t.Context(), b.SHA256); err != nil {
		t.Errorf("got %v once the blob was repaired, want the blob", err)
	}
}
