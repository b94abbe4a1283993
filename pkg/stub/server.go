package stub

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A Server is the handler of all routes. Make one with [New].
type Server struct {
	options  Options
	mux      *http.ServeMux
	keys     map[string]bool // by fingerprint
	limiter  *limiter
	gate     *turnstile
	ledger   *ledger
	admitted atomic.Uint64 // calls that were let in
	refused  atomic.Uint64 // calls that hit a limit
}

// New makes a server.
func New(o Options) *Server {
	now := time.Now()
	s := &Server{options: o, mux: http.NewServeMux(), keys: map[string]bool{}, limiter: newLimiter(o.Limits), gate: newTurnstile(o.Pauses), ledger: newLedger(now)}
	for _, k := range o.Keys {
		s.keys[fingerprint(k)] = true
	}
	for route, format := range map[string]wire{
		"POST /v1/chat/completions":            chat{},
		"POST /v1beta/openai/chat/completions": chat{},
		"POST /v1/responses":                   responses{},
		"POST /v1/messages":                    messages{},
		"POST /v1beta/models/{call}":           gemini{},
		"POST /v1/models/{call}":               gemini{}, // newer clients of Google's
	} {
		s.handle(route, func(w http.ResponseWriter, r *http.Request) { s.serve(format, w, r) })
	}
	s.handle("GET /v1/models", s.list(chat{}, models(now)))
	s.handle("GET /v1beta/openai/models", s.list(chat{}, models(now)))
	s.handle("GET /v1beta/models", s.list(gemini{}, geminiModels()))
	s.mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.Stats()) })
	s.mux.HandleFunc("POST /stats/reset", func(w http.ResponseWriter, _ *http.Request) {
		s.ledger.reset(time.Now())
		w.WriteHeader(http.StatusNoContent)
	})
	s.handle("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusNotFound, object{"error": object{"type": "not_found_error", "message": "this stub serves no such path"}})
	})
	return s
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Stats is what was asked of the server.
func (s *Server) Stats() Stats { return s.ledger.snapshot() }

// Serve serves on a listener until ctx ends, which is no error. Calls that are
// still open then are cut.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	web := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handle serves a route, and counts what is answered on it.
func (s *Server) handle(route string, h http.HandlerFunc) {
	s.mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
		noted := &statusWriter{ResponseWriter: w, status: statusGone}
		defer func() { s.ledger.request(route, noted.status) }() // deferred, since a cut answer panics
		h(noted, r)
	})
}

// lets says whether a key, known by its fingerprint, is let in.
func (s *Server) lets(key string) bool { return len(s.keys) == 0 || s.keys[key] }

// A statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// list answers with a list of models.
func (s *Server) list(format wire, list object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !s.lets(fingerprint(keyOf(r))) {
			f := failureOf(llm.Auth)
			reply(w, f.status, format.failure(f))
			return
		}
		reply(w, http.StatusOK, list)
	}
}

// modelName stands for all models: any name is answered.
const modelName = "stub"

// models is the list for all clients that ask under /v1: OpenAI's and
// Anthropic's read data, Google's read models.
func models(since time.Time) object {
	list := geminiModels()
	maps.Copy(list, object{
		"object": "list", "has_more": false, "first_id": modelName, "last_id": modelName,
		"data": []object{{
			"id": modelName, "object": "model", "type": "model", "display_name": modelName, "owned_by": "evalfarm",
			"created": since.Unix(), "created_at": since.UTC().Format(time.RFC3339),
		}},
	})
	return list
}

func geminiModels() object {
	return object{"models": []object{{
		"name": "models/" + modelName, "displayName": modelName,
		"supportedGenerationMethods": []string{"generateContent", "streamGenerateContent"},
	}}}
}

// reply sends a document.
func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(eval.Encode(v)) // a client that went away
}
