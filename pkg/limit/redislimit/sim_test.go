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
// how long the last two thirds of them did, and how many were refused.
func simulate(t *testing.T, p *provider, rate eval.Rate, processes, callers, calls int) (took, late time.Duration, refused int64, states []eval.LimitState) {
	t.Helper()
	b, err := broker.Open(t.Context(), broker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = b.Run(ctx) })
	const key = limit.Key("stub:1/model")
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
					r.Rate = rate
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
	refused = no.Load()
	states, err = gate.States(ctx)
	if err != nil {
		t.Error(err)
	}
	work.Wait()
	cancel()
	all.Wait()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	return took, took - time.Duration(third.Load()), refused, states
}

// TestSimulation: what is found out about a provider that allows ten calls a second.
func TestSimulation(t *testing.T) {
	const calls = 1500
	for _, c := range []struct {
		name      string
		latency   time.Duration
		holds     float64
		headers   bool
		rate      eval.Rate
		processes int
	}{
		{"50ms", 50 * time.Millisecond, 10, false, eval.Rate{}, 1},
		{"1s", time.Second, 10, false, eval.Rate{}, 1},
		{"8s", 8 * time.Second, 10, false, eval.Rate{}, 1},
		{"50ms, holds a minute", 50 * time.Millisecond, 600, false, eval.Rate{}, 1},
		{"50ms, holds one", 50 * time.Millisecond, 1, false, eval.Rate{}, 1},
		{"1s, four processes", time.Second, 10, false, eval.Rate{}, 4},
		{"1s, tells", time.Second, 10, true, eval.Rate{}, 1},
		{"1s, 16 at once", time.Second, 10, false, eval.Rate{Concurrent: 16}, 1},
		{"1s, 750 a minute", time.Second, 10, false, eval.Rate{RequestsPerMinute: 750}, 1},
		{"1s, right", time.Second, 10, false, eval.Rate{RequestsPerMinute: 600}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &provider{perMinute: 600, holds: c.holds, latency: c.latency, headers: c.headers, rand: rand.New(rand.NewPCG(1, 2))}
				took, late, refused, states := simulate(t, p, c.rate, c.processes, 200, calls)
				ratio := func(calls float64, took time.Duration) float64 { return calls / (took.Minutes() * p.perMinute) }
				t.Logf("%.1f s, throughput %.2f of the limit (%.2f after the first third), %d refused of %d (%.1f %%)",
					took.Seconds(), ratio(calls, took), ratio(calls*2/3, late), refused, calls, 100*float64(refused)/calls)
				for _, h := range states[0].History {
					if testing.Verbose() {
						t.Logf("%s %d %.1f %s", h.At.Format("04:05.000"), h.Concurrent, h.RequestsPerMinute, h.Why)
					}
				}
			})
		})
	}
}
