package blob

import (
	"container/list"
	"context"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Cache is a [Store] that keeps the blobs read last in memory. Any number of
// readers that want the same blob at once cause one read of the store behind
// it. A blob is checked once, when it arrives; a damaged one is an error and is
// not kept.
type Cache struct {
	store Store
	limit int64

	mu      sync.Mutex // guards all below
	size    int64
	blobs   map[string]*list.Element // of eval.Blob
	recent  *list.List               // most recently used first
	flights map[string]*flight
}

// A flight is one read of the store that is under way. Its last waiter to give
// up cancels it.
type flight struct {
	done    chan struct{} // closed once blob and err are set
	blob    eval.Blob
	err     error
	waiters int // guarded by Cache.mu
	cancel  context.CancelFunc
}

// NewCache keeps up to so many bytes of compressed content of the store s. A
// larger blob is passed through.
func NewCache(s Store, bytes int64) *Cache {
	return &Cache{
		store:   s,
		limit:   bytes,
		blobs:   map[string]*list.Element{},
		recent:  list.New(),
		flights: map[string]*flight{},
	}
}

// PutBlobs stores blobs in the store behind the cache. They are not kept: a
// worker that wrote a trajectory does not read it again.
func (c *Cache) PutBlobs(ctx context.Context, bs ...eval.Blob) error {
	return c.store.PutBlobs(ctx, bs...)
}

// GetBlob returns a blob from memory or from the store. The caller must not
// change its bytes. When ctx ends it returns at once; the read goes on for the
// others that wait for it.
func (c *Cache) GetBlob(ctx context.Context, sha256 string) (eval.Blob, error) {
	c.mu.Lock()
	if e, ok := c.blobs[sha256]; ok {
		c.recent.MoveToFront(e)
		c.mu.Unlock()
		return e.Value.(eval.Blob), nil
	}
	f, ok := c.flights[sha256]
	if !ok {
		f = &flight{done: make(chan struct{})}
		var fetching context.Context
		fetching, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		c.flights[sha256] = f
		go c.fetch(fetching, sha256, f)
	}
	f.waiters++
	c.mu.Unlock()

	select {
	case <-f.done:
		return f.blob, f.err
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		f.waiters--
		if f.waiters == 0 {
			f.cancel()
			c.land(sha256, f)
		}
		return eval.Blob{}, context.Cause(ctx)
	}
}

func (c *Cache) fetch(ctx context.Context, sha256 string, f *flight) {
	defer f.cancel()
	f.blob, f.err = c.store.GetBlob(ctx, sha256)
	if f.err == nil {
		f.blob.SHA256 = sha256
		_, f.err = Unpack(f.blob)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.err == nil {
		c.keep(f.blob)
	}
	c.land(sha256, f)
	close(f.done)
}

// land forgets a flight, unless a later one for the same blob took its place.
// The caller holds mu.
func (c *Cache) land(sha256 string, f *flight) {
	if c.flights[sha256] == f {
		delete(c.flights, sha256)
	}
}

// keep adds a blob and drops the ones unused for longest. The caller holds mu.
func (c *Cache) keep(b eval.Blob) {
	if _, ok := c.blobs[b.SHA256]; ok || int64(len(b.Zstd)) > c.limit {
		return
	}
	c.blobs[b.SHA256] = c.recent.PushFront(b)
	c.size += int64(len(b.Zstd))
	for c.size > c.limit {
		last := c.recent.Back()
		old := c.recent.Remove(last).(eval.Blob)
		delete(c.blobs, old.SHA256)
		c.size -= int64(len(old.Zstd))
	}
}
