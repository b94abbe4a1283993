package stub

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func unmarshal(s string) error {
	var v any
	return json.Unmarshal([]byte(s), &v)
}

// Only the keys given are let in, wherever a client shows them.
func TestKeys(t *testing.T) {
	s := New(Options{Model: Say{Text: "Hi"}, Keys: []string{"k1", "k2"}})
	for name, tt := range map[string]struct {
		path, body, header, value string
		want                      int
	}{
		"no key":       {wirePath("chat", false), hello("chat", false), "X-None", "", 401},
		"wrong key":    {wirePath("chat", false), hello("chat", false), "Authorization", "Bearer k3", 401},
		"empty bearer": {wirePath("chat", false), hello("chat", false), "Authorization", "Bearer ", 401},
		"bearer":       {wirePath("chat", false), hello("chat", false), "Authorization", "Bearer k2", 200},
		"anthropic":    {wirePath("messages", false), hello("messages", false), "X-Api-Key", "k1", 200},
		"no anthropic": {wirePath("messages", false), hello("messages", false), "X-Api-Key", "", 401},
		"google":       {wirePath("gemini", false), hello("gemini", false), "X-Goog-Api-Key", "k1", 200},
		"in the query": {wirePath("gemini", false) + "?key=k1", hello("gemini", false), "X-None", "", 200},
		"no google":    {wirePath("gemini", false) + "?key=k", hello("gemini", false), "X-None", "", 401},
	} {
		t.Run(name, func(t *testing.T) {
			res := post(t, s, tt.path, tt.body, tt.header, tt.value)
			body := res.body
			if res.StatusCode != tt.want {
				t.Fatalf("got %d %s, want %d", res.StatusCode, body, tt.want)
			}
			if e := llm.Classify(res.StatusCode, res.Header, []byte(body), epoch); tt.want == 401 && e.Kind != llm.Auth {
				t.Errorf("got %v, want %s", e, llm.Auth)
			}
		})
	}
}

func TestModels(t *testing.T) {
	s := New(Options{Model: Say{Text: "Hi"}, Keys: []string{"k1"}})
	for path, want := range map[string]string{"/v1/models": `"id":"stub"`, "/v1beta/openai/models": `"id":"stub"`, "/v1beta/models": `"name":"models/stub"`} {
		for key, status := range map[string]int{"k1": 200, "k2": 401} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set("X-Api-Key", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != status || strings.Contains(w.Body.String(), want) != (status == 200) {
				t.Errorf("%s with %s: got %d %s", path, key, w.Code, w.Body)
			}
		}
	}
}

func TestNoSuchPath(t *testing.T) {
	s := New(Options{Model: Say{Text: "Hi"}})
	res := post(t, s, "/v1/embeddings", "{}")
	if body := res.body; res.StatusCode != http.StatusNotFound || unmarshal(body) != nil {
		t.Errorf("got %d %s, want 404 with JSON", res.StatusCode, body)
	}
	if got := s.Stats().Requests["/"]; got[404] != 1 {
		t.Errorf("stats: got %v, want one 404", got)
	}
}

// The compatible face of Gemini is the same as OpenAI's own, and so are the two
// versions of Gemini's API.
func TestSamePaths(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v1 := post(t, New(Options{Model: Say{Text: "Hi"}}), "/v1/models/m-1:generateContent", hello("gemini", false)).body
		if beta := post(t, New(Options{Model: Say{Text: "Hi"}}), wirePath("gemini", false), hello("gemini", false)).body; v1 != beta || !strings.Contains(v1, "Hi") {
			t.Errorf("got %s, want %s", v1, beta)
		}
		one := post(t, New(Options{Model: Say{Text: "Hi"}}), "/v1beta/openai/chat/completions", hello("chat", false)).body
		two := post(t, New(Options{Model: Say{Text: "Hi"}}), "/v1/chat/completions", hello("chat", false)).body
		if one != two || !strings.Contains(one, "Hi") {
			t.Errorf("got %s, want %s", one, two)
		}
	})
}

// spaces is an endless request.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestRequestTooLarge(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", spaces{})
	w := httptest.NewRecorder()
	New(Options{Model: Say{Text: "Hi"}}).ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "request_too_large") {
		t.Errorf("got %d %s, want 413", w.Code, w.Body)
	}
}

// What the model fails with is told in a way that the client reads back.
func TestModelFails(t *testing.T) {
	for _, kind := range []llm.Kind{llm.RateLimit, llm.Overloaded, llm.Quota, llm.Auth, llm.BadRequest, llm.ContextLength, llm.ContentFilter, llm.Network} {
		for _, wire := range wireNames {
			t.Run(string(kind)+"/"+wire, func(t *testing.T) {
				s := New(Options{Model: modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
					return llm.Response{}, &llm.Error{Kind: kind, Wait: 1500 * time.Millisecond}
				}), RetryAfter: RetryMS})
				res := post(t, s, wirePath(wire, false), hello(wire, false))
				body := res.body
				e := llm.Classify(res.StatusCode, res.Header, []byte(body), epoch)
				want := time.Duration(0)
				if kind == llm.RateLimit {
					want = 1500 * time.Millisecond
				}
				if e.Kind != kind || e.Wait != want {
					t.Errorf("got %s with a wait of %v, want %s with %v; %s", e.Kind, e.Wait, kind, want, body)
				}
			})
		}
	}
	t.Run("otherwise", func(t *testing.T) {
		s := New(Options{Model: modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
			return llm.Response{}, errors.New("a bug")
		})})
		if res := post(t, s, wirePath("chat", false), hello("chat", false)); res.StatusCode != http.StatusInternalServerError {
			t.Errorf("got %d, want 500", res.StatusCode)
		}
	})
}

// Latency comes before the first event, generation is spread over all.
func TestPace(t *testing.T) {
	latency, err := ParseLatency("2s")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Model: Say{Text: "x", Tokens: 100}, Latency: latency, TokensPerSecond: 10}
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &clocked{ResponseRecorder: httptest.NewRecorder(), start: time.Now()}
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/messages", strings.NewReader(hello("messages", stream)))
				New(o).ServeHTTP(w, r)
				first, last := w.at[0], w.at[len(w.at)-1]
				if stream && (first <= 2*time.Second || first > 3*time.Second) || !stream && first != 12*time.Second {
					t.Errorf("first bytes: got them after %v", first)
				}
				if last.Round(time.Millisecond) != 12*time.Second {
					t.Errorf("last bytes: got them after %v, want 2 s and 100 tokens at 10 a second", last)
				}
			})
		})
	}
}

// A clocked recorder notes when something is written.
type clocked struct {
	*httptest.ResponseRecorder
	start time.Time
	at    []time.Duration
}

func (c *clocked) Write(b []byte) (int, error) {
	c.at = append(c.at, time.Since(c.start))
	return c.ResponseRecorder.Write(b)
}

func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		latency, err := ParseLatency("100ms")
		if err != nil {
			t.Fatal(err)
		}
		usage := eval.Usage{Input: 10, CacheRead: 4, Output: 3, Reasoning: 1}
		start := time.Now()
		s := New(Options{Model: always(llm.Response{Usage: usage}), Latency: latency, Limits: Limits{InFlight: 2}})
		get := func() Stats {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/stats", nil))
			var got Stats
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		for range 3 {
			go post(t, s, wirePath("chat", false), hello("chat", false), "Authorization", "Bearer secret")
		}
		synctest.Wait() // two are asleep, the third is refused
		busy := get()
		if busy.InFlight != 2 || busy.MaxInFlight != 2 || busy.RateLimited != 1 || busy.Latency.Count != 0 {
			t.Errorf("while two are open: %+v", busy)
		}
		time.Sleep(time.Second)
		post(t, s, wirePath("messages", false), `{}`)
		key := fingerprint("secret")
		want := Stats{
			Since:    start,
			Requests: map[string]map[int]int{"POST /v1/chat/completions": {200: 2, 429: 1}, "POST /v1/messages": {400: 1}},
			Load:     Load{Calls: 4, MaxInFlight: 2, RateLimited: 1, Tokens: usage.Add(usage)},
			First:    start,
			Last:     start.Add(time.Second),
			Keys:     map[string]Load{key: {Calls: 3, MaxInFlight: 2, RateLimited: 1, Tokens: usage.Add(usage)}, "none": {Calls: 1}},
			Latency:  Percentiles{Count: 2, P50: 100, P95: 100, P99: 100, Max: 100},
		}
		if diff := cmp.Diff(want, get()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
		if res := post(t, s, "/stats/reset", ""); res.StatusCode != http.StatusNoContent {
			t.Errorf("reset: got %d", res.StatusCode)
		}
		if diff := cmp.Diff(Stats{Since: time.Now(), Requests: map[string]map[int]int{}, Keys: map[string]Load{}}, get()); diff != "" {
			t.Errorf("stats after a reset (-want +got):\n%s", diff)
		}
	})
}

// Neither keys nor answers fill the memory, and no key is shown.
func TestStatsAreBounded(t *testing.T) {
	s := New(Options{Model: Say{Text: "Hi"}})
	for i := range maxSamples + 10 {
		post(t, s, wirePath("gemini", false), hello("gemini", false), "X-Api-Key", "sk-"+strings.Repeat("x", i%2000))
	}
	got := s.Stats()
	if len(got.Keys) != maxKeysShown+1 || got.Keys["others"].Calls == 0 || got.Latency.Count != maxSamples || got.Calls != maxSamples+10 {
		t.Errorf("got %d keys, %d samples and %d calls", len(got.Keys), got.Latency.Count, got.Calls)
	}
	if text := string(eval.Encode(got)); strings.Contains(text, "sk-") {
		t.Error("a key is shown")
	}
}

// Serve ends with its context, open calls or not.
func TestServe(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := faulty(FaultHang)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, l) }()
	asked := make(chan error)
	go func() {
		res, err := http.Post("http://"+l.Addr().String()+"/v1/messages", "application/json", strings.NewReader(hello("messages", false)))
		if err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		asked <- err
	}()
	for s.Stats().Faults[FaultHang] == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("serve: got error %v, want none", err)
	}
	if err := <-asked; err == nil {
		t.Error("the open call got an answer")
	}
}
