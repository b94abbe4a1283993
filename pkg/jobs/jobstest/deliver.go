package jobstest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// A log counts deliveries.
type log struct {
	mu   sync.Mutex // guards jobs
	jobs map[jobs.Job]int
}

func (l *log) add(j jobs.Job) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs == nil {
		l.jobs = map[jobs.Job]int{}
	}
	l.jobs[j]++
	return l.jobs[j]
}

func (l *log) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.jobs)
}

func (l *log) all() map[jobs.Job]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.jobs)
}

// handler notes deliveries and is done with them.
func (l *log) handler(_ context.Context, j jobs.Job) error {
	l.add(j)
	return nil
}

func once(js []jobs.Job) map[jobs.Job]int {
	m := map[jobs.Job]int{}
	for _, j := range js {
		m[j] = 1
	}
	return m
}

func enqueueDelivers(t *testing.T, b *bench) {
	js := attempts(300)
	b.must(b.farm.Enqueue(b.ctx, js))
	b.must(b.farm.Enqueue(b.ctx, nil))
	var l log
	stop := b.serve(b.again(), 8, l.handler)
	b.eventually("all delivered", func() bool { return l.len() == len(js) })
	b.must(stop())
	if d := cmp.Diff(once(js), l.all()); d != "" {
		t.Errorf("deliveries (-want +got):\n%s", d)
	}
}

// enqueueOrders: what is first in a batch is begun first.
func enqueueOrders(t *testing.T, b *bench) {
	js := attempts(100)
	b.must(b.farm.Enqueue(b.ctx, js[:60]))
	b.must(b.farm.Enqueue(b.ctx, js[60:]))
	var mu sync.Mutex
	var got []int
	seen := func() []int { mu.Lock(); defer mu.Unlock(); return slices.Clone(got) }
	stop := b.serve(b.again(), 1, func(_ context.Context, j jobs.Job) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, j.Ordinal)
		return nil
	})
	b.eventually("all delivered", func() bool { return len(seen()) == len(js) })
	b.must(stop())
	if !slices.IsSorted(seen()) {
		t.Errorf("delivered in the order %v", seen())
	}
}

func enqueueTwice(t *testing.T, b *bench) {
	js := attempts(20)
	b.must(b.farm.Enqueue(b.ctx, js))
	b.must(b.farm.Enqueue(b.ctx, js[:10]))
	b.must(b.again().Enqueue(b.ctx, js[5:6]))
	last := job(20, 1)
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{last}))
	var l log
	// One slot keeps the order, so all has been delivered when the last has.
	stop := b.serve(b.again(), 1, l.handler)
	b.eventually("all delivered", func() bool { return l.all()[last] > 0 })
	b.must(stop())
	if d := cmp.Diff(once(append(js, last)), l.all()); d != "" {
		t.Errorf("deliveries (-want +got):\n%s", d)
	}
}

func deletes(t *testing.T, b *bench) {
	js := attempts(10)
	b.must(b.farm.Delete(b.ctx, js)) // of a queue that never was
	b.must(b.farm.Enqueue(b.ctx, js[:1]))
	var l log
	started, release := make(chan struct{}), make(chan struct{})
	stop := b.serve(b.again(), 1, func(ctx context.Context, j jobs.Job) error {
		if j == js[0] {
			close(started)
			b.hold(release)
		}
		return l.handler(ctx, j)
	})
	<-started
	b.must(b.farm.Enqueue(b.ctx, js[1:]))
	b.must(b.farm.Delete(b.ctx, js[:9])) // the first is with a worker
	close(release)
	b.eventually("the last is delivered", func() bool { return l.all()[js[9]] > 0 })
	b.must(stop())
	if d := cmp.Diff(once([]jobs.Job{js[0], js[9]}), l.all()); d != "" {
		t.Errorf("deliveries (-want +got):\n%s", d)
	}
}

func laterIsNoFailure(t *testing.T, b *bench) {
	j := job(0, 1)
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{j}))
	const after = 300 * time.Millisecond
	var l log
	var returned atomic.Int64 // when the handler asked, in ns since start
	start := time.Now()
	b.serve(b.again(), 1, func(_ context.Context, j jobs.Job) error {
		n := l.add(j)
		now := time.Since(start)
		if n > 1 && now < time.Duration(returned.Load())+after {
			t.Errorf("delivery %d came %s after the request, want at least %s", n, now-time.Duration(returned.Load()), after)
		}
		if n < 3 {
			returned.Store(int64(time.Since(start)))
			return errors.Join(errors.New("wrapped"), &jobs.LaterError{After: after})
		}
		return nil
	})
	b.eventually("third delivery", func() bool { return l.all()[j] == 3 })
}

func failureComesBack(_ *testing.T, b *bench) {
	js := attempts(2)
	b.must(b.farm.Enqueue(b.ctx, js))
	var l log
	b.serve(b.again(), 2, func(_ context.Context, j jobs.Job) error {
		switch n := l.add(j); {
		case n == 1 && j == js[0]:
			return errors.New("no network")
		case n == 1:
			panic("a bug in the worker")
		}
		return nil
	})
	b.eventually("both come again", func() bool { return l.all()[js[0]] == 2 && l.all()[js[1]] == 2 })
}

func slotsBoundHandlers(t *testing.T, b *bench) {
	const slots = 3
	js := attempts(30)
	b.must(b.farm.Enqueue(b.ctx, js))
	var l log
	var now, most atomic.Int64
	full := make(chan struct{})
	b.serve(b.again(), slots, func(_ context.Context, j jobs.Job) error {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); {
			m = most.Load()
		}
		if n == slots {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		b.hold(full) // none returns before all slots are in use
		l.add(j)
		return nil
	})
	b.eventually("all delivered", func() bool { return l.len() == len(js) })
	if got := most.Load(); got != slots {
		t.Errorf("most handlers at once: got %d, want %d", got, slots)
	}
}

func drains(t *testing.T, b *bench) {
	js := attempts(4)
	b.must(b.farm.Enqueue(b.ctx, js[:2]))
	started, release := make(chan struct{}, 2), make(chan struct{})
	var l log
	ctx, drain := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		ended <- b.again().Serve(ctx, "w", 2, func(ctx context.Context, j jobs.Job) error {
			started <- struct{}{}
			b.hold(release)
			if err := ctx.Err(); err != nil && b.ctx.Err() == nil {
				t.Errorf("the handler's context ended with Serve's: %v", err)
			}
			return l.handler(ctx, j)
		})
	}()
	<-started
	<-started
	drain()
	b.must(b.farm.Enqueue(b.ctx, js[2:]))
	select {
	case err := <-ended:
		t.Fatalf("Serve returned %v while handlers were at work", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(release)
	select {
	case err := <-ended:
		b.must(err)
	case <-time.After(60 * time.Second):
		t.Fatal("Serve did not return")
	}
	if d := cmp.Diff(once(js[:2]), l.all()); d != "" {
		t.Errorf("deliveries (-want +got):\n%s", d)
	}
	// What it did is settled, and what it left is for the next.
	var next log
	stop := b.serve(b.again(), 2, next.handler)
	b.eventually("the rest is delivered", func() bool { return next.len() == 2 })
	b.must(stop())
	if d := cmp.Diff(once(js[2:]), next.all()); d != "" {
		t.Errorf("deliveries of the next worker (-want +got):\n%s", d)
	}
}

func namespaces(t *testing.T, b *bench) {
	other := b.Open(b.name + "-other")
	j := job(0, 1)
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{j}))
	b.must(other.Enqueue(b.ctx, []jobs.Job{j}))
	b.claim(b.farm, claim(j, "u1"), jobs.Granted)
	b.claim(other, claim(j, "u2"), jobs.Granted)
	b.must(b.farm.Commit(b.ctx, claim(j, "u1"), record(claim(j, "u1"))))
	if _, err := other.Beat(b.ctx, "w2", 5, nil); err != nil {
		t.Fatal(err)
	}
	if n, err := b.farm.Slots(b.ctx); err != nil || n != 0 {
		t.Errorf("slots: got %d, %v, want 0", n, err)
	}
	var mine, others inbox
	b.receive(b.farm, mine.put)
	b.receive(other, others.put)
	b.must(other.Commit(b.ctx, claim(j, "u2"), record(claim(j, "u2"))))
	b.eventually("both records arrive", func() bool { return len(mine.uids()) > 0 && len(others.uids()) > 0 })
	if d := cmp.Diff([]string{"u1"}, mine.uids()); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"u2"}, others.uids()); d != "" {
		t.Errorf("records of the other (-want +got):\n%s", d)
	}
	var l log
	b.serve(other, 1, l.handler)
	b.eventually("its own job arrives", func() bool { return l.len() == 1 })
}
