package redislimit_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/limit/redislimit"
)

// A provider allows so many requests a minute and refuses the rest at once, as a
// token bucket does.
type provider struct {
	perMinute float64
	holds     float64 // of the bucket
	latency   time.Duration
	headers   bool // it tells of its limit

	mu    sync.Mutex // guards what follows
	rand  *rand.Rand
	level float64
	at    time.Time
}

func (p *provider) call() limit.Report {
	p.mu.Lock()
	now := time.Now()
	if p.at.IsZero() {
		p.level = p.holds
	} else {
		p.level = min(p.holds, p.level+now.Sub(p.at).Minutes()*p.perMinute)
	}
	p.at = now
	// Log-normal, as the answers of models are.
	latency := time.Duration(float64(p.latency) * math.Exp(0.4*p.rand.NormFloat64()))
	r := limit.Report{Input: -1, Output: -1}
	if p.level < 1 {
		missing := time.Duration((1 - p.level) / p.perMinute * float64(time.Minute))
		r.Throttled, r.Pause = true, (missing + time.Second - 1).Truncate(time.Second)
		r.Input, r.Output = 0, 0
		latency = min(latency, 60*time.Millisecond)
	} else {
		p.level--
	}
	if p.headers {
		r.Standing.Requests = limit.Level{Limit: int(p.perMinute), Remaining: int(p.level)}
	}
	p.mu.Unlock()
	time.Sleep(latency)
	return r
}

// simulate makes calls through several processes, and returns how long they took,
// how long the last two thirds of them did, how many were refused, and how the key
// stands after it.
func simulate(t *testing.T, p *provider, rate eval.Rate, processes, callers, calls int) (took, late time.Duration, refused int64, state eval.LimitState) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = b.Run(ctx) })
	var done, no atomic.Int64
	var third atomic.Int64
	begin := time.Now()
	var work sync.WaitGroup
	var gate *redislimit.Gate
	for n := range processes {
		gate = redislimit.New(b.Client(), "sim", redislimit.Options{})
		l := limit.New(gate, limit.Options{Process: fmt.Sprint("p", n)})
		all.Go(func() { _ = l.Run(ctx) })
		for c := range callers / processes {
			work.Go(func() {
				for i := 0; ; i++ {
					if done.Load() >= int64(calls) {
						return
					}
					permit, _, err := l.Acquire(ctx, key, limit.Ask{Permit: fmt.Sprintf("%d/%d/%d", n, c, i), Rate: rate}, limit.Patience{}, nil)
					if err != nil {
						t.Error(err)
						return
					}
					r := p.call()
					permit.Release(ctx, r)
					if r.Throttled {
						no.Add(1)
						continue
					}
					if done.Add(1) == int64(calls)/3 {
						third.Store(int64(time.Since(begin)))
					}
				}
			})
		}
	}
	for done.Load() < int64(calls) {
		time.Sleep(10 * time.Millisecond)
	}
	took = time.Since(begin)
	work.Wait()
	refused = no.Load()
	states, err := gate.States(ctx)
	if err != nil || len(states) != 1 {
		t.Fatal(states, err)
	}
	cancel()
	all.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return took, took - time.Duration(third.Load()), refused, states[0]
}

// TestSimulation: what is found out about a provider that allows ten calls a second.
func TestSimulation(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("too slow under the race detector")
	}
	const perMinute = 600
	for _, c := range []struct {
		name      string
		latency   time.Duration
		holds     float64 // of the provider's bucket
		headers   bool
		rate      eval.Rate
		processes int
		calls     int
		refused   float64 // of them at most
	}{
		{"50ms", 50 * time.Millisecond, 10, false, eval.Rate{}, 1, 1500, 0.02},
		{"1s", time.Second, 10, false, eval.Rate{}, 1, 1500, 0.02},
		{"8s", 8 * time.Second, 10, false, eval.Rate{}, 1, 1500, 0.02},
		// Six hundred calls in a few seconds, and then nothing.
		{"50ms, a minute's worth", 50 * time.Millisecond, 600, false, eval.Rate{}, 1, 1500, 0.03},
		{"1s, four processes", time.Second, 10, false, eval.Rate{}, 4, 1500, 0.02},
		// What is configured is tried again each time that the pace has grown to it.
		{"1s, 750 a minute", time.Second, 10, false, eval.Rate{RequestsPerMinute: 750}, 1, 1500, 0.03},
		{"1s, told", time.Second, 10, true, eval.Rate{}, 1, 500, 0},
		{"1s, right", time.Second, 10, false, eval.Rate{RequestsPerMinute: perMinute}, 1, 500, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &provider{perMinute: perMinute, holds: c.holds, latency: c.latency, headers: c.headers, rand: rand.New(rand.NewPCG(1, 2))}
				took, late, refused, state := simulate(t, p, c.rate, c.processes, 200, c.calls)
				share := float64(refused) / float64(c.calls)
				if share > c.refused {
					t.Errorf("%d of %d calls were refused, want at most %.0f %%", refused, c.calls, 100*c.refused)
				}
				if state.RateLimited != refused || state.InFlight > 200 {
					t.Errorf("state %+v, want %d refused", state, refused)
				}
				ratio := func(calls int, took time.Duration) float64 { return float64(calls) / (took.Minutes() * perMinute) }
				t.Logf("%.1f s, throughput %.2f of the limit, %.2f after the first third; %d of %d refused (%.1f %%)",
					took.Seconds(), ratio(c.calls, took), ratio(c.calls-c.calls/3, late), refused, c.calls, 100*share)
				for _, h := range state.History {
					t.Logf("%s: %d in flight, %.1f a minute, %s", h.At.Format("04:05.000"), h.Concurrent, h.RequestsPerMinute, h.Why)
				}
			})
		})
	}
}
