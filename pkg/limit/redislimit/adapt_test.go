package redislimit_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
)

// A farm is a desk whose clock is the test's.
type farm struct {
	*desk
	client redis.UniversalClient
	next   int      // permit
	held   []string // oldest first
}

// inBubble runs a test whose clock is its own, that of the embedded Redis included.
func inBubble(t *testing.T, rate eval.Rate, test func(f *farm)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b, err := broker.Open(t.Context(), broker.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		defer func() {
			cancel()
			<-ended
			_ = b.Close()
		}()
		test(&farm{desk: newDesk(t, b.Client(), rate), client: b.Client()})
	})
}

// fill takes permits until one is refused, and says why.
func (f *farm) fill() limit.Answer {
	f.t.Helper()
	for {
		permit := fmt.Sprint("p", f.next)
		a := f.ask(permit, 0, 0)
		if !a.Granted {
			return a
		}
		f.next++
		f.held = append(f.held, permit)
		if len(f.held) > 5000 {
			f.t.Fatal("nothing bounds calls")
		}
	}
}

// end ends so many calls, the oldest first.
func (f *farm) end(n int, r limit.Report) {
	f.t.Helper()
	for range n {
		f.release(f.held[0], r)
		f.held = f.held[1:]
	}
}

// round makes as many calls as may be in flight, each for so long, and ends them
// well.
func (f *farm) round(took time.Duration) {
	f.t.Helper()
	f.fill()
	f.renewFor(took)
	f.end(len(f.held), unknown)
}

// set puts a number of the state in its place.
func (f *farm) set(name, value string) {
	f.t.Helper()
	k := "evalfarm:limit:{" + strings.ReplaceAll(f.t.Name(), "/", "-") + ":stub:1/%7Bmodel%7D}:state"
	if err := f.client.HSet(f.t.Context(), k, name, value).Err(); err != nil {
		f.t.Fatal(err)
	}
}

// renewFor lets time pass without losing the permits.
func (f *farm) renewFor(d time.Duration) {
	f.t.Helper()
	for d > 0 {
		step := min(d, 500*time.Millisecond)
		time.Sleep(step)
		d -= step
		if err := f.Renew(f.t.Context(), key, f.held); err != nil {
			f.t.Fatal(err)
		}
	}
}

var refused = limit.Report{Throttled: true}

// TestCallsFoundOut: how many calls may be in flight when nothing is configured.
func TestCallsFoundOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		do   func(f *farm)
		want int
	}{
		{"begins with", func(f *farm) { f.fill() }, 4},
		{"doubles with a round", func(f *farm) { f.round(3 * time.Second) }, 8},
		{"and again", func(f *farm) { f.round(3 * time.Second); f.round(3 * time.Second) }, 16},
		{"lets in one more with each success", func(f *farm) { f.fill(); f.end(2, unknown) }, 6},
		{"not more than twice as many in two seconds", func(f *farm) {
			for range 10 {
				f.round(50 * time.Millisecond)
			}
		}, 8},
		{"not while few are in use", func(f *farm) {
			for range 20 {
				f.grants("x")
				time.Sleep(time.Second)
				f.release("x", unknown)
			}
		}, 4},
		{"not by calls that failed", func(f *farm) { f.fill(); f.end(4, limit.Report{Failed: true}) }, 4},
		{"a refusal cuts", func(f *farm) { f.round(3 * time.Second); f.fill(); f.end(1, refused) }, 6},
		{"once for all that were under way", func(f *farm) { f.round(3 * time.Second); f.fill(); f.end(8, refused) }, 6},
		{"also much later", func(f *farm) {
			f.round(3 * time.Second)
			f.fill()
			f.end(1, refused)
			f.renewFor(20 * time.Second)
			f.end(7, refused)
		}, 6},
		{"not within its time", func(f *farm) {
			f.fill()
			f.end(4, refused)
			f.renewFor(14 * time.Second)
			f.fill()
			f.end(1, refused)
		}, 3},
		{"again when the next are refused", func(f *farm) {
			for range 2 {
				f.fill()
				f.end(len(f.held), refused)
				f.paceAway()
			}
		}, 2},
		{"down to one, never frozen", func(f *farm) {
			for range 9 {
				f.fill()
				f.end(len(f.held), refused)
				f.paceAway()
			}
		}, 1},
		{"does not grow at once", func(f *farm) { f.fill(); f.end(1, refused); f.renewFor(14 * time.Second); f.end(3, unknown) }, 3},
		{"grows by one later", func(f *farm) { f.fill(); f.end(1, refused); f.renewFor(15 * time.Second); f.end(3, unknown) }, 4},
		{"not within a longer pause", func(f *farm) {
			f.fill()
			f.end(1, limit.Report{Throttled: true, Pause: time.Minute})
			f.renewFor(59 * time.Second)
			f.end(3, unknown)
		}, 3},
		{"but after it", func(f *farm) {
			f.fill()
			f.end(1, limit.Report{Throttled: true, Pause: time.Minute})
			f.renewFor(time.Minute)
			f.end(3, unknown)
		}, 4},
		{"and by a part when there are many", func(f *farm) {
			for range 5 {
				f.round(3 * time.Second) // 128
			}
			f.fill()
			f.end(len(f.held), refused) // 102
			f.paceAway()
			f.round(time.Second)
		}, 107},
		{"up to a bound", func(f *farm) {
			f.set("found", "998") // to get there takes long
			f.set("steep", "0")
			f.round(3 * time.Second)
			f.round(3 * time.Second)
		}, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, eval.Rate{}, func(f *farm) {
				c.do(f)
				f.ask("look", 0, 0)
				if got := f.state().Concurrent; got != c.want {
					f.t.Errorf("%d calls in flight, want %d", got, c.want)
				}
			})
		})
	}
}

// paceAway lets the time pass in which nothing grows, and takes away the pace that
// was found out by letting the provider tell a limit that does not matter.
func (f *farm) paceAway() {
	f.t.Helper()
	time.Sleep(16 * time.Second)
	for n := range 2 {
		f.release("nobody's", limit.Report{Standing: limit.Standing{Requests: limit.Level{Limit: 1e6 + n + f.next, Remaining: -1}}})
	}
	time.Sleep(time.Second)
}

// TestPaceFoundOut: how many requests a minute pass when that is not configured, or
// was configured wrongly.
func TestPaceFoundOut(t *testing.T) {
	t.Parallel()
	told := func(n int) limit.Report {
		return limit.Report{Input: -1, Output: -1, Standing: limit.Standing{Requests: limit.Level{Limit: n, Remaining: -1}}}
	}
	// calls makes so many calls at once and has the last one refused.
	calls := func(f *farm, n int) {
		for i := range n {
			f.grants(fmt.Sprint(f.next, "/", i))
		}
		for i := range n {
			r := unknown
			if i == n-1 {
				r = refused
			}
			f.release(fmt.Sprint(f.next, "/", i), r)
		}
		f.next++
	}
	// one waits until a call may be made and makes it.
	one := func(f *farm, r limit.Report) {
		for {
			f.next++
			permit := fmt.Sprint("p", f.next)
			a := f.ask(permit, 0, 0)
			if a.Granted {
				f.release(permit, r)
				return
			}
			time.Sleep(max(a.Wait, time.Millisecond))
		}
	}
	for _, c := range []struct {
		name        string
		rate        eval.Rate
		do          func(f *farm)
		least, most float64
	}{
		{"none at first", eval.Rate{Concurrent: 100}, func(f *farm) {
			for range 50 {
				one(f, unknown)
			}
		}, 0, 0},
		{"what passed in a second", eval.Rate{Concurrent: 100}, func(f *farm) { calls(f, 31) }, 1710, 1710},
		{"guessed if that is little", eval.Rate{Concurrent: 100}, func(f *farm) { calls(f, 1) }, 570, 570},
		{"however many are configured", eval.Rate{RequestsPerMinute: 600}, func(f *farm) { calls(f, 10) }, 540, 540},
		{"less by a tenth once it has held", eval.Rate{Concurrent: 100}, func(f *farm) {
			calls(f, 11)
			time.Sleep(11 * time.Second)
			one(f, refused)
		}, 513, 513},
		{"by what passed when it has not", eval.Rate{Concurrent: 100}, func(f *farm) {
			calls(f, 100)
			for range 20 {
				time.Sleep(200 * time.Millisecond)
				one(f, unknown)
			}
			one(f, refused)
		}, 270, 300},
		{"to a quarter if that is little", eval.Rate{Concurrent: 100}, func(f *farm) {
			calls(f, 100)
			time.Sleep(2 * time.Second)
			one(f, unknown)
			one(f, refused)
		}, 1410, 1411},
		{"once by refusals with nothing between them", eval.Rate{Concurrent: 100}, func(f *farm) {
			for range 6 {
				one(f, refused)
			}
		}, 570, 570},
		{"again when they last", eval.Rate{Concurrent: 100}, func(f *farm) {
			for begin := time.Now(); time.Since(begin) < 25*time.Second; time.Sleep(time.Second) {
				one(f, refused)
			}
		}, 461, 462},
		{"never below one", eval.Rate{Concurrent: 100}, func(f *farm) {
			for range 40 {
				one(f, unknown)
				one(f, refused)
			}
		}, 1, 1},
		{"grows while it holds others back", eval.Rate{Concurrent: 100}, func(f *farm) {
			calls(f, 11)
			for begin := time.Now(); time.Since(begin) < 30*time.Second; {
				one(f, unknown)
			}
		}, 570 * 1.6, 570 * 2.5},
		{"not while nobody needs it", eval.Rate{Concurrent: 100}, func(f *farm) {
			calls(f, 11)
			for range 30 {
				time.Sleep(time.Second)
				one(f, unknown)
			}
		}, 570, 570},
		{"until it is what is configured", eval.Rate{RequestsPerMinute: 600}, func(f *farm) {
			calls(f, 10)
			for begin := time.Now(); time.Since(begin) < time.Minute; {
				one(f, unknown)
			}
		}, 600, 600},
		{"not if it is told", eval.Rate{Concurrent: 100}, func(f *farm) {
			f.grants("a")
			f.grants("b")
			r := told(120)
			r.Throttled = true
			f.release("a", r)
			f.release("b", r)
		}, 120, 120},
		{"but if what is told is wrong", eval.Rate{Concurrent: 100}, func(f *farm) {
			one(f, told(120))
			time.Sleep(2 * time.Second)
			one(f, refused)
		}, 1, 119},
		{"told is forgotten", eval.Rate{Concurrent: 100}, func(f *farm) {
			one(f, told(120))
			time.Sleep(9 * time.Minute)
			one(f, told(120))
			time.Sleep(9 * time.Minute)
			one(f, unknown)
			if got := f.state().RequestsPerMinute; got != 120 {
				f.t.Errorf("%.0f after nine minutes, want 120", got)
			}
			time.Sleep(2 * time.Minute)
			one(f, unknown)
		}, 0, 0},
		{"told may change", eval.Rate{RequestsPerMinute: 600}, func(f *farm) {
			one(f, told(120))
			one(f, told(240))
		}, 240, 240},
		{"told is back to normal", eval.Rate{RequestsPerMinute: 600}, func(f *farm) {
			one(f, told(120))
			one(f, told(700))
		}, 600, 600},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.rate, func(f *farm) {
				c.do(f)
				s := f.state()
				if got := s.RequestsPerMinute; got < c.least || got > c.most {
					f.t.Errorf("%.1f a minute, want %.1f to %.1f", got, c.least, c.most)
				}
				if len(s.History) > 50 {
					f.t.Errorf("a history of %d changes", len(s.History))
				}
			})
		})
	}
}

// TestTurns: a process that only looks from time to time gets a place too, though
// another one takes every place at once that it leaves. Who gave up gets none.
func TestTurns(t *testing.T) {
	inBubble(t, eval.Rate{Concurrent: 1}, func(f *farm) {
		f.grants("busy 0")
		f.refuses("gone", limit.WhyInFlight, 0)
		begin := time.Now()
		looked := begin
		for n := 0; ; n++ {
			time.Sleep(50 * time.Millisecond)
			f.release(fmt.Sprint("busy ", n), unknown)
			for !f.ask(fmt.Sprint("busy ", n+1), 0, 0).Granted {
				time.Sleep(50 * time.Millisecond)
				if time.Since(looked) >= 500*time.Millisecond {
					looked = time.Now()
					if f.ask("poor", 0, 0).Granted {
						if took := time.Since(begin); took < 2*time.Second || took > 7*time.Second {
							f.t.Errorf("it took %s", took)
						}
						return
					}
				}
			}
			if time.Since(looked) >= 500*time.Millisecond {
				looked = time.Now()
				if f.ask("poor", 0, 0).Granted {
					f.t.Fatal("two calls in flight")
				}
			}
			if time.Since(begin) > time.Minute {
				f.t.Fatal("it starves")
			}
		}
	})
}

// TestForgotten: nothing stays in Redis of a key that nobody uses, but for a pause.
func TestForgotten(t *testing.T) {
	inBubble(t, eval.Rate{}, func(f *farm) {
		f.fill()
		f.end(1, refused)
		if err := f.Waiting(f.t.Context(), key, "p", 3); err != nil {
			f.t.Fatal(err)
		}
		time.Sleep(time.Hour + 2*time.Second)
		states, err := f.States(f.t.Context())
		if err != nil || len(states) != 0 {
			f.t.Errorf("states %+v, %v, want none", states, err)
		}
		if a := f.fill(); a.Why != limit.WhyInFlight || len(f.held) != 3+4 {
			f.t.Errorf("%d held, %+v, want it begun anew", len(f.held), a)
		}
		f.held = f.held[3:]
		f.end(1, limit.Report{Throttled: true, Pause: 5 * time.Hour})
		time.Sleep(4 * time.Hour)
		f.refuses("a", limit.WhyPause, time.Hour)
	})
}
