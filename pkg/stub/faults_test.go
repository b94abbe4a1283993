package stub

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestParseFaults(t *testing.T) {
	for name, tt := range map[string]struct {
		specs []string
		want  string // of the error; empty is none
	}{
		"none":            {nil, ""},
		"several":         {[]string{"529=0.1", "cut=0.9"}, ""},
		"ten tenths":      {strings.Fields(strings.Repeat("hang=0.1 ", 10)), ""},
		"unknown":         {[]string{"flood=0.1"}, `unknown fault "flood"; there are 500, `},
		"no share":        {[]string{"529"}, "want KIND=SHARE"},
		"not a number":    {[]string{"529=NaN"}, "want KIND=SHARE"},
		"percent":         {[]string{"529=10%"}, "want KIND=SHARE"},
		"negative":        {[]string{"529=-0.1"}, "want KIND=SHARE"},
		"more than all":   {[]string{"529=1.1"}, "want KIND=SHARE"},
		"too much in sum": {[]string{"529=0.7", "cut=0.7"}, "add up to 1.4"},
	} {
		t.Run(name, func(t *testing.T) {
			faults, err := ParseFaults(tt.specs...)
			if tt.want == "" && (err != nil || len(faults) != len(tt.specs)) {
				t.Errorf("got %v, %v, want %d faults", faults, err, len(tt.specs))
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// Each fault gets its share, and the same calls get it each time.
func TestDraw(t *testing.T) {
	faults, err := ParseFaults("529=0.1", "cut=0.3")
	if err != nil {
		t.Fatal(err)
	}
	roll := func(seed uint64) (all []FaultKind, count map[FaultKind]int) {
		count = map[FaultKind]int{}
		for n := range uint64(10_000) {
			k := draw(faults, rand.New(rand.NewPCG(seed, n)))
			all = append(all, k)
			count[k]++
		}
		return all, count
	}
	first, count := roll(7)
	for kind, want := range map[FaultKind]int{"529": 1000, "cut": 3000, "": 6000} {
		if got := count[kind]; got < want-200 || got > want+200 { // six sigmas are less
			t.Errorf("%q: got %d of 10000, want about %d", kind, got, want)
		}
	}
	again, _ := roll(7)
	other, _ := roll(8)
	same := 0
	for i := range first {
		if first[i] != again[i] {
			t.Fatalf("call %d: got %q and %q with the same seed", i, first[i], again[i])
		}
		if first[i] == other[i] {
			same++
		}
	}
	if same == len(first) {
		t.Error("another seed made the same faults")
	}
}

// faulty is a server whose every call goes wrong.
func faulty(kind FaultKind) *Server {
	return New(Options{Model: Say{Text: "Hello from the other side."}, Faults: []Fault{{kind, 1}}})
}

// The faults that answer at once have the status and the kind of the real ones,
// on every wire.
func TestFaultAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		fault  FaultKind
		status int
		kind   llm.Kind
		temp   bool
	}{
		"internal error": {Fault500, 500, llm.Network, true},
		"bad gateway":    {Fault502, 502, llm.Network, true},
		"unavailable":    {Fault503, 503, llm.Overloaded, true},
		"overloaded":     {Fault529, 529, llm.Overloaded, true},
		"stream":         {FaultStream, 529, llm.Overloaded, true},
		"quota":          {FaultQuota, 429, llm.Quota, false},
		"context length": {FaultContextLength, 400, llm.ContextLength, false},
		"content filter": {FaultContentFilter, 400, llm.ContentFilter, false},
	} {
		for _, wire := range wireNames {
			t.Run(name+"/"+wire, func(t *testing.T) {
				s := faulty(tt.fault)
				res := post(t, s, wirePath(wire, false), hello(wire, false))
				body := res.body
				e := llm.Classify(res.StatusCode, res.Header, []byte(body), epoch)
				if e.Status != tt.status || e.Kind != tt.kind || e.Temporary() != tt.temp || e.Wait != 0 {
					t.Errorf("got %d %s, to wait %v, want %d %s; %s", e.Status, e.Kind, e.Wait, tt.status, tt.kind, body)
				}
				if got := s.Stats().Faults[tt.fault]; got != 1 {
					t.Errorf("stats: got %d faults of the kind, want 1", got)
				}
			})
		}
	}
}

// Malformed is no JSON, whole or streamed, with a sound HTTP answer around it.
func TestMalformed(t *testing.T) {
	for _, wire := range wireNames {
		for name, stream := range map[string]bool{"whole": false, "streamed": true} {
			t.Run(wire+"/"+name, func(t *testing.T) {
				res := post(t, faulty(FaultMalformed), wirePath(wire, stream), hello(wire, stream))
				body := res.body
				if stream {
					body, _, _ = strings.Cut(body[strings.Index(body, "data: ")+len("data: "):], "\n")
				}
				if res.StatusCode != http.StatusOK || !strings.HasPrefix(body, "{") {
					t.Fatalf("got %d %s", res.StatusCode, body)
				}
				if err := unmarshal(body); err == nil {
					t.Errorf("got sound JSON: %s", body)
				}
			})
		}
	}
}

// A stream that breaks says so in the middle, in the form of its wire.
func TestBrokenStream(t *testing.T) {
	for wire, want := range map[string]string{
		"messages":  "event: error\ndata: {\"error\":{\"message\":\"Overloaded\",\"type\":\"overloaded_error\"},\"type\":\"error\"}\n\n",
		"chat":      "data: {\"error\":{\"code\":\"server_overloaded\"",
		"responses": "event: error\ndata: {\"code\":\"server_overloaded\"",
		"gemini":    "data: {\"error\":{\"code\":529,\"message\":\"Overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n",
	} {
		t.Run(wire, func(t *testing.T) {
			res := post(t, faulty(FaultStream), wirePath(wire, true), hello(wire, true))
			body := res.body
			at := strings.Index(body, want)
			if res.StatusCode != http.StatusOK || at <= 0 {
				t.Fatalf("got %d %s, want 200 and in its middle %s", res.StatusCode, body, want)
			}
			if after := body[at:]; strings.Count(after, "\n\n") != 1 {
				t.Errorf("got more after the error: %s", after)
			}
		})
	}
}

// Cut and hang are what a client sees of the network, so there is one here.
func TestNetworkFaults(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run("cut/"+name, func(t *testing.T) {
			stub := faulty(FaultCut)
			web := httptest.NewServer(stub)
			defer web.Close()
			res, err := web.Client().Post(web.URL+"/v1/messages", "application/json", strings.NewReader(hello("messages", stream)))
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if res.StatusCode != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(body) == 0 {
				t.Errorf("got %d, error %v after %d bytes, want 200 and an unexpected end after some", res.StatusCode, err, len(body))
			}
			web.Close() // waits for the handler
			if s := stub.Stats(); s.InFlight != 0 || s.Requests["POST /v1/messages"][200] != 1 || s.Latency.Count != 0 {
				t.Errorf("stats: %+v", s)
			}
		})
	}
	t.Run("hang", func(t *testing.T) {
		stub := faulty(FaultHang)
		web := httptest.NewServer(stub)
		defer web.Close()
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/v1/messages", strings.NewReader(hello("messages", false)))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for stub.Stats().Faults[FaultHang] == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		res, err := web.Client().Do(req)
		if err == nil {
			res.Body.Close()
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want no answer until the client goes away", err)
		}
		web.Close()
		if got := stub.Stats().Requests["POST /v1/messages"]; got[statusGone] != 1 {
			t.Errorf("stats: got %v, want one that went away", got)
		}
	})
}

// A slow answer is whole, but each byte takes its time.
func TestSlow(t *testing.T) {
	for name, stream := range map[string]bool{"whole": false, "streamed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := post(t, New(Options{Model: Say{Text: "Hello from the other side."}}), wirePath("chat", stream), hello("chat", stream)).body
				start := time.Now()
				got := post(t, faulty(FaultSlow), wirePath("chat", stream), hello("chat", stream)).body
				if took := time.Since(start); took != time.Duration(len(got))*slowByte {
					t.Errorf("%d bytes took %v, want %v each", len(got), took, slowByte)
				}
				if plain := timeless(got); plain != timeless(want) {
					t.Errorf("got %s, want %s", plain, timeless(want))
				}
			})
		})
	}
}

// timeless takes the time out of an answer.
func timeless(s string) string { return strings.ReplaceAll(s, `"created":946684800,`, "") }
