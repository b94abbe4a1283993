package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// web is a Streamable HTTP server that initializes well, with a session, and
// then answers tools/call as the test says.
func web(t *testing.T, call func(w http.ResponseWriter, r *http.Request, m rpc)) *httptest.Server {
	t.Helper()
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var m rpc
		_ = json.Unmarshal(body, &m)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s1")
			reply(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}}`, m.ID, m.Params.ProtocolVersion)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		case m.Method == "tools/call" && m.Params.Name == "well":
			reply(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"well"}]}}`, m.ID)
		default:
			call(w, r, m)
		}
	}))
	t.Cleanup(ts.Close)
	return ts
}

func reply(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, args...)
}

func status(code int, contentType, body string) func(http.ResponseWriter, *http.Request, rpc) {
	return func(w http.ResponseWriter, _ *http.Request, _ rpc) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// stream answers with an event stream, whose lines may hold %s for the id.
func stream(lines string) func(http.ResponseWriter, *http.Request, rpc) {
	return func(w http.ResponseWriter, _ *http.Request, m rpc) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, strings.ReplaceAll(lines, "%s", string(m.ID)))
	}
}

// TestHTTPAbuse is what an HTTP server can do to a call. Traps T2, T3, T4, T6 and
// T15 are rows.
func TestHTTPAbuse(t *testing.T) {
	t.Parallel()
	const okResult = `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`
	tests := []struct {
		name   string
		call   func(http.ResponseWriter, *http.Request, rpc)
		kind   eval.OutcomeKind
		reason eval.Reason
		detail string
		dead   bool
	}{
		{name: "T2: 500 with JSON", call: status(500, "application/json", `{"detail":"db down"}`), kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: `{"detail":"db down"}`},
		{name: "T3: 429 with Retry-After", call: status(429, "application/json", `{"error":"rate limited"}`), kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: "HTTP 429 Too Many Requests, Retry-After: 7"},
		{name: "502 page", call: status(502, "text/html", "<h1>bad gateway</h1>"), kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: "HTTP 502"},
		{name: "400 with an error for nobody", call: status(400, "application/json", `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}`), kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: "no session"},
		{name: "400 with our error", call: func(w http.ResponseWriter, r *http.Request, m rpc) {
			status(400, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad"}}`, m.ID))(w, r, m)
		}, kind: eval.OutcomeProtocolError, detail: "bad"},
		{name: "401", call: status(401, "text/plain", "token expired"), kind: eval.OutcomeFailed, reason: eval.ReasonUnauthorized, detail: "token expired"},
		{name: "403", call: status(403, "text/plain", "not yours"), kind: eval.OutcomeFailed, reason: eval.ReasonUnauthorized, detail: "not yours"},
		{name: "T6: 404", call: status(404, "text/plain", "session not found"), kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: "HTTP 404", dead: true},
		{name: "202", call: status(202, "", ""), kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "HTTP 202"},
		{name: "200 without a body", call: status(200, "application/json", ""), kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "no JSON-RPC answer"},
		{name: "200 page", call: status(200, "text/html", "<h1>login</h1>"), kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "<h1>login</h1>"},
		{name: "200 batch", call: func(w http.ResponseWriter, _ *http.Request, m rpc) { reply(w, "["+okResult+"]", m.ID) }, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation},
		{name: "200 half", call: func(w http.ResponseWriter, _ *http.Request, m rpc) { reply(w, `{"jsonrpc":"2.0","id":%s,"res`, m.ID) }, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation},
		{name: "T4: wrong id", call: func(w http.ResponseWriter, _ *http.Request, _ rpc) { reply(w, okResult, "4711") }, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "answered with id 4711"},
		{name: "T4: wrong id in a stream", call: stream("data: {\"jsonrpc\":\"2.0\",\"id\":4711,\"result\":{\"content\":[]}}\n\n"), kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "answered with id 4711"},
		{name: "string id", call: func(w http.ResponseWriter, _ *http.Request, m rpc) { reply(w, okResult, `"`+string(m.ID)+`"`) }, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation},
		{name: "null result", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			reply(w, `{"jsonrpc":"2.0","id":%s,"result":null}`, m.ID)
		}, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "no object: null"},
		{name: "neither", call: func(w http.ResponseWriter, _ *http.Request, m rpc) { reply(w, `{"jsonrpc":"2.0","id":%s}`, m.ID) }, kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "neither"},
		{name: "unknown content", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			reply(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"hologram"}]}}`, m.ID)
		}, kind: eval.OutcomeOK},
		{name: "pretty-printed is fine here", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			reply(w, "{\n\"jsonrpc\":\"2.0\",\n\"id\":%s,\n\"result\":{}\n}\n", m.ID)
		}, kind: eval.OutcomeOK},
		{name: "stream", call: stream(": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\ndata: " + okResult + "\n\n"), kind: eval.OutcomeOK},
		{name: "stream with data over two lines", call: stream("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":%s,\"result\":{}}\n\n"), kind: eval.OutcomeOK},
		{name: "T15: stream without the answer", call: stream("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n"), kind: eval.OutcomeFailed, reason: eval.ReasonStreamCut, detail: "ended without the answer"},
		{name: "stream with garbage", call: stream("data: {oops\n\n"), kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "{oops"},
		{name: "oversize", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			reply(w, `{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}`, m.ID, strings.Repeat("y", 2<<20))
		}, kind: eval.OutcomeFailed, reason: eval.ReasonOversize},
		{name: "oversize event", call: stream("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"x\":\"" + strings.Repeat("y", 2<<20) + "\"}}\n\n"), kind: eval.OutcomeFailed, reason: eval.ReasonOversize},
		{name: "connection cut", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			w.Header().Set("Content-Length", "1000")
			reply(w, `{"jsonrpc":"2.0","id":%s,`, m.ID)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, kind: eval.OutcomeFailed, reason: eval.ReasonStreamCut, detail: "broke off"},
		{name: "connection cut before the head", call: func(http.ResponseWriter, *http.Request, rpc) {
			panic(http.ErrAbortHandler)
		}, kind: eval.OutcomeFailed, reason: eval.ReasonStreamCut, detail: "broke before"},
		{name: "stream cut", call: func(w http.ResponseWriter, _ *http.Request, m rpc) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,", m.ID)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, kind: eval.OutcomeFailed, reason: eval.ReasonStreamCut, detail: "broke off"},
		{name: "redirect to another host", call: func(w http.ResponseWriter, r *http.Request, _ rpc) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusTemporaryRedirect)
		}, kind: eval.OutcomeFailed, reason: eval.ReasonHTTPStatus, detail: "elsewhere.invalid"},
		{name: "hang", call: func(_ http.ResponseWriter, r *http.Request, _ rpc) { <-r.Context().Done() }, kind: eval.OutcomeFailed, reason: eval.ReasonTimeout, detail: "no answer within"},
		{name: "hang in a stream", call: func(w http.ResponseWriter, r *http.Request, _ rpc) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, kind: eval.OutcomeFailed, reason: eval.ReasonTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := urlSpec(web(t, tt.call).URL, "")
			if tt.reason == eval.ReasonTimeout {
				spec.Server.CallTimeout = 3 * time.Second // of the next call too
			}
			s, err := client.NewOpener(client.Options{FrameLimit: 1 << 20}).Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			a := attach(t, s)
			out := a.Call(t.Context(), "x", nil)
			if out.Kind != tt.kind || out.Reason != tt.reason || !strings.Contains(out.Detail, tt.detail) {
				t.Errorf("got %s %q (%s), want %s %q (%s)", out.Kind, out.Reason, out.Detail, tt.kind, tt.reason, tt.detail)
			}
			next := a.Call(t.Context(), "well", nil)
			if tt.dead {
				if next.Kind != eval.OutcomeFailed || next.Reason != tt.reason || !s.Dead() {
					t.Errorf("next call got %+v, dead %t, want failed %q and a dead session", next, s.Dead(), tt.reason)
				}
			} else if textOf(next) != "well" || s.Dead() {
				t.Errorf("next call got %+v, dead %t, want an answer", next, s.Dead())
			}
		})
	}
}

// TestHTTPGone: a server that is shut down between two calls.
func TestHTTPGone(t *testing.T) {
	ts := web(t, nil)
	s := open(t, urlSpec(ts.URL, ""))
	ts.CloseClientConnections()
	ts.Close()
	a := attach(t, s)
	out := a.Call(t.Context(), "well", nil)
	if out.Reason == eval.ReasonStreamCut {
		// The request went out on a connection not yet seen to be closed.
		out = a.Call(t.Context(), "well", nil)
	}
	if out.Kind != eval.OutcomeFailed || out.Reason != eval.ReasonUnreachable || !s.Dead() {
		t.Errorf("got %+v, dead %t, want failed unreachable and a dead session", out, s.Dead())
	}
}

// T1: what a typed listing would lose is there, and one bad tool hides no other.
func TestTrapListingIsRaw(t *testing.T) {
	a := attach(t, open(t, hostileSpec(t, "calls")))
	pages, out := a.ListTools(t.Context())
	if out.Kind != eval.OutcomeOK || len(pages) != 1 {
		t.Fatalf("got %d pages, %+v, want one", len(pages), out)
	}
	for _, want := range []string{`"allOf":[{"required":["a"]}]`, `"x-vendor":{"k":1}`} {
		if !strings.Contains(string(pages[0]), want) {
			t.Errorf("got %s, want it to contain %s", pages[0], want)
		}
	}
	b := attach(t, open(t, hostileSpec(t, "bad-tool")))
	pages, out = b.ListTools(t.Context())
	if out.Kind != eval.OutcomeOK || !strings.Contains(string(pages[0]), `"type":["object","null"]`) {
		t.Errorf("got %s %+v, want the raw page", pages, out)
	}
	for _, name := range []string{"bad", "worse", "good"} {
		if has, out := b.HasTool(t.Context(), name); !has {
			t.Errorf("got no tool %s (%+v), want it", name, out)
		}
	}
}

// legacy is a legacy SSE server that initializes well. A call gets a way to send
// events and one to end the stream.
func legacy(t *testing.T, call func(m rpc, send func(format string, args ...any), end func())) *httptest.Server {
	t.Helper()
	events, ended := make(chan string, 100), make(chan struct{})
	send := func(format string, args ...any) { events <- fmt.Sprintf(format, args...) }
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: endpoint\ndata: /post\n\n")
			for {
				w.(http.Flusher).Flush()
				select {
				case e := <-events:
					fmt.Fprintf(w, "data: %s\n\n", e)
				case <-ended:
					return
				case <-r.Context().Done():
					return
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		var m rpc
		_ = json.Unmarshal(body, &m)
		w.WriteHeader(http.StatusAccepted)
		switch m.Method {
		case "initialize":
			send(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"sse","version":"1"}}}`, m.ID)
		case "tools/call":
			call(m, send, func() { close(ended) })
		}
	}))
	t.Cleanup(ts.Close)
	return ts
}

// T7: over legacy SSE a request of the server whose id equals ours is not taken
// for the answer.
func TestTrapCollidingRequestOverSSE(t *testing.T) {
	ts := legacy(t, func(m rpc, send func(string, ...any), _ func()) {
		send(`{"jsonrpc":"2.0","id":%s,"method":"roots/list"}`, m.ID)
		send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"after"}]}}`, m.ID)
	})
	s := open(t, urlSpec(ts.URL, eval.TransportSSE))
	if out := attach(t, s).Call(t.Context(), "x", nil); textOf(out) != "after" {
		t.Errorf("got %+v, want the answer", out)
	}
	if !hasFinding(s, "request_unanswered") {
		t.Errorf("got findings %v, want request_unanswered", s.Findings())
	}
}

// TestSSEAbuse is what a legacy SSE server can do to a call.
func TestSSEAbuse(t *testing.T) {
	tests := []struct {
		name   string
		call   func(m rpc, send func(string, ...any), end func())
		reason eval.Reason
		dead   bool
	}{
		{"the stream ends", func(_ rpc, _ func(string, ...any), end func()) { end() }, eval.ReasonStreamCut, true},
		{"wrong id", func(_ rpc, send func(string, ...any), _ func()) {
			send(`{"jsonrpc":"2.0","id":4711,"result":{}}`)
		}, eval.ReasonProtocolViolation, false},
		{"string id", func(m rpc, send func(string, ...any), _ func()) {
			send(`{"jsonrpc":"2.0","id":"%s","result":{}}`, m.ID)
		}, eval.ReasonProtocolViolation, false},
		{"oversize", func(m rpc, send func(string, ...any), _ func()) {
			send(`{"jsonrpc":"2.0","id":%s,"result":{"x":"%s"}}`, m.ID, strings.Repeat("y", 2<<20))
		}, eval.ReasonOversize, true},
		{"silence", func(rpc, func(string, ...any), func()) {}, eval.ReasonTimeout, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := urlSpec(legacy(t, tt.call).URL, eval.TransportSSE)
			if tt.reason == eval.ReasonTimeout {
				spec.Server.CallTimeout = 200 * time.Millisecond
			}
			s, err := client.NewOpener(client.Options{FrameLimit: 1 << 20}).Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			out := attach(t, s).Call(t.Context(), "x", nil)
			if out.Kind != eval.OutcomeFailed || out.Reason != tt.reason || s.Dead() != tt.dead {
				t.Errorf("got %+v, dead %t, want failed %q, dead %t", out, s.Dead(), tt.reason, tt.dead)
			}
		})
	}
}

// T8: over Streamable HTTP the server can ask right after Open. T9: our answers
// come at once, so the 30 s that mcp-go gives a handler do not matter.
func TestTrapServerAsksOverHTTP(t *testing.T) {
	ts := newStreamable(t, friendly(t))
	for range 20 {
		spec := urlSpec(ts, "")
		spec.Profile = client.ProfileFull
		s, err := client.NewOpener(client.Options{}).Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach()
		if out := a.Call(t.Context(), "roots", nil); textOf(out) != "file:///srv/suite" {
			t.Errorf("got %+v, want the suite's folder as root", out)
		}
		if out := a.Call(t.Context(), "sample", nil); !strings.Contains(textOf(out), "fixed answer") {
			t.Errorf("got %+v, want the fixed answer", out)
		}
		a.Detach()
		_ = s.Close()
	}
}

// T10: a request that nobody declared is refused with the right code; a ping is
// answered.
func TestTrapUndeclaredRequest(t *testing.T) {
	tests := []struct{ method, profile, answer string }{
		{"roots/list", client.ProfileBare, `"code":-32601`},
		{"elicitation/create", client.ProfileOpencode, `"code":-32601`},
		{"nonsense/x", client.ProfileFull, `"code":-32601`},
		{"roots/list", client.ProfileGemini, `"uri":"file://`},
		{"ping", client.ProfileBare, `"result":{}`},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.profile, func(t *testing.T) {
			spec := hostileSpec(t, "calls")
			spec.Profile = tt.profile
			s := open(t, spec)
			if out := do(t.Context(), attach(t, s), "ask", "text", tt.method); textOf(out) != "asked" {
				t.Fatalf("got %+v, want asked", out)
			}
			eventually(t, func() bool { return strings.Contains(s.Stderr(), `"id":"ask-1"`) })
			if got := s.Stderr(); !strings.Contains(got, tt.answer) {
				t.Errorf("the server heard %s, want %s", got, tt.answer)
			}
		})
	}
}

// T11: the context of Open is not that of the session.
func TestTrapOpenContextEnds(t *testing.T) {
	for name, spec := range map[string]client.Spec{
		"stdio": hostileSpec(t, "calls"),
		"http":  urlSpec(web(t, nil).URL, ""),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := client.NewOpener(options()).Open(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		a := s.Attach()
		tool := map[string]string{"stdio": "do", "http": "well"}[name]
		if out := a.Call(t.Context(), tool, nil); out.Kind != eval.OutcomeOK {
			t.Errorf("%s: got %+v, want an answer", name, out)
		}
		a.Detach()
		_ = s.Close()
	}
}

// T12: a call in this process obeys its context and survives a panic.
func TestTrapInProcess(t *testing.T) {
	t.Parallel()
	srv := friendly(t)
	release := make(chan struct{})
	srv.AddTool(mcp.NewTool("stubborn"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-release
		return mcp.NewToolResultText("late"), nil
	})
	spec := client.Spec{Name: "in", Profile: client.ProfileFull, Dir: "/srv/suite"}
	spec.Server.CallTimeout = 2 * time.Second
	s, err := client.OpenInProcess(t.Context(), srv, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	defer close(release)
	a := attach(t, s)
	if out := a.Call(t.Context(), "stubborn", nil); out.Reason != eval.ReasonTimeout {
		t.Errorf("got %+v, want call_timeout", out)
	}
	if out := a.Call(t.Context(), "panic", nil); out.Reason != eval.ReasonServerCrashed || !strings.Contains(out.Detail, "boom") {
		t.Errorf("got %+v, want server_crashed with boom", out)
	}
	if out := a.Call(t.Context(), "roots", nil); textOf(out) != "file:///srv/suite" {
		t.Errorf("got %+v, want the root", out)
	}
	if len(a.Frames()) == 0 {
		t.Error("got no frames, want those of the calls")
	}
}

// T13: a request that comes before the handshake is answered.
func TestTrapEarlyRequest(t *testing.T) {
	s := open(t, hostileSpec(t, "early"))
	eventually(t, func() bool { return strings.Contains(s.Stderr(), `{"jsonrpc":"2.0","id":"early","result":{}}`) })
}

// T14: notifications cannot stop the reading. Nothing of ours runs in mcp-go's
// handler; a changed listing is asked for by whoever wants it next.
func TestTrapNotificationsDoNotBlock(t *testing.T) {
	s := open(t, hostileSpec(t, "changes"))
	a := attach(t, s)
	if has, out := a.HasTool(t.Context(), "do"); !has {
		t.Errorf("got no tool (%+v), want it", out)
	}
	if out := do(t.Context(), a, "notes", "n", 3000); textOf(out) != "done" {
		t.Errorf("got %+v, want done", out)
	}
	frames := a.Frames()
	last := frames[len(frames)-1]
	if !last.Noise || !strings.Contains(string(last.Raw), "more frames") {
		t.Errorf("got %d frames, the last %s, want a marker at the end", len(frames), last.Raw)
	}
	if len(frames) > 300 {
		t.Errorf("got %d frames, want the notifications bounded", len(frames))
	}
	answered := false
	for _, f := range frames {
		answered = answered || strings.Contains(string(f.Raw), `"text":"done"`)
	}
	if !answered {
		t.Error("got no frame of the answer, want it in spite of the flood")
	}
}

// T16: how a server takes its end is no error of Close. T17: nothing is written
// to the default logger. It changes the default logger, so it is not parallel.
func TestTrapCloseIsQuiet(t *testing.T) {
	var log syncBuffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	ts := httptest.NewServer(server.NewStreamableHTTPServer(friendly(t)))
	defer ts.Close()
	full := urlSpec(ts.URL, "")
	full.Profile = client.ProfileFull
	for _, spec := range []client.Spec{hostileSpec(t, "ignore-eof"), hostileSpec(t, "early"), full} {
		s, err := client.NewOpener(options()).Open(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach()
		stop, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() { do(stop, a, "hang") })
		if err := s.Close(); err != nil {
			t.Errorf("got close error %v, want none", err)
		}
		cancel()
		calls.Wait()
	}
	if got := log.String(); got != "" {
		t.Errorf("got log %s, want none", got)
	}
}

type syncBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// eventually waits for what another process does.
func eventually(tb testing.TB, done func() bool) {
	tb.Helper()
	deadline := time.Now().Add(time.Minute)
	for !done() {
		if time.Now().After(deadline) {
			tb.Fatal("waited a minute in vain")
		}
		<-time.After(5 * time.Millisecond)
	}
}
