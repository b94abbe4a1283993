package llmtest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A Server keeps the requests that it gets.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []*http.Request
	bodies   [][]byte
}

// serve starts a server that ends with the test. Handlers that wait for the end
// of the request are released by then.
func serve(t *testing.T, handler http.HandlerFunc) *Server {
	t.Helper()
	s := &Server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		s.mu.Lock()
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// Serve starts a server that always gives one answer.
func Serve(t *testing.T, status int, body string) *Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) })
}

// LastBody is the body of the last request.
func (s *Server) LastBody() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[len(s.bodies)-1]
}

// LastHeader is the header of the last request.
func (s *Server) LastHeader() http.Header { return s.last().Header }

func (s *Server) last() *http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// reply writes a whole answer.
func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) //nolint:gosec // JSON that the test wrote itself
}

// open makes the adapter, for a server unless the endpoint names another one.
func (w Wire) open(t *testing.T, s *Server, e llm.Endpoint) llm.Model {
	t.Helper()
	if e.Model == "" {
		e.Model = "model-7"
	}
	if e.BaseURL == "" {
		e.BaseURL = s.URL + w.Bases[0]
	}
	e.HTTPClient = s.Client()
	model, err := w.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	return model
}
