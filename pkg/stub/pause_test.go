package stub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestParsePauses(t *testing.T) {
	for name, tt := range map[string]struct {
		specs []string
		want  []Pause
		err   string // empty is none
	}{
		"none":             {nil, nil, ""},
		"several":          {[]string{"20=7s", "40=500ms/http-date"}, []Pause{{20, 7 * time.Second, ""}, {40, 500 * time.Millisecond, RetryDate}}, ""},
		"no wait":          {[]string{"20"}, nil, "want CALL=WAIT"},
		"no call":          {[]string{"=7s"}, nil, "want CALL=WAIT"},
		"before the first": {[]string{"0=7s"}, nil, "want CALL=WAIT"},
		"no unit":          {[]string{"20=7"}, nil, "want CALL=WAIT"},
		"back in time":     {[]string{"20=-7s"}, nil, "want CALL=WAIT"},
		"too long":         {[]string{"20=25h"}, nil, "want CALL=WAIT"},
		"unknown form":     {[]string{"20=7s/later"}, nil, "want one of seconds, float"},
		"empty form":       {[]string{"20=7s/"}, nil, "want one of seconds, float"},
		"twice":            {[]string{"20=7s", "20=8s"}, nil, "call 20 is refused twice"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePauses(tt.specs...)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got error %v, want one with %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
		})
	}
}

// The call whose turn it is is refused and takes nothing. What comes within a
// second after that is on its way; what comes later is late, until the end.
func TestPause(t *testing.T) {
	for _, wire := range wireNames {
		for _, form := range retryAfters() {
			if form == RetryMixed || form == RetryInfo && wire == "messages" {
				continue
			}
			t.Run(wire+"/"+string(form), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					begin := time.Now()
					s := New(Options{Model: Say{Text: "Hi"}, Limits: Limits{Requests: 60}, NoLimitHeaders: true, Pauses: []Pause{{Call: 2, Wait: 7 * time.Second, Form: form}}})
					ask := func() (int, time.Duration) {
						res := post(t, s, wirePath(wire, false), hello(wire, false))
						wait, _ := llm.WaitFrom(res.Header, []byte(res.body), res.StatusCode, time.Now())
						return res.StatusCode, wait
					}
					var got []int
					for _, at := range []time.Duration{0, 100 * time.Millisecond, 900 * time.Millisecond, 1200 * time.Millisecond, 7 * time.Second, 8500 * time.Millisecond} {
						time.Sleep(time.Until(begin.Add(at)))
						status, wait := ask()
						got = append(got, status)
						if told := status == http.StatusTooManyRequests && form != RetryNone; told != (wait > 0) || told && (wait < 7*time.Second || wait > 8*time.Second) {
							t.Errorf("at %v: %d with a wait of %v, want one of 7 s with the refusal alone", at, status, wait)
						}
					}
					if want := []int{200, 429, 200, 200, 200, 200}; !slices.Equal(got, want) {
						t.Errorf("got %v, want %v", got, want)
					}
					p, until, late := s.Stats().Pauses[0], begin.Add(7100*time.Millisecond), 2
					switch form {
					case RetryDate:
						until = begin.Add(8 * time.Second)
					case RetryNone:
						until, late = begin.Add(100*time.Millisecond), 0
					default:
					}
					want := PauseStats{Call: 2, Form: form, At: begin.Add(100 * time.Millisecond), Until: until, Late: late}
					if diff := cmp.Diff(want, p); diff != "" {
						t.Errorf("the pause (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// Without headers nobody can know how much is left, but for a refusal that is told
// by nothing else.
func TestNoLimitHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		form RetryAfter
		want bool
	}{
		"by a header of its own": {RetrySeconds, false},
		"by nothing else":        {RetryResets, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Model: Say{Text: "Hi"}, Limits: Limits{Requests: 1}, NoLimitHeaders: true, RetryAfter: tt.form})
				for _, want := range []bool{false, tt.want} {
					res := post(t, s, wirePath("chat", false), hello("chat", false))
					if got := res.Header.Get("X-Ratelimit-Limit-Requests") != ""; got != want {
						t.Errorf("%d with headers: %v, want %v", res.StatusCode, got, want)
					}
				}
			})
		})
	}
}

// What a client did not wait for is generated all the same.
func TestUnheard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		latency, err := ParseLatency("10s")
		if err != nil {
			t.Fatal(err)
		}
		usage := eval.Usage{Input: 10, Output: 3}
		s := New(Options{Model: always(llm.Response{Usage: usage}), Latency: latency})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodPost, wirePath("chat", false), strings.NewReader(hello("chat", false))))
		if got := s.Stats(); got.Unheard != usage || got.Tokens != (eval.Usage{}) || got.Latency.Count != 0 {
			t.Errorf("unheard %+v, answered %+v, %d answers; want %+v unheard alone", got.Unheard, got.Tokens, got.Latency.Count, usage)
		}
	})
}
