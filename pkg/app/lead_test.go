package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// leases is a table of one lease by the clock of a bubble, which can be away.
type leases struct {
	mu    sync.Mutex
	lease store.Lease
	away  map[string]bool // from whom
}

var errAway = errors.New("the store is away")

func (l *leases) AcquireLease(_ context.Context, name, holder string, term time.Duration) (store.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away[holder] {
		return store.Lease{}, errAway
	}
	if l.lease.Holder == holder || !time.Now().Before(l.lease.Until) {
		l.lease = store.Lease{Name: name, Holder: holder, Until: time.Now().Add(term)}
	}
	return l.lease, nil
}

func (l *leases) ReleaseLease(_ context.Context, _, holder string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away[holder] {
		return errAway
	}
	if l.lease.Holder == holder {
		l.lease = store.Lease{}
	}
	return nil
}

func (l *leases) Lease(context.Context, string) (store.Lease, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease, nil
}

func (l *leases) cut(holder string, away bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.away = map[string]bool{holder: away}
}

// A throne counts who sits on it.
type throne struct {
	mu     sync.Mutex
	now    map[string]bool
	reigns []string
	most   int
	fail   chan error
}

func (th *throne) reign(who string) func(context.Context) error {
	return func(ctx context.Context) error {
		th.mu.Lock()
		th.now[who] = true
		th.reigns = append(th.reigns, who)
		th.most = max(th.most, len(th.now))
		th.mu.Unlock()
		defer func() {
			th.mu.Lock()
			defer th.mu.Unlock()
			delete(th.now, who)
		}()
		select {
		case <-ctx.Done():
			return nil
		case err := <-th.fail:
			return err
		}
	}
}

func (th *throne) leads(who string) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	return th.now[who] && len(th.now) == 1
}

// seen is who has led so far, and how many do now.
func (th *throne) seen() (reigns []string, now int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	return slices.Clone(th.reigns), len(th.now)
}

const term = 15 * time.Second

// elect runs two candidates in a bubble; each can be stopped.
func elect(t *testing.T, fn func(t *testing.T, l *leases, th *throne, stop map[string]context.CancelFunc)) {
	synctest.Test(t, func(t *testing.T) {
		l, th := &leases{}, &throne{now: map[string]bool{}, fail: make(chan error)}
		stop := map[string]context.CancelFunc{}
		var all sync.WaitGroup
		for _, who := range []string{"a", "b"} {
			ctx, cancel := context.WithCancel(context.Background())
			stop[who] = cancel
			c := candidate{leases: l, holder: who, term: term, log: slog.New(slog.DiscardHandler)}
			all.Go(func() { c.run(ctx, th.reign(who)) })
			synctest.Wait() // a is the first
		}
		fn(t, l, th, stop)
		for _, cancel := range stop {
			cancel()
		}
		all.Wait()
		if th.most != 1 {
			t.Errorf("%d led at once, want one", th.most)
		}
	})
}

func TestOneLeads(t *testing.T) {
	elect(t, func(t *testing.T, _ *leases, th *throne, _ map[string]context.CancelFunc) {
		time.Sleep(time.Hour)
		if reigns, _ := th.seen(); !th.leads("a") || len(reigns) != 1 {
			t.Errorf("reigns %v, want the first to lead all the time", reigns)
		}
	})
}

func TestStandbyFollowsALeaderThatStops(t *testing.T) {
	elect(t, func(t *testing.T, _ *leases, th *throne, stop map[string]context.CancelFunc) {
		stop["a"]()
		time.Sleep(term / 10)
		if !th.leads("b") {
			t.Error("a moment after the leader has stopped the other one does not lead alone")
		}
	})
}

// A leader that cannot renew has ended before its lease does, and then another one
// leads.
func TestLeaderWithoutTheStoreEndsInTime(t *testing.T) {
	elect(t, func(t *testing.T, l *leases, th *throne, _ map[string]context.CancelFunc) {
		time.Sleep(time.Minute)
		l.cut("a", true)
		lease, _ := l.Lease(t.Context(), "")
		time.Sleep(time.Until(lease.Until) - time.Millisecond)
		if th.leads("a") {
			t.Error("it leads up to the end of its lease, want it to have ended before")
		}
		time.Sleep(term / 10)
		if !th.leads("b") {
			t.Error("after the lease the other one does not lead alone")
		}
		l.cut("a", false)
		time.Sleep(time.Minute)
		if !th.leads("b") {
			t.Error("once the first can reach the store again, the second does not lead alone any more")
		}
	})
}

func TestShortAbsenceOfTheStoreChangesNothing(t *testing.T) {
	elect(t, func(t *testing.T, l *leases, th *throne, _ map[string]context.CancelFunc) {
		time.Sleep(time.Minute)
		l.cut("a", true)
		time.Sleep(term / 2)
		l.cut("a", false)
		time.Sleep(time.Hour)
		if reigns, _ := th.seen(); len(reigns) != 1 {
			t.Errorf("reigns %v, want the first only", reigns)
		}
	})
}

func TestReignThatFailsIsFollowedByAnother(t *testing.T) {
	elect(t, func(t *testing.T, _ *leases, th *throne, _ map[string]context.CancelFunc) {
		for n := 2; n < 5; n++ {
			th.fail <- errAway
			time.Sleep(term)
			if reigns, now := th.seen(); len(reigns) != n || now != 1 {
				t.Errorf("reigns %v, %d now; want %d, and one of them now", reigns, now, n)
			}
		}
	})
}
