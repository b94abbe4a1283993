package meter_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// Temporary errors are waited out: at least as long as the provider asks, and a
// random time on top that can grow with every failure.
func TestTriesAgain(t *testing.T) {
	type gap struct{ least, random int } // seconds
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	wants := fails(after(5 * time.Second))
	for _, tt := range []struct {
		name    string
		replies []reply // before a sound answer
		gaps    []gap
		givesUp bool
	}{
		{"answers at once", nil, nil, false},
		{"the provider's wait is the least", times(1, wants), []gap{{5, 1}}, false},
		{"a random time on top, more each time", times(3, wants), []gap{{5, 1}, {5, 2}, {5, 4}}, false},
		{"backoff without a word", times(8, fails(busy())), []gap{{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {0, 32}, {0, 60}, {0, 60}}, false},
		{"lost three times", times(3, fails(gone())), []gap{{0, 1}, {0, 2}, {0, 4}}, false},
		{"lost four times", times(4, fails(gone())), []gap{{0, 1}, {0, 2}, {0, 4}}, true},
		{"busy does not count as lost", append(times(3, fails(gone())), times(2, fails(busy()))...), []gap{{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}}, false},
		{"a wait of zero does not make it spin", times(4, fails(after(0))), []gap{{0, 1}, {0, 2}, {0, 4}, {0, 8}}, false},
		{"a wait too long", times(1, fails(after(16*time.Minute))), nil, true},
		{"waits too long in sum", times(4, fails(after(4*time.Minute))), []gap{{240, 1}, {240, 2}, {240, 4}}, true},
	} {
		for name, made := range map[string]func(...reply) *rig{"": alone, ", limited": limited} {
			bubble(t, tt.name+name, func(t *testing.T) {
				r := made(append(tt.replies, ok())...)
				r.o.FirstWait = 15 * time.Minute // as of one that has begun
				res, err := r.ask(t.Context(), hello())
				calls := len(tt.gaps) + 1
				switch {
				case tt.givesUp && !errors.Is(err, tt.replies[calls-1].err):
					t.Errorf("got %v, want the error of call %d", err, calls)
				case !tt.givesUp && (err != nil || res.ID != "r"):
					t.Errorf("got %v", err)
				}
				if len(r.at) != calls || res.Tries != calls {
					t.Fatalf("%d calls, told %d; want %d", len(r.at), res.Tries, calls)
				}
				var sum time.Duration
				for i, g := range r.gaps() {
					// The limiter lets those go one by one whom it has held back.
					slack := time.Duration(0)
					if r.gate != nil {
						slack = time.Second
					}
					within(t, "wait", g, seconds(tt.gaps[i].least), seconds(tt.gaps[i].least+tt.gaps[i].random)+slack)
					sum += g
				}
				within(t, "told", ms(res.WaitedMS+res.LimiterMS), sum-time.Microsecond, sum+time.Microsecond)
				r.settled(t)
			})
		}
	}
}

// What no wait can help with is an error at once.
func TestErrorsAtOnce(t *testing.T) {
	errs := map[string]error{
		"no error of a model": errors.New("alien"),
	}
	for _, k := range []llm.Kind{llm.Quota, llm.Auth, llm.BadRequest, llm.ContextLength, llm.ContentFilter, llm.ReplayMiss} {
		errs[string(k)] = &llm.Error{Kind: k, Wait: time.Second}
	}
	for name, want := range errs {
		bubble(t, name, func(t *testing.T) {
			r, began := limited(fails(want)), time.Now()
			res, err := r.ask(t.Context(), hello())
			if !errors.Is(err, want) || len(r.at) != 1 || time.Since(began) != 0 || res.WaitedMS != 0 {
				t.Errorf("%v after %d calls in %v", err, len(r.at), time.Since(began))
			}
			r.settled(t)
		})
	}
	for name, told := range map[string]error{"limited": after(61 * time.Minute), "busy": &llm.Error{Kind: llm.Overloaded, Wait: 2 * time.Hour}} {
		bubble(t, "a wait of more than an hour, "+name, func(t *testing.T) {
			r, began := limited(fails(told)), time.Now()
			_, err := r.ask(t.Context(), hello())
			if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Quota || len(r.at) != 1 || time.Since(began) != 0 {
				t.Errorf("%v after %d calls in %v, want a quota that is spent", err, len(r.at), time.Since(began))
			}
			if r.gate.reports[0].Pause != 0 {
				t.Errorf("everybody is held back for %v", r.gate.reports[0].Pause)
			}
			r.settled(t)
		})
	}
	for name, want := range map[string]error{"busy": busy(), "limited": after(time.Second), "lost": gone()} {
		bubble(t, "of a model without bad moments, "+name, func(t *testing.T) {
			r := alone(fails(want))
			r.o.Once = true
			if _, err := r.ask(t.Context(), hello()); !errors.Is(err, want) || len(r.at) != 1 {
				t.Errorf("%v after %d calls", err, len(r.at))
			}
		})
	}
}

// Clients that fail together do not come back together.
func TestBackoffIsSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var waits []time.Duration
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				r := alone(fails(busy()), ok())
				if _, err := r.ask(t.Context(), hello()); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				waits = append(waits, r.gaps()...)
			})
		}
		all.Wait()
		slices.Sort(waits)
		if waits[0] > 250*time.Millisecond || waits[199] < 750*time.Millisecond || len(slices.Compact(waits)) < 190 {
			t.Errorf("from %v to %v, want them spread over a second", waits[0], waits[199])
		}
	})
}

// However a provider says how long to hold off, the limiter is told of it once, and
// holds everybody back.
func TestRateLimitHoldsEverybodyBack(t *testing.T) {
	in := func(d time.Duration) time.Time { return time.Now().Add(d).UTC() }
	for _, tt := range []struct {
		name   string
		header func() http.Header
		body   string
		from   string
		want   time.Duration
	}{
		{"milliseconds", func() http.Header { return http.Header{"Retry-After-Ms": {"2500"}} }, "", "retry-after-ms", 2500 * time.Millisecond},
		{"seconds", func() http.Header { return http.Header{"Retry-After": {"7"}} }, "", "retry-after", 7 * time.Second},
		{"a date", func() http.Header { return http.Header{"Retry-After": {in(9 * time.Second).Format(http.TimeFormat)}} }, "", "retry-after", 9 * time.Second},
		{"RetryInfo", func() http.Header { return nil }, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow down","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"11s"}]}}`, "retry-info", 11 * time.Second},
		{"OpenAI's windows", func() http.Header {
			return http.Header{"X-Ratelimit-Reset-Requests": {"1s"}, "X-Ratelimit-Reset-Tokens": {"1m3s"}}
		}, "", "x-ratelimit-reset-tokens", 63 * time.Second},
		{"Anthropic's windows", func() http.Header {
			return http.Header{"Anthropic-Ratelimit-Input-Tokens-Reset": {in(20 * time.Second).Format(time.RFC3339)}}
		}, "", "anthropic-ratelimit-input-tokens-reset", 20 * time.Second},
		{"not at all", func() http.Header { return nil }, "", "", time.Second},
		{"a date that has passed", func() http.Header { return http.Header{"Retry-After": {in(-time.Hour).Format(http.TimeFormat)}} }, "", "retry-after", 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			e := llm.Classify(http.StatusTooManyRequests, tt.header(), []byte(tt.body), time.Now())
			if e.Kind != llm.RateLimit || e.WaitFrom != tt.from {
				t.Fatalf("%+v", e)
			}
			r := limited(reply{err: e, takes: 100 * time.Millisecond}, ok())
			r.o.FirstWait = 15 * time.Minute // as of one that has begun
			res, err := r.ask(t.Context(), hello())
			if err != nil {
				t.Fatal(err)
			}
			throttled := slices.DeleteFunc(slices.Clone(r.gate.reports), func(r limit.Report) bool { return !r.Throttled })
			if len(throttled) != 1 || throttled[0].Pause != tt.want {
				t.Errorf("told the limiter %+v, want a pause of %v, once", throttled, tt.want)
			}
			within(t, "wait", r.gaps()[0], tt.want, tt.want+2*time.Second)
			within(t, "told as waited", ms(res.WaitedMS), r.gaps()[0]+100*time.Millisecond-time.Microsecond, r.gaps()[0]+100*time.Millisecond+time.Microsecond)
			if res.LimiterMS != 0 {
				t.Errorf("%v ms are told as those of our own limiter", res.LimiterMS)
			}
			r.settled(t)
		})
	}
}

// Overload is nobody's limit: the one who met it waits, and nobody else.
func TestOverloadHoldsNobodyElseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(fails(&llm.Error{Kind: llm.Overloaded, Wait: 10 * time.Second, WaitFrom: "retry-after"}), ok())
		if _, err := r.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		within(t, "wait", r.gaps()[0], 10*time.Second, 11*time.Second)
		if !r.gate.paused.IsZero() {
			t.Error("everybody was held back")
		}
		if diff := cmp.Diff([]string{"model", "backoff (overloaded)", "model"}, activities(r.doing)); diff != "" {
			t.Errorf("did (-want +got):\n%s", diff)
		}
	})
}

// What an attempt does is told while it does it.
func TestDoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(fails(after(5*time.Second)), ok())
		slow := true
		r.gate.try = func() (limit.Answer, error) {
			if slow {
				slow = false
				return limit.Answer{Why: limit.WhyRequests, Wait: time.Second}, nil
			}
			return limit.Answer{Granted: true}, nil
		}
		began := time.Now()
		if _, err := r.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		want := []string{"limiter (requests)", "model", "backoff (rate_limit)", "limiter (pause)", "model"}
		if diff := cmp.Diff(want, activities(r.doing)); diff != "" {
			t.Fatalf("did (-want +got):\n%s", diff)
		}
		for _, a := range r.doing {
			if a.On != string(key) {
				t.Errorf("%+v is not on the key", a)
			}
		}
		within(t, "until of the limiter", r.doing[0].Until.Sub(began), time.Second, time.Second)
		called := r.at[0].Sub(began)
		within(t, "until of the backoff", r.doing[2].Until.Sub(began), called, called+time.Second)
		within(t, "until of the pause", r.doing[3].Until.Sub(began), called+5*time.Second, called+5*time.Second)
	})
}

// The time in which a request waits is told while it passes, apart from the calls,
// and what our own limits cost apart from what the provider does.
func TestWaitsAreToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(
			reply{err: busy(), takes: 100 * time.Millisecond},
			reply{err: after(3 * time.Second), takes: 200 * time.Millisecond},
			reply{res: says(100, 10), takes: 700 * time.Millisecond},
		)
		r.asked = func() {
			if r.waiting(t) {
				t.Error("the call counts as waiting")
			}
		}
		tries := 0
		r.gate.try = func() (limit.Answer, error) {
			if tries++; tries == 1 {
				return limit.Answer{Why: limit.WhyTokens, Wait: 2 * time.Second}, nil
			}
			return limit.Answer{Granted: true}, nil
		}
		began := time.Now()
		res, err := r.ask(t.Context(), hello())
		if err != nil {
			t.Fatal(err)
		}
		within(t, "of our own limiter", ms(res.LimiterMS), 2*time.Second, 2*time.Second+50*time.Millisecond)
		waited := r.gaps()[0] + r.gaps()[1] + 300*time.Millisecond
		within(t, "of the provider, failed calls included", ms(res.WaitedMS), waited-time.Microsecond, waited+time.Microsecond)
		within(t, "the rest", time.Since(began)-ms(res.WaitedMS)-ms(res.LimiterMS), 700*time.Millisecond-time.Microsecond, 700*time.Millisecond+time.Microsecond)
		r.settled(t)
	})
}

// How long calls took that failed does not shorten the patience for waits.
func TestFailedCallsAreNoWaits(t *testing.T) {
	for name, made := range map[string]func(...reply) *rig{"alone": alone, "limited": limited} {
		bubble(t, name, func(t *testing.T) {
			r := made(append(times(3, reply{err: gone(), takes: 10 * time.Minute}), reply{err: after(14 * time.Minute), takes: 10 * time.Minute}, ok())...)
			res, err := r.ask(t.Context(), hello())
			if err != nil || res.Tries != 5 {
				t.Fatalf("%v after %d tries", err, res.Tries)
			}
			within(t, "told", ms(res.WaitedMS), 54*time.Minute, 55*time.Minute)
		})
	}
}

// The last call counts as what it is: of one that ended a trial the time is not
// taken away.
func TestCallThatIsNotMadeAgainIsNoWait(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		r := alone(reply{err: &llm.Error{Kind: llm.ContextLength}, takes: time.Second})
		if res, _ := r.ask(t.Context(), hello()); res.WaitedMS != 0 {
			t.Errorf("%v ms are told as a wait", res.WaitedMS)
		}
	})
	bubble(t, "cancelled", func(t *testing.T) {
		r := alone(reply{takes: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if res, err := r.ask(ctx, hello()); res.WaitedMS != 0 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, and %v ms are told as a wait", err, res.WaitedMS)
		}
	})
}

// Before its first call an attempt is given back rather than waiting for long; after
// it the wait is sat out for as long as it may.
func TestLaterOrSatOut(t *testing.T) {
	const first, later = false, true
	granted := limit.Answer{Granted: true}
	longer := func(by time.Duration) func(g *gate) { // each time that somebody asks
		return func(g *gate) {
			g.try = func() (limit.Answer, error) {
				g.pause(by)
				return granted, nil
			}
		}
	}
	slowly := func(n int, why limit.Why, d time.Duration) func(g *gate) {
		return func(g *gate) {
			g.try = func() (limit.Answer, error) {
				if n--; n >= 0 {
					return limit.Answer{Why: why, Wait: d}, nil
				}
				return granted, nil
			}
		}
	}
	inTurns := func(whys ...limit.Why) func(g *gate) { // each for 10 s
		return func(g *gate) {
			g.try = func() (limit.Answer, error) {
				if len(whys) == 0 {
					return granted, nil
				}
				why := whys[0]
				whys = whys[1:]
				return limit.Answer{Why: why, Wait: 10 * time.Second}, nil
			}
		}
	}
	paused := func(d time.Duration) func(g *gate) { return func(g *gate) { g.pause(d) } }
	tests := []struct {
		name        string
		when        bool
		gate        func(g *gate)
		kind        llm.Kind // empty: it was made
		least, most time.Duration
	}{
		{"a pause of 29 s", first, paused(29 * time.Second), "", 29 * time.Second, 30 * time.Second},
		{"a pause of 31 s", first, paused(31 * time.Second), llm.Later, 0, 0},
		{"a pause that gets longer and longer", first, longer(20 * time.Second), llm.Later, 10 * time.Second, 30 * time.Second},
		{"pauses of 20 s in sum", first, inTurns(limit.WhyPause, limit.WhyRequests, limit.WhyRequests, limit.WhyPause), "", 40 * time.Second, 44 * time.Second},
		{"pauses of more than 30 s in sum", first, inTurns(limit.WhyPause, limit.WhyRequests, limit.WhyPause, limit.WhyRequests, limit.WhyPause), llm.Later, 40 * time.Second, 43 * time.Second},
		{"our own limit, a short wait each time", first, slowly(100, limit.WhyRequests, 25*time.Second), "", 2500 * time.Second, 2510 * time.Second},
		{"our own limit, a long wait", first, slowly(1, limit.WhyTokens, 31*time.Second), llm.Later, 0, 0},
		{"a pause of 31 s, later", later, paused(31 * time.Second), "", 31 * time.Second, 32 * time.Second},
		{"a pause of 14 min, later", later, paused(14 * time.Minute), "", 14 * time.Minute, 14*time.Minute + time.Second},
		{"a pause of 16 min, later", later, paused(16 * time.Minute), llm.RateLimit, 0, 0},
		{"a pause that gets longer and longer, later", later, longer(4 * time.Minute), llm.RateLimit, 11 * time.Minute, 15 * time.Minute},
		{"our own limit, later", later, slowly(100, limit.WhyInFlight, 25*time.Second), "", 2500 * time.Second, 2600 * time.Second},
		{"our own limit, a wait that nobody sits out", later, slowly(1, limit.WhyTokens, 16*time.Minute), llm.RateLimit, 0, 0},
	}
	for _, tt := range tests {
		bubble(t, tt.name, func(t *testing.T) {
			r := limited(ok())
			r.o.Price = price()
			calls := 1
			if tt.when == later {
				if _, err := r.ask(t.Context(), hello()); err != nil {
					t.Fatal(err)
				}
				calls++
			}
			tt.gate(r.gate)
			began := time.Now()
			res, err := r.ask(t.Context(), hello())
			within(t, "took", time.Since(began), tt.least, tt.most)
			e, failed := errors.AsType[*llm.Error](err)
			switch {
			case tt.kind == "" && err != nil, tt.kind != "" && (!failed || e.Kind != tt.kind):
				t.Errorf("got %v, want %q", err, tt.kind)
			case tt.kind == llm.Later && (e.Wait <= 0 || e.Wait > time.Minute):
				t.Errorf("it is to come back in %v", e.Wait)
			}
			if tt.kind != "" {
				calls--
			}
			within(t, "told", ms(res.WaitedMS+res.LimiterMS), time.Since(began)-time.Microsecond, time.Since(began)+time.Microsecond)
			if len(r.at) != calls || r.purse.Spent().Tokens != int64(calls)*110 || r.purse.Begun() != (calls > 0) {
				t.Errorf("%d calls, spent %+v; want %d", len(r.at), r.purse.Spent(), calls)
			}
			r.settled(t)
		})
	}
}

// A first call that was refused has taken nothing: the attempt is given back if it
// would have to wait for long. One that has had an answer waits.
func TestRefusedFirstCall(t *testing.T) {
	for name, made := range map[string]func(...reply) *rig{"alone": alone, "limited": limited} {
		bubble(t, name, func(t *testing.T) {
			r := made(fails(after(2*time.Minute)), ok(), fails(after(2*time.Minute)), ok())
			_, err := r.ask(t.Context(), hello())
			if e, isErr := errors.AsType[*llm.Error](err); !isErr || e.Kind != llm.Later || e.Wait != 2*time.Minute {
				t.Fatalf("got %v, want it later", err)
			}
			time.Sleep(2 * time.Minute)
			for range 2 {
				if _, err := r.ask(t.Context(), hello()); err != nil {
					t.Errorf("got %v, want it sat out", err)
				}
			}
			if len(r.at) != 4 {
				t.Errorf("%d calls", len(r.at))
			}
			r.settled(t)
		})
	}
}

func TestEndOfTheContext(t *testing.T) {
	bubble(t, "before anything", func(t *testing.T) {
		r := limited(ok())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.ask(ctx, hello()); !errors.Is(err, context.Canceled) || len(r.at) != 0 || r.purse.Spent() != (eval.Amount{}) {
			t.Errorf("%v after %d calls, spent %+v", err, len(r.at), r.purse.Spent())
		}
	})
	bubble(t, "at the limiter", func(t *testing.T) {
		r := limited(ok())
		r.o.Price = price()
		r.gate.pause(20 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		res, err := r.ask(ctx, hello())
		if !errors.Is(err, context.Canceled) || len(r.at) != 0 || r.purse.Spent() != (eval.Amount{}) || r.purse.Cost() != nil {
			t.Errorf("%v after %d calls, spent %+v", err, len(r.at), r.purse.Spent())
		}
		within(t, "told", ms(res.WaitedMS), 10*time.Second, 10*time.Second)
		r.settled(t)
	})
	bubble(t, "when the place is given", func(t *testing.T) {
		r := limited(ok())
		ctx, cancel := context.WithCancel(t.Context())
		r.gate.try = func() (limit.Answer, error) {
			cancel()
			return limit.Answer{Granted: true}, nil
		}
		if _, err := r.ask(ctx, hello()); !errors.Is(err, context.Canceled) || len(r.at) != 0 || r.purse.Spent() != (eval.Amount{}) {
			t.Errorf("%v after %d calls, spent %+v", err, len(r.at), r.purse.Spent())
		}
		synctest.Wait()
		r.settled(t)
	})
	bubble(t, "in a backoff", func(t *testing.T) {
		r := limited(fails(&llm.Error{Kind: llm.Overloaded, Wait: 30 * time.Second}), ok())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(10*time.Second, cancel)
		res, err := r.ask(ctx, hello())
		if !errors.Is(err, context.Canceled) || len(r.at) != 1 {
			t.Errorf("%v after %d calls", err, len(r.at))
		}
		within(t, "told", ms(res.WaitedMS), 10*time.Second, 10*time.Second)
		r.settled(t)
	})
	for name, made := range map[string]func(...reply) *rig{"alone": alone, "limited": limited} {
		bubble(t, "a wait beyond a deadline is not begun, "+name, func(t *testing.T) {
			want := after(30 * time.Second)
			r, began := made(fails(want), ok()), time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			if _, err := r.ask(ctx, hello()); !errors.Is(err, want) || time.Since(began) != 0 {
				t.Errorf("%v after %v; want the model's error at once", err, time.Since(began))
			}
		})
	}
}

// A gate that stays away is the farm's failure, and costs nothing.
func TestGateThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := limited(ok())
		r.gate.try = func() (limit.Answer, error) { return limit.Answer{}, errors.New("no route") }
		_, err := r.ask(t.Context(), hello())
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.Farm || !errors.Is(err, limit.ErrAway) {
			t.Errorf("got %v, want a failure of the farm", err)
		}
		if len(r.at) != 0 || r.purse.Spent() != (eval.Amount{}) {
			t.Errorf("%d calls, spent %+v", len(r.at), r.purse.Spent())
		}
		r.settled(t)
		synctest.Wait()
	})
}

// A purse is that of all models of an attempt: what one has begun the other waits
// out.
func TestModelsOfOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		user, agent := alone(ok()), limited(ok())
		user.purse = meter.NewPurse(eval.Amount{})
		agent.purse = user.purse
		if _, err := user.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
		agent.gate.pause(time.Minute)
		if _, err := agent.ask(t.Context(), hello()); err != nil {
			t.Errorf("got %v, want the wait sat out", err)
		}
	})
}
