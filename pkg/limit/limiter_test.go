package limit_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
)

const key = limit.Key("stub:1/model")

// gate is a gate that answers as the test wants.
type gate struct {
	try   func(ask limit.Ask) (limit.Answer, error)
	lease time.Duration

	mu       sync.Mutex // guards what follows
	tries    int
	released map[string]limit.Report
	renewed  [][]string
	waiting  []int
	away     error // of Release
}

func (g *gate) Try(ctx context.Context, _ limit.Key, ask limit.Ask) (limit.Answer, error) {
	g.mu.Lock()
	g.tries++
	g.mu.Unlock()
	if ctx.Err() != nil {
		return limit.Answer{}, ctx.Err()
	}
	return g.try(ask)
}

func (g *gate) Renew(_ context.Context, _ limit.Key, permits []string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.Sort(permits)
	g.renewed = append(g.renewed, permits)
	return nil
}

func (g *gate) Release(_ context.Context, _ limit.Key, permit string, r limit.Report) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.away != nil {
		return g.away
	}
	if g.released == nil {
		g.released = map[string]limit.Report{}
	}
	g.released[permit] = r
	return nil
}

func (g *gate) Waiting(_ context.Context, _ limit.Key, _ string, n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting = append(g.waiting, n)
	return nil
}

func (g *gate) States(context.Context) ([]eval.LimitState, error) { return nil, nil }

func (g *gate) Lease() time.Duration {
	if g.lease == 0 {
		return 30 * time.Second
	}
	return g.lease
}

func (g *gate) asked() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tries
}

var (
	granted = limit.Answer{Granted: true}
	full    = limit.Answer{Why: limit.WhyInFlight}
)

func wait(why limit.Why, d time.Duration) limit.Answer { return limit.Answer{Why: why, Wait: d} }

// always answers everybody alike.
func always(a limit.Answer) func(limit.Ask) (limit.Answer, error) {
	return func(limit.Ask) (limit.Answer, error) { return a, nil }
}

// bounded grants so many permits at a time.
func bounded(n int, held *atomic.Int64) func(limit.Ask) (limit.Answer, error) {
	return func(limit.Ask) (limit.Answer, error) {
		if held.Load() >= int64(n) {
			return full, nil
		}
		held.Add(1)
		return granted, nil
	}
}

func ask(n int) limit.Ask { return limit.Ask{Permit: fmt.Sprint(n)} }

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int64
		g := &gate{try: bounded(1, &held)}
		l := limit.New(g, limit.Options{})
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for n := range 200 {
			all.Go(func() {
				p, _, err := l.Acquire(t.Context(), key, ask(n), limit.Patience{}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				time.Sleep(time.Second)
				held.Add(-1)
				p.Release(t.Context(), limit.Report{})
			})
			synctest.Wait()
		}
		all.Wait()
		if !slices.IsSorted(order) || len(order) != 200 {
			t.Errorf("served in the order %v", order)
		}
	})
}

// TestWaitingIsCheap: however many wait, only the first asks.
func TestWaitingIsCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{try: always(wait(limit.WhyRequests, 10*time.Second))}
		l := limit.New(g, limit.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for n := range 5000 {
			all.Go(func() { _, _, _ = l.Acquire(ctx, key, ask(n), limit.Patience{}, nil) })
		}
		time.Sleep(time.Minute)
		if got := g.asked(); got > 7 {
			t.Errorf("asked the gate %d times in a minute, want 7 at most", got)
		}
		cancel()
		all.Wait()
		if got := g.asked(); got > 8 {
			t.Errorf("asked the gate %d times for callers that are gone", got)
		}
	})
}

func TestPatience(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   limit.Answer
		patience limit.Patience
		deadline time.Duration
		want     limit.Why     // of the LongError
		after    time.Duration // how long it took, for the first and for another
		left     time.Duration // what is left of the wait at least
	}{
		{"once", wait(limit.WhyPause, time.Minute), limit.Patience{Once: 30 * time.Second}, 0, limit.WhyPause, 0, time.Minute},
		{"most", wait(limit.WhyPause, time.Minute), limit.Patience{Most: 30 * time.Second}, 0, limit.WhyPause, 0, time.Minute},
		{"deadline", wait(limit.WhyPause, time.Minute), limit.Patience{}, 30 * time.Second, limit.WhyPause, 0, time.Minute},
		{"rate", wait(limit.WhyTokens, time.Minute), limit.Patience{Once: time.Second}, 0, limit.WhyTokens, 0, time.Minute},
		{"nobody knows", full, limit.Patience{Most: 10 * time.Second, Once: time.Second}, 0, limit.WhyInFlight, 10 * time.Second, 0},
		{"in sum", wait(limit.WhyRequests, 4*time.Second), limit.Patience{Most: 10 * time.Second}, 0, limit.WhyRequests, 8 * time.Second, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := limit.New(&gate{try: always(c.answer)}, limit.Options{})
				var all sync.WaitGroup
				for n := range 3 {
					all.Go(func() {
						ctx := t.Context()
						if c.deadline > 0 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, c.deadline)
							defer cancel()
						}
						begin := time.Now()
						_, w, err := l.Acquire(ctx, key, ask(n), c.patience, nil)
						e, ok := errors.AsType[*limit.LongError](err)
						if !ok {
							t.Errorf("caller %d: got %v, want a LongError", n, err)
							return
						}
						took := time.Since(begin)
						if e.Why != c.want || e.Key != key || took < c.after || took > c.after+100*time.Millisecond {
							t.Errorf("caller %d: got %v after %s, want %s after %s", n, e, took, c.want, c.after)
						}
						if e.Wait < c.left-50*time.Millisecond || e.Wait > c.left+50*time.Millisecond {
							t.Errorf("caller %d: %s are left, want %s", n, e.Wait, c.left)
						}
						if w.Paused+w.Limited > took {
							t.Errorf("caller %d: waited %+v within %s", n, w, took)
						}
					})
					synctest.Wait()
				}
				all.Wait()
			})
		})
	}
}

// TestLaterPause: callers who wait already learn of a pause that is too long for
// them, whoever has to sit it out.
func TestLaterPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer atomic.Pointer[limit.Answer]
		answer.Store(&full)
		l := limit.New(&gate{try: func(limit.Ask) (limit.Answer, error) { return *answer.Load(), nil }}, limit.Options{})
		var all sync.WaitGroup
		all.Go(func() {
			if _, w, err := l.Acquire(t.Context(), key, ask(0), limit.Patience{}, nil); err != nil || w.Paused < time.Minute || w.Limited < 5*time.Second {
				t.Errorf("the patient one: %+v, %v, want it to wait", w, err)
			}
		})
		synctest.Wait()
		begin := time.Now()
		all.Go(func() {
			_, w, err := l.Acquire(t.Context(), key, ask(1), limit.Patience{Once: 30 * time.Second}, nil)
			if e, ok := errors.AsType[*limit.LongError](err); !ok || e.Why != limit.WhyPause {
				t.Errorf("got %v, want a LongError for the pause", err)
			}
			if took := time.Since(begin); took > 6*time.Second {
				t.Errorf("it took %s", took)
			}
			if w.Limited < 5*time.Second || w.Paused > time.Second {
				t.Errorf("waited %+v", w)
			}
		})
		time.Sleep(5 * time.Second)
		p := wait(limit.WhyPause, time.Minute)
		answer.Store(&p)
		time.Sleep(time.Minute - 5*time.Second)
		answer.Store(&granted)
		all.Wait()
	})
}

func TestWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := limit.New(&gate{try: func(limit.Ask) (limit.Answer, error) {
			switch since := time.Since(begin); {
			case since < 20*time.Second:
				return wait(limit.WhyPause, 20*time.Second-since), nil
			case since < 30*time.Second:
				return wait(limit.WhyRequests, 30*time.Second-since), nil
			}
			return granted, nil
		}}, limit.Options{})
		var all sync.WaitGroup
		for n := range 3 {
			all.Go(func() {
				_, w, err := l.Acquire(t.Context(), key, ask(n), limit.Patience{}, nil)
				if err != nil {
					t.Error(err)
				}
				if w.Paused < 20*time.Second || w.Paused > 21*time.Second || w.Limited < 9*time.Second || w.Limited > 10*time.Second+30*time.Millisecond {
					t.Errorf("caller %d: waited %+v, want 20 s or a little more, and 10 s", n, w)
				}
			})
			synctest.Wait()
		}
		all.Wait()
		if _, w, _ := l.Acquire(t.Context(), key, ask(9), limit.Patience{}, nil); w != (limit.Waited{}) {
			t.Errorf("who did not wait waited %+v", w)
		}
	})
}

func TestTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int64
		l := limit.New(&gate{try: bounded(1, &held)}, limit.Options{})
		for n := range 3 {
			go func() {
				p, _, err := l.Acquire(t.Context(), key, ask(n), limit.Patience{}, nil)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(10 * time.Second)
				held.Add(-1)
				p.Release(t.Context(), limit.Report{})
			}()
			synctest.Wait()
		}
		var got []string
		begin := time.Now()
		p, _, err := l.Acquire(t.Context(), key, ask(3), limit.Patience{}, func(w limit.Wait) {
			got = append(got, fmt.Sprintf("%s %d at %.0f", w.Why, w.Before, time.Since(begin).Seconds()))
		})
		if err != nil {
			t.Fatal(err)
		}
		p.Release(t.Context(), limit.Report{})
		want := []string{"turn 2 at 0", "turn 1 at 10", "in_flight 0 at 20"}
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

// TestReleaseWakes: a place that a call of this process leaves is taken at once.
func TestReleaseWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held atomic.Int64
		l := limit.New(&gate{try: bounded(1, &held)}, limit.Options{})
		p, _, err := l.Acquire(t.Context(), key, ask(0), limit.Patience{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		go func() {
			time.Sleep(50 * time.Millisecond)
			held.Add(-1)
			p.Release(t.Context(), limit.Report{})
		}()
		_, w, err := l.Acquire(t.Context(), key, ask(1), limit.Patience{}, nil)
		if err != nil || time.Since(begin) != 50*time.Millisecond || w.Limited != 50*time.Millisecond {
			t.Errorf("took %s, waited %+v, %v, want 50 ms", time.Since(begin), w, err)
		}
	})
}

// TestEndOfContext: whoever gives up leaves no permit behind, even if it was granted
// at that very moment, and the next one has its turn.
func TestEndOfContext(t *testing.T) {
	cause := errors.New("enough")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		slow := func(a limit.Ask) (limit.Answer, error) {
			if a.Permit == "0" {
				time.Sleep(time.Second) // ctx ends meanwhile
			}
			return granted, nil
		}
		g := &gate{try: slow}
		l := limit.New(g, limit.Options{})
		first := make(chan error, 1)
		go func() { _, _, err := l.Acquire(ctx, key, ask(0), limit.Patience{}, nil); first <- err }()
		synctest.Wait()
		third := make(chan error, 1)
		second := make(chan error, 1)
		go func() { _, _, err := l.Acquire(ctx, key, ask(1), limit.Patience{}, nil); second <- err }()
		synctest.Wait()
		go func() { _, _, err := l.Acquire(t.Context(), key, ask(2), limit.Patience{}, nil); third <- err }()
		synctest.Wait()
		cancel(cause)
		for n, c := range []chan error{first, second} {
			if err := <-c; !errors.Is(err, cause) {
				t.Errorf("caller %d: got %v, want the cause", n, err)
			}
		}
		if err := <-third; err != nil {
			t.Errorf("the next one: %v", err)
		}
		synctest.Wait()
		g.mu.Lock()
		defer g.mu.Unlock()
		if r, ok := g.released["0"]; !ok || !r.Failed || r.Input != 0 || r.Throttled {
			t.Errorf("released %+v, want the permit that nobody got", g.released)
		}
	})
}

func TestGateAway(t *testing.T) {
	t.Run("for a while", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			g := &gate{try: func(limit.Ask) (limit.Answer, error) {
				if time.Since(begin) < 50*time.Second {
					return limit.Answer{}, io.EOF
				}
				return granted, nil
			}}
			l := limit.New(g, limit.Options{})
			var told []limit.Why
			_, w, err := l.Acquire(t.Context(), key, ask(0), limit.Patience{}, func(w limit.Wait) { told = append(told, w.Why) })
			if err != nil || w.Limited < 50*time.Second || w.Limited > 53*time.Second || w.Paused != 0 {
				t.Errorf("waited %+v, %v", w, err)
			}
			if !slices.Equal(told, []limit.Why{limit.WhyGate}) {
				t.Errorf("told %v", told)
			}
			if n := g.asked(); n < 25 || n > 60 {
				t.Errorf("asked %d times in 50 s", n)
			}
		})
	})
	t.Run("for good", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := &gate{try: func(limit.Ask) (limit.Answer, error) { return limit.Answer{}, io.EOF }, away: io.EOF}
			l := limit.New(g, limit.Options{})
			begin := time.Now()
			var all sync.WaitGroup
			for n := range 3 {
				all.Go(func() {
					_, _, err := l.Acquire(t.Context(), key, ask(n), limit.Patience{}, nil)
					if !errors.Is(err, limit.ErrAway) || !errors.Is(err, io.EOF) {
						t.Errorf("caller %d: got %v, want ErrAway and why", n, err)
					}
					if took := time.Since(begin); took < time.Minute || took > 63*time.Second {
						t.Errorf("caller %d: it took %s, want a minute", n, took)
					}
				})
			}
			all.Go(func() {
				_, _, err := l.Acquire(t.Context(), key, ask(4), limit.Patience{Most: 5 * time.Second}, nil)
				if took := time.Since(begin); !errors.Is(err, limit.ErrAway) || took != 5*time.Second {
					t.Errorf("got %v after %s, want ErrAway after 5 s", err, took)
				}
			})
			all.Wait()
			time.Sleep(time.Minute) // let go what was tried to be released
		})
	})
}

// TestReleaseGivesUp: the lease ends a permit that cannot be released.
func TestReleaseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{try: always(granted), away: io.EOF, lease: 3 * time.Second}
		l := limit.New(g, limit.Options{Process: "p"})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		p, _, err := l.Acquire(ctx, key, ask(0), limit.Patience{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.Acquire(ctx, key, ask(1), limit.Patience{}, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		begin := time.Now()
		p.Release(ctx, limit.Report{})
		p.Release(ctx, limit.Report{})
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("Release took %s", took)
		}
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		want := [][]string{{"0", "1"}, {"0", "1"}, {"1"}}
		if !slices.EqualFunc(g.renewed[:3], want, slices.Equal) {
			t.Errorf("renewed %v, want %v", g.renewed, want)
		}
	})
}

func TestWaitingIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{try: always(full)}
		l := limit.New(g, limit.Options{Process: "p"})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = l.Run(t.Context()) }()
		time.Sleep(2500 * time.Millisecond)
		for n := range 3 {
			go func() { _, _, _ = l.Acquire(ctx, key, ask(n), limit.Patience{}, nil) }()
		}
		time.Sleep(2 * time.Second)
		cancel()
		time.Sleep(3 * time.Second)
		g.mu.Lock()
		defer g.mu.Unlock()
		if want := []int{3, 3, 0}; !slices.Equal(g.waiting, want) {
			t.Errorf("shown %v, want %v", g.waiting, want)
		}
	})
}
