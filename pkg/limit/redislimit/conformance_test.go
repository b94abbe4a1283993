package redislimit_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/limit/redislimit"
)

const key = limit.Key("stub:1/{model}")

// open opens a broker that ends with the test.
func open(tb testing.TB, o broker.Options) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run: %v", err)
		}
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	exercise(t, open(t, broker.Options{}).Client())
}

func TestRedis(t *testing.T) {
	t.Parallel()
	exercise(t, open(t, broker.Options{URL: redistest.Start(t).URL()}).Client())
}

// TestResent does everything twice, as the client does when a connection breaks.
func TestResent(t *testing.T) {
	t.Parallel()
	client := open(t, broker.Options{URL: redistest.Start(t).URL()}).Client()
	client.AddHook(resending{})
	exercise(t, client)
}

// resending does what the client does when a connection breaks at the worst
// moment: the server has carried a command out, the answer is lost, and the
// command is sent again.
type resending struct{}

func (resending) DialHook(next redis.DialHook) redis.DialHook { return next }

func (resending) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" || cmd.Name() == "eval" {
			_ = next(ctx, redis.NewCmd(ctx, cmd.Args()...))
		}
		return next(ctx, cmd)
	}
}

func (resending) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A desk is a gate under test.
type desk struct {
	t *testing.T
	*redislimit.Gate
	rate  eval.Rate
	begun time.Time
}

func newDesk(t *testing.T, client redis.UniversalClient, rate eval.Rate) *desk {
	t.Helper()
	return &desk{t, redislimit.New(client, strings.ReplaceAll(t.Name(), "/", "-"), redislimit.Options{Lease: 3 * time.Second}), rate, time.Now()}
}

// ask asks once.
func (d *desk) ask(permit string, input, output int) limit.Answer {
	d.t.Helper()
	a, err := d.Try(d.t.Context(), key, limit.Ask{Permit: permit, Input: input, Output: output, Rate: d.rate})
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

// grants asks once and wants a permit.
func (d *desk) grants(permit string, tokens ...int) {
	d.t.Helper()
	tokens = append(tokens, 0, 0)
	if a := d.ask(permit, tokens[0], tokens[1]); !a.Granted {
		d.t.Errorf("permit %s: got %+v, want it granted", permit, a)
	}
}

// refuses asks once and wants to wait about so long, less what has passed of it since
// the test began. On a machine so busy that all of it has, it tells nothing.
func (d *desk) refuses(permit string, why limit.Why, about time.Duration, tokens ...int) {
	d.t.Helper()
	tokens = append(tokens, 0, 0)
	a := d.ask(permit, tokens[0], tokens[1])
	left := about - time.Since(d.begun)
	if about > 0 && left <= 0 {
		d.t.Logf("permit %s: %s after the begin, got %+v", permit, about-left, a)
		return
	}
	// The script of an embedded Redis takes its time on a busy machine.
	if a.Granted || a.Why != why || a.Wait > about || a.Wait < min(about/2, left-10*time.Millisecond) {
		d.t.Errorf("permit %s: got %+v, want to wait about %s for %s", permit, a, about, why)
	}
}

func (d *desk) release(permit string, r limit.Report) {
	d.t.Helper()
	r.Rate = d.rate
	if err := d.Release(d.t.Context(), key, permit, r); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) state() eval.LimitState {
	d.t.Helper()
	states, err := d.States(d.t.Context())
	if err != nil || len(states) != 1 {
		d.t.Fatalf("states %+v, %v, want one", states, err)
	}
	return states[0]
}

// unknown is the report of a call whose tokens nobody counted.
var unknown = limit.Report{Input: -1, Output: -1}

// exercise shares one Redis among tests that each have a namespace.
func exercise(t *testing.T, client redis.UniversalClient) {
	for _, c := range []struct {
		name string
		rate eval.Rate
		test func(*desk)
	}{
		{"requests", eval.Rate{RequestsPerMinute: 120}, func(d *desk) {
			d.grants("a")
			d.grants("b") // a second's worth
			d.refuses("c", limit.WhyRequests, 500*time.Millisecond)
			d.grants("b") // the same as once
			d.release("a", limit.Report{Failed: true})
			d.refuses("c", limit.WhyRequests, 500*time.Millisecond) // it may have counted
		}},
		{"slow", eval.Rate{RequestsPerMinute: 6}, func(d *desk) {
			d.grants("a")
			d.refuses("b", limit.WhyRequests, 10*time.Second)
		}},
		{"tokens", eval.Rate{TokensPerMinute: 6000}, func(d *desk) {
			d.grants("a", 400, 500)
			d.refuses("b", limit.WhyTokens, time.Second, 100, 100)
			d.grants("c", 50, 10)
			d.release("a", limit.Report{Input: 400, Output: 100})
			d.grants("b", 100, 100)
		}},
		{"input apart", eval.Rate{InputTokensPerMinute: 6000}, func(d *desk) {
			d.grants("a", 1000, 1e6)
			d.refuses("b", limit.WhyTokens, time.Second, 100, 0)
			d.release("a", unknown) // keeps the estimate
			d.refuses("b", limit.WhyTokens, time.Second, 100, 0)
		}},
		{"output apart", eval.Rate{OutputTokensPerMinute: 6000}, func(d *desk) {
			d.grants("a", 1e6, 1000)
			d.refuses("b", limit.WhyTokens, time.Second, 0, 100)
			d.release("a", limit.Report{Input: -1, Output: 1100}) // it was more
			d.refuses("b", limit.WhyTokens, 2*time.Second, 0, 100)
		}},
		{"larger than the bucket", eval.Rate{TokensPerMinute: 6000}, func(d *desk) {
			d.grants("a", 1500)
			d.refuses("b", limit.WhyTokens, 6*time.Second, 100) // 500 too many, and its own
		}},
		{"all or nothing", eval.Rate{RequestsPerMinute: 60, TokensPerMinute: 6000, Concurrent: 3}, func(d *desk) {
			d.grants("a", 1000)
			d.release("a", unknown)
			d.refuses("b", limit.WhyTokens, 9*time.Second, 900)
			d.refuses("b", limit.WhyTokens, 9*time.Second, 900)
			d.refuses("c", limit.WhyRequests, time.Second)
			time.Sleep(1050 * time.Millisecond)
			d.grants("c") // no request was taken from it
		}},
		{"refused calls take no tokens", eval.Rate{TokensPerMinute: 6000}, func(d *desk) {
			d.grants("a", 1000)
			d.refuses("b", limit.WhyTokens, time.Second, 100)
			d.release("a", limit.Report{Failed: true})
			d.grants("b", 900)
		}},
		{"in flight", eval.Rate{Concurrent: 2}, func(d *desk) {
			d.grants("a")
			d.grants("b")
			d.refuses("c", limit.WhyInFlight, 0)
			d.release("nobody's", unknown)
			d.refuses("c", limit.WhyInFlight, 0)
			d.release("a", unknown)
			d.release("a", unknown)
			d.grants("c")
			d.refuses("d", limit.WhyInFlight, 0)
			if s := d.state(); s.InFlight != 2 || s.Concurrent != 2 || s.Calls != 3 || s.Adaptive || s.Key != string(key) {
				d.t.Errorf("state %+v", s)
			}
		}},
		{"a holder crashes", eval.Rate{Concurrent: 2}, func(d *desk) {
			d.grants("a")
			d.grants("b")
			deadline := time.Now().Add(time.Minute)
			renewed := 0
			for !d.ask("c", 0, 0).Granted {
				if err := d.Renew(d.t.Context(), key, []string{"b", "gone"}); err != nil {
					d.t.Fatal(err)
				}
				renewed++
				if time.Now().After(deadline) {
					d.t.Fatal("the permit of a holder that crashed is never given to anybody")
				}
				time.Sleep(100 * time.Millisecond)
			}
			if renewed < 5 {
				d.t.Errorf("the lease ended after %d renewals", renewed)
			}
			d.refuses("d", limit.WhyInFlight, 0) // b is held, and gone is not
			d.release("a", limit.Report{Throttled: true})
			if s := d.state(); s.RateLimited != 0 || s.InFlight != 2 {
				d.t.Errorf("state %+v, want nothing from a permit that was taken back", s)
			}
		}},
		{"pause", eval.Rate{Concurrent: 9}, func(d *desk) {
			other := *d // of another process
			d.grants("a")
			d.grants("b")
			d.release("a", limit.Report{Throttled: true, Pause: 3 * time.Second})
			other.refuses("c", limit.WhyPause, 3*time.Second)
			d.release("b", limit.Report{Throttled: true, Pause: time.Second})
			other.refuses("c", limit.WhyPause, 3*time.Second) // never shortened
			d.release("nobody's", limit.Report{Pause: 6 * time.Second})
			other.refuses("c", limit.WhyPause, 6*time.Second) // the provider means it
			if s := d.state(); s.RateLimited != 2 || time.Until(s.PausedUntil) < 4*time.Second {
				d.t.Errorf("state %+v", s)
			}
			d.release("nobody's", limit.Report{Pause: 1e6 * time.Hour})
			other.refuses("c", limit.WhyPause, 24*time.Hour)
		}},
		{"a pause ends", eval.Rate{Concurrent: 9}, func(d *desk) {
			d.grants("a")
			d.release("a", limit.Report{Pause: 2 * time.Second})
			a := d.ask("b", 0, 0)
			if a.Granted || a.Why != limit.WhyPause {
				d.t.Errorf("got %+v, want a pause", a)
			}
			time.Sleep(a.Wait + time.Millisecond)
			d.grants("b")
		}},
		{"told less", eval.Rate{RequestsPerMinute: 6000}, func(d *desk) {
			d.grants("a")
			d.release("a", limit.Report{Standing: limit.Standing{Requests: limit.Level{Limit: 60, Remaining: 59}}})
			d.release("a", limit.Report{Standing: limit.Standing{Requests: limit.Level{Limit: 0, Remaining: 0}, Tokens: limit.Level{Limit: 0, Remaining: -1}}})
			s := d.state()
			if s.RequestsPerMinute != 60 || !s.Adaptive || len(s.History) != 1 || s.History[0].Why != "told" || s.History[0].RequestsPerMinute != 60 {
				d.t.Errorf("state %+v", s)
			}
			time.Sleep(20 * time.Millisecond)
			d.grants("b")
			d.refuses("c", limit.WhyRequests, time.Second)
		}},
		{"told more", eval.Rate{RequestsPerMinute: 60}, func(d *desk) {
			d.grants("a")
			d.release("a", limit.Report{Standing: limit.Standing{Requests: limit.Level{Limit: 600, Remaining: 599}}})
			if s := d.state(); s.RequestsPerMinute != 60 || s.Adaptive || len(s.History) != 0 {
				d.t.Errorf("state %+v, want what is configured", s)
			}
			d.refuses("b", limit.WhyRequests, time.Second)
		}},
		{"told of tokens", eval.Rate{RequestsPerMinute: 6000}, func(d *desk) {
			d.grants("a", 10, 10)
			d.release("a", limit.Report{Standing: limit.Standing{Tokens: limit.Level{Limit: 6000, Remaining: 100}}})
			d.grants("b", 50, 50)
			d.refuses("c", limit.WhyTokens, time.Second, 50, 50)
			d.release("b", limit.Report{Input: -1, Output: -1, Standing: limit.Standing{Tokens: limit.Level{Limit: 6000, Remaining: 5000}}})
			d.refuses("c", limit.WhyTokens, time.Second, 50, 50) // never more
		}},
		{"waiting", eval.Rate{}, func(d *desk) {
			d.grants("a")
			for process, n := range map[string]int{"p": 3, "q": 4, "r": 5} {
				if err := d.Waiting(d.t.Context(), key, process, n); err != nil {
					d.t.Fatal(err)
				}
			}
			if err := d.Waiting(d.t.Context(), key, "r", 0); err != nil {
				d.t.Fatal(err)
			}
			if s := d.state(); s.Waiting != 7 || !s.Adaptive || s.Concurrent != 4 || s.RequestsPerMinute != 0 {
				d.t.Errorf("state %+v, want 7 waiting, and 4 calls to begin with", s)
			}
		}},
		{"many keys", eval.Rate{Concurrent: 1}, func(d *desk) {
			for n := range 210 {
				if _, err := d.Try(d.t.Context(), limit.Key(fmt.Sprintf("k%03d", n)), limit.Ask{Permit: "p", Rate: d.rate}); err != nil {
					d.t.Fatal(err)
				}
			}
			states, err := d.States(d.t.Context())
			if err != nil || len(states) != 200 || states[0].Key > states[199].Key || states[0].InFlight+states[199].InFlight == 0 {
				d.t.Errorf("%d states, %v, want 200 by key", len(states), err)
			}
		}},
		{"many processes", eval.Rate{Concurrent: 5, RequestsPerMinute: 6000}, many},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(newDesk(t, client, c.rate))
		})
	}
}

// many wants the bounds kept whoever asks. A request is counted when it was let
// through: that is later than in Redis, but by the same for all, or nearly.
func many(d *desk) {
	const processes, callers, calls, late = 4, 16, 2, 300 * time.Millisecond
	var mu sync.Mutex // guards what follows
	var inFlight, most int
	var times []time.Time
	ctx, cancel := context.WithCancel(d.t.Context())
	var all, work sync.WaitGroup
	for n := range processes {
		l := limit.New(d.Gate, limit.Options{Process: fmt.Sprint(n)})
		all.Go(func() { _ = l.Run(ctx) })
		for c := range callers {
			work.Go(func() {
				for i := range calls {
					p, _, err := l.Acquire(ctx, key, limit.Ask{Permit: fmt.Sprintf("%d/%d/%d", n, c, i), Rate: d.rate}, limit.Patience{}, nil)
					if err != nil {
						d.t.Error(err)
						return
					}
					mu.Lock()
					inFlight++
					most = max(most, inFlight)
					times = append(times, time.Now())
					mu.Unlock()
					time.Sleep(5 * time.Millisecond)
					mu.Lock()
					inFlight--
					mu.Unlock()
					p.Release(ctx, unknown)
				}
			})
		}
	}
	work.Wait()
	cancel()
	all.Wait()
	if most > 5 {
		d.t.Errorf("%d calls in flight, want at most 5", most)
	}
	if len(times) != processes*callers*calls {
		d.t.Errorf("%d calls", len(times))
	}
	for i := range times {
		for j := i; j < len(times); j++ {
			window := times[j].Sub(times[i]) + late
			if bound := 100 + window.Seconds()*100; float64(j-i+1) > bound {
				d.t.Fatalf("%d requests within %s, want at most %.0f", j-i+1, window, bound)
			}
		}
	}
	if s := d.state(); s.InFlight != 0 || s.Calls != int64(len(times)) {
		d.t.Errorf("state %+v, want nothing in flight after %d calls", s, len(times))
	}
}

// TestOutage: callers wait while Redis is away, and what it has lost is made up for.
func TestOutage(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := newDesk(t, open(t, broker.Options{URL: s.URL()}).Client(), eval.Rate{Concurrent: 1})
	l := limit.New(d.Gate, limit.Options{})
	p, _, err := l.Acquire(t.Context(), key, limit.Ask{Permit: "a", Rate: d.rate}, limit.Patience{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Kill9()
	got := make(chan error, 1)
	away := make(chan struct{})
	go func() {
		_, _, err := l.Acquire(t.Context(), key, limit.Ask{Permit: "b", Rate: d.rate}, limit.Patience{}, sync.OnceValue(func() func(limit.Wait) {
			return func(w limit.Wait) {
				if w.Why == limit.WhyGate {
					close(away)
				}
			}
		})())
		got <- err
	}()
	<-away
	s.Restart()
	s.FlushAll()
	if err := <-got; err != nil {
		t.Errorf("after the outage: %v", err)
	}
	p.Release(t.Context(), limit.Report{Throttled: true, Pause: 3 * time.Second})
	d.refuses("c", limit.WhyPause, 3*time.Second)
}

func TestBadNamespace(t *testing.T) {
	for _, name := range []string{"", "a{b"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("namespace %q: want a panic", name)
				}
			}()
			redislimit.New(nil, name, redislimit.Options{})
		}()
	}
}

func BenchmarkGate(b *testing.B) {
	for _, r := range []struct {
		name string
		open func(*testing.B) broker.Options
	}{
		{"embedded", func(*testing.B) broker.Options { return broker.Options{} }},
		{"redis", func(b *testing.B) broker.Options { return broker.Options{URL: redistest.Start(b).URL()} }},
	} {
		g := redislimit.New(open(b, r.open(b)).Client(), "bench", redislimit.Options{})
		rate := eval.Rate{RequestsPerMinute: 1e9, TokensPerMinute: 1e9, Concurrent: 100}
		b.Run(r.name+"/try and release", func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				permit := fmt.Sprint(n)
				a, err := g.Try(b.Context(), key, limit.Ask{Permit: permit, Input: 10, Output: 10, Rate: rate})
				if err != nil || !a.Granted {
					b.Fatal(a, err)
				}
				if err := g.Release(b.Context(), key, permit, limit.Report{Input: 5, Output: 5, Rate: rate}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(r.name+"/refused", func(b *testing.B) {
			slow := eval.Rate{RequestsPerMinute: 1}
			for n := 0; b.Loop(); n++ {
				if _, err := g.Try(b.Context(), "slow", limit.Ask{Permit: fmt.Sprint(n), Rate: slow}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(r.name+"/renew 100", func(b *testing.B) {
			permits := make([]string, 100)
			for n := range permits {
				permits[n] = fmt.Sprint("held ", n)
				if _, err := g.Try(b.Context(), "held", limit.Ask{Permit: permits[n], Rate: rate}); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if err := g.Renew(b.Context(), "held", permits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
