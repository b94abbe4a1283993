package stub

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 300_000_000, time.UTC)

func TestLimiter(t *testing.T) {
	type step struct {
		after         time.Duration // since the step before
		name          string
		input, output int
		wait          time.Duration // 0 is let in
		scarce        string
	}
	for name, tt := range map[string]struct {
		limits Limits
		steps  []step
	}{
		"none": {Limits{}, []step{{0, "a", 1 << 30, 1 << 30, 0, ""}, {0, "a", 1, 1, 0, ""}}},
		"requests": {Limits{Requests: 2}, []step{
			{0, "a", 9, 9, 0, ""},
			{0, "a", 9, 9, 0, ""},
			{0, "a", 9, 9, 30 * time.Second, "requests"},
			{10 * time.Second, "a", 9, 9, 20 * time.Second, "requests"}, // a refusal costs nothing
			{0, "b", 9, 9, 0, ""},
			{20 * time.Second, "a", 9, 9, 0, ""},
			{time.Hour, "a", 9, 9, 0, ""}, // no more than full
			{0, "a", 9, 9, 0, ""},
			{0, "a", 9, 9, 30 * time.Second, "requests"},
		}},
		"tokens": {Limits{Tokens: 600}, []step{
			{0, "a", 100, 200, 0, ""},
			{0, "a", 200, 200, 10 * time.Second, "tokens"},
			{0, "a", 100, 200, 0, ""},
		}},
		"more than the limit at all": {Limits{Tokens: 60}, []step{
			{0, "a", 1000, 1000, 0, ""},
			{0, "a", 1, 0, time.Second, "tokens"},
			{30 * time.Second, "a", 1000, 1000, 30 * time.Second, "tokens"},
		}},
		"less than nothing": {Limits{Tokens: 60}, []step{
			{0, "a", 60, -1000, 0, ""},
			{0, "a", 1, -1000, time.Second, "tokens"},
		}},
		"the scarcest counts": {Limits{Requests: 60, InputTokens: 60, OutputTokens: 60}, []step{
			{0, "a", 60, 10, 0, ""},
			{0, "a", 2, 55, 5 * time.Second, "output-tokens"},
			{0, "a", 20, 51, 20 * time.Second, "input-tokens"},
		}},
		"a small burst": {Limits{Requests: 60, Burst: 2 * time.Second}, []step{
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, time.Second, "requests"},
			{time.Minute, "a", 1, 1, 0, ""}, // no more than full
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, time.Second, "requests"},
		}},
		"a burst of nothing lets one in": {Limits{Requests: 6, Burst: time.Second}, []step{
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, 10 * time.Second, "requests"},
			{10 * time.Second, "a", 1, 1, 0, ""},
		}},
		"in flight": {Limits{InFlight: 2}, []step{
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, 0, ""},
			{0, "a", 1, 1, time.Second, "requests"},
			{0, "b", 1, 1, 0, ""},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l, now := newLimiter(tt.limits), epoch
			for i, s := range tt.steps {
				now = now.Add(s.after)
				_, denied := l.admit(now, s.name, s.input, s.output)
				if denied == nil {
					denied = &denial{}
				}
				if denied.wait.Round(time.Millisecond) != s.wait || denied.scarce != s.scarce {
					t.Fatalf("step %d: got to wait %v for %q, want %v for %q", i+1, denied.wait, denied.scarce, s.wait, s.scarce)
				}
			}
		})
	}
}

// What was reserved for the output and not used is given back at the end; what
// a cache had is not counted; tokens that OpenAI counts stay counted.
func TestLimiterSettles(t *testing.T) {
	l := newLimiter(Limits{Tokens: 1000, InputTokens: 1000, OutputTokens: 1000, InFlight: 1})
	ticket, denied := l.admit(epoch, "a", 400, 500)
	if denied != nil {
		t.Fatal(denied)
	}
	ticket.close(epoch, eval.Usage{Input: 900, CacheRead: 700, Output: 50})
	again, denied := l.admit(epoch, "a", 50, 50)
	if denied != nil {
		t.Fatal(denied)
	}
	want := map[string]int{"tokens": 0, "input-tokens": 1000 - 200 - 50, "output-tokens": 1000 - 50 - 50}
	for _, s := range again.standings {
		if s.remaining != want[s.what] {
			t.Errorf("%s: got %d left, want %d", s.what, s.remaining, want[s.what])
		}
	}
}

// A client that waits as long as it was told is let in, and no minute brings
// more than twice the limit.
func TestWaitIsEnough(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limits := Limits{Requests: rapid.IntRange(0, 100).Draw(rt, "rpm"), Tokens: rapid.IntRange(0, 5000).Draw(rt, "tpm"), OutputTokens: rapid.IntRange(0, 5000).Draw(rt, "otpm")}
		l, now := newLimiter(limits), epoch
		var let []time.Time
		for range 40 {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(rt, "pause")))
			in, out := rapid.IntRange(0, 3000).Draw(rt, "input"), rapid.IntRange(0, 3000).Draw(rt, "output")
			ticket, denied := l.admit(now, "a", in, out)
			if denied != nil {
				now = now.Add(denied.wait)
				if ticket, denied = l.admit(now, "a", in, out); denied != nil {
					rt.Fatalf("refused again after the wait: %+v", denied)
				}
			}
			ticket.close(now, eval.Usage{Input: in, Output: rapid.IntRange(0, out).Draw(rt, "used")})
			let = append(let, now)
		}
		for i := range let {
			n := 0
			for _, at := range let[i:] {
				if at.Sub(let[i]) < time.Minute {
					n++
				}
			}
			if limits.Requests > 0 && n > 2*limits.Requests {
				rt.Fatalf("%d calls within a minute, at a limit of %d", n, limits.Requests)
			}
		}
	})
}

// Strangers cannot fill the memory, and do not lose what regulars have used.
func TestLimiterIsBounded(t *testing.T) {
	l := newLimiter(Limits{Requests: 1})
	if _, denied := l.admit(epoch, "regular", 0, 0); denied != nil {
		t.Fatal(denied)
	}
	for i := range 3 * maxAccounts {
		l.admit(epoch, fmt.Sprint("stranger ", i), 0, 0)
	}
	if n := len(l.accounts); n > maxAccounts+1 {
		t.Errorf("got %d accounts, want at most %d", n, maxAccounts+1)
	}
	if _, denied := l.admit(epoch, "regular", 0, 0); denied == nil {
		t.Error("the regular was forgotten")
	}
	for _, a := range l.accounts {
		a.inFlight = 0 // all go away
	}
	l.admit(epoch.Add(time.Hour), "newcomer", 0, 0)
	if n := len(l.accounts); n != 1 {
		t.Errorf("got %d accounts when all but one are idle", n)
	}
}

// Every way to say when to come again is read back by the clients' parser; a
// client that waits so long is let in.
func TestRetryAfter(t *testing.T) {
	want := map[RetryAfter]string{
		RetrySeconds: "retry-after", RetryFloat: "retry-after", RetryDate: "retry-after", RetryMS: "retry-after-ms",
		RetryInfo: "retry-info", RetryNone: "",
	}
	resets := map[string]string{"chat": "x-ratelimit-reset-requests", "responses": "x-ratelimit-reset-requests", "gemini": "x-ratelimit-reset-requests", "messages": "anthropic-ratelimit-requests-reset"}
	for _, wire := range wireNames {
		for _, way := range retryAfters() {
			if way == RetryMixed {
				continue
			}
			t.Run(wire+"/"+string(way), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(300 * time.Millisecond) // no full second, to be rounded
					s := New(Options{Model: Say{Text: "Hi"}, Limits: Limits{Requests: 7}, RetryAfter: way})
					ask := func() (status int, wait time.Duration, from string, kind llm.Kind) {
						res := post(t, s, wirePath(wire, false), hello(wire, false))
						body := []byte(res.body)
						wait, from = llm.WaitFrom(res.Header, body, res.StatusCode, time.Now())
						return res.StatusCode, wait, from, llm.Classify(res.StatusCode, res.Header, body, time.Now()).Kind
					}
					for range 7 {
						if status, _, _, _ := ask(); status != http.StatusOK {
							t.Fatalf("got status %d before the limit", status)
						}
					}
					status, wait, from, kind := ask()
					source := want[way]
					switch {
					case way == RetryResets:
						source = resets[wire]
					case way == RetryInfo && wire == "messages":
						source = ""
					}
					if status != http.StatusTooManyRequests || kind != llm.RateLimit || from != source {
						t.Fatalf("got %d %s from %q, want 429 %s from %q", status, kind, from, llm.RateLimit, source)
					}
					if source == "" {
						return
					}
					exact := time.Minute / 7
					if way == RetryResets {
						exact = time.Minute // until all of it is there
					}
					if wait < exact-time.Microsecond || wait > exact+2*time.Second {
						t.Errorf("got a wait of %v, want %v or a little more", wait, exact)
					}
					time.Sleep(wait)
					if status, _, _, _ := ask(); status != http.StatusOK {
						t.Errorf("got status %d after the wait", status)
					}
				})
			})
		}
	}
}

// Mixed goes through all other ways in turn.
func TestRetryAfterMixed(t *testing.T) {
	seen := map[RetryAfter]int{}
	for n := range uint64(70) {
		seen[RetryMixed.pick(n)]++
	}
	for _, way := range retryAfters() {
		want := 10
		if way == RetryMixed {
			want = 0
		}
		if seen[way] != want {
			t.Errorf("%s: got it %d times of 70, want %d", way, seen[way], want)
		}
	}
}

// Answers say where the client stands.
func TestLimitHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		limits Limits
		want   map[string]string
	}{
		"chat": {Limits{Requests: 60, Tokens: 6000}, map[string]string{
			"X-Ratelimit-Limit-Requests": "60", "X-Ratelimit-Remaining-Requests": "59", "X-Ratelimit-Reset-Requests": "1s",
			"X-Ratelimit-Limit-Tokens": "6000", "X-Ratelimit-Remaining-Tokens": "5999", "X-Ratelimit-Reset-Tokens": "10ms",
		}},
		"messages": {Limits{Requests: 60, InputTokens: 60, OutputTokens: 200}, map[string]string{
			"Anthropic-Ratelimit-Requests-Limit": "60", "Anthropic-Ratelimit-Requests-Remaining": "59", "Anthropic-Ratelimit-Requests-Reset": "2000-01-01T00:00:01Z",
			"Anthropic-Ratelimit-Input-Tokens-Remaining": "59", "Anthropic-Ratelimit-Output-Tokens-Remaining": "100",
			"Anthropic-Ratelimit-Output-Tokens-Reset": "2000-01-01T00:00:30Z", "Anthropic-Ratelimit-Tokens-Limit": "",
		}},
		"gemini": {Limits{}, map[string]string{"X-Ratelimit-Limit-Requests": "", "X-Ratelimit-Reset-Requests": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				res := post(t, New(Options{Model: Say{Text: "Hi"}, Limits: tt.limits}), wirePath(name, false), hello(name, false))
				for header, want := range tt.want {
					if got := res.Header.Get(header); got != want {
						t.Errorf("%s: got %q, want %q", header, got, want)
					}
				}
			})
		})
	}
}

// Limits are for a key and a model.
func TestAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Model: Say{Text: "Hi"}, Limits: Limits{Requests: 1}})
		ask := func(key, model string) int {
			return post(t, s, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"x"}]}`, "Authorization", "Bearer "+key).StatusCode
		}
		for i, tt := range []struct {
			key, model string
			want       int
		}{{"k1", "m1", 200}, {"k1", "m1", 429}, {"k1", "m2", 200}, {"k2", "m1", 200}, {"k2", "m1", 429}} {
			if got := ask(tt.key, tt.model); got != tt.want {
				t.Errorf("call %d with %s and %s: got %d, want %d", i+1, tt.key, tt.model, got, tt.want)
			}
		}
	})
}
