package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// ear records what a round tripper tells.
type ear struct {
	mu        sync.Mutex // guards all below
	heard     []string
	exchanges []wire.Exchange
	drop      string // method not to let pass
}

func (e *ear) tap(_ context.Context, m wire.Message) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, fmt.Sprintf("sent %t noise %t %s", m.Sent, m.Noise, m.Raw))
	return e.drop == "" || m.Method != e.drop
}

func (e *ear) report(_ context.Context, x wire.Exchange) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.exchanges = append(e.exchanges, x)
}

func (e *ear) last() wire.Exchange {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.exchanges[len(e.exchanges)-1]
}

func newClient(e *ear, limit int) *http.Client {
	return &http.Client{Transport: &wire.HTTP{Base: http.DefaultTransport, FrameLimit: limit, Tap: e.tap, Report: e.report}}
}

func TestHTTPExchange(t *testing.T) {
	const answer = `{"jsonrpc":"2.0","id":1,"result":{}}`
	const request = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	tests := []struct {
		name        string
		status      int
		contentType string
		body        string
		limit       int
		drop        string
		heard       []string // after the request
		kept        string   // of the body, by the exchange
		read        string   // by the client
		err         error
	}{
		{name: "an answer", status: 200, contentType: "application/json", body: answer, heard: []string{"sent false noise false " + answer}, kept: answer, read: answer},
		{name: "an error page", status: 503, contentType: "text/html", body: "<h1>down</h1>", heard: []string{`sent false noise true "<h1>down</h1>"`}, kept: "<h1>down</h1>", read: "<h1>down</h1>"},
		{name: "an empty body", status: 202},
		{name: "over the limit", status: 200, contentType: "application/json", body: strings.Repeat("x", 101), limit: 100, err: wire.ErrOversize},
		{name: "a stream", status: 200, contentType: "text/event-stream; charset=utf-8", body: "id: 1\ndata: " + note + "\n\ndata: " + answer + "\n\n", heard: []string{"sent false noise false " + note, "sent false noise false " + answer}, read: "id: 1\ndata: " + note + "\n\ndata: " + answer + "\n\n"},
		{name: "a stream with something dropped", status: 200, contentType: "text/event-stream", body: "data: " + note + "\n\ndata: " + answer + "\n\n", drop: "n", heard: []string{"sent false noise false " + note, "sent false noise false " + answer}, read: "data: " + answer + "\n\n"},
		{name: "a stream with a named event", status: 200, contentType: "text/event-stream", body: "event: endpoint\r\ndata: /post\r\n\r\n", read: "event: endpoint\r\ndata: /post\r\n\r\n"},
		{name: "a stream over two lines", status: 200, contentType: "text/event-stream", body: "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"n\"}\n\n", heard: []string{"sent false noise false {\"jsonrpc\":\"2.0\",\n\"method\":\"n\"}"}, read: "event: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"n\"}\n\n"},
		{name: "a stream of garbage", status: 200, contentType: "text/event-stream", body: "data: {oops\n\n", heard: []string{`sent false noise true "{oops"`}, read: "data: {oops\n\n"},
		{name: "a stream that ends early", status: 200, contentType: "text/event-stream", body: "data: " + note, heard: []string{"sent false noise false " + note}, read: "data: " + note},
		{name: "a stream over the limit", status: 200, contentType: "text/event-stream", body: "data: " + strings.Repeat("x", 101) + "\n\n", limit: 100, err: wire.ErrOversize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.Header().Set("Retry-After", "5")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer ts.Close()
			e := &ear{drop: tt.drop}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts.URL, strings.NewReader(request))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := newClient(e, tt.limit).Do(req)
			var read []byte
			if err == nil {
				read, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("got error %v, want %v", err, tt.err)
			}
			if tt.err == nil && string(read) != tt.read {
				t.Errorf("the client read %q, want %q", read, tt.read)
			}
			x := e.last()
			if x.Status != tt.status || x.Header.Get("Retry-After") != "5" || x.Sent.IsZero() || !errors.Is(x.Err, tt.err) {
				t.Errorf("got exchange %+v, want status %d with its headers and error %v", x, tt.status, tt.err)
			}
			if string(x.Body) != tt.kept {
				t.Errorf("got body %q, want %q", x.Body, tt.kept)
			}
			want := append([]string{"sent true noise false " + request}, tt.heard...)
			if diff := cmp.Diff(want, e.heard); diff != "" {
				t.Errorf("heard (-want +got):\n%s", diff)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestHTTPBreaks: what breaks a connection is reported, before and after the head.
func TestHTTPBreaks(t *testing.T) {
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, "data: {\"jso")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		e := &ear{}
		resp, err := newClient(e, 0).Get(ts.URL)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		if err == nil || e.last().Err == nil || e.last().Status != http.StatusOK {
			t.Errorf("%s: got %v, exchange %+v, want the break in both", contentType, err, e.last())
		}
		ts.Close()
		_, err = newClient(e, 0).Get(ts.URL) //nolint:bodyclose // there is none
		if err == nil || e.last().Status != 0 || e.last().Err == nil || !e.last().Sent.IsZero() {
			t.Errorf("%s: got %v, exchange %+v, want a failed connection", contentType, err, e.last())
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// respond is a round tripper with one response.
type respond struct{ body io.Reader }

func (r respond) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(r.body)}, nil
}

// TestEventsPassUnchanged: however a stream is cut into reads and whatever is in
// it, the client gets its bytes unchanged when the tap lets all pass.
func TestEventsPassUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"data: " + note, "data:x", "event: e", ": c", "id: 1", "\n", "\n\n", "\r\n", "\r\n\r\n", "é", "\x00"})).Draw(t, "parts")
		text := strings.Join(parts, "")
		e := &ear{}
		h := &wire.HTTP{Base: respond{iotest.OneByteReader(strings.NewReader(text))}, Tap: e.tap, Report: e.report}
		req, err := http.NewRequest(http.MethodGet, "http://x", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := h.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !bytes.Equal(got, []byte(text)) {
			t.Fatalf("got %q, %v, want %q", got, err, text)
		}
		if !e.last().Ended {
			t.Fatal("the end of the stream was not reported")
		}
	})
}
