// Package httpapi is a farm's HTTP API and its client: what a worker needs, which is
// the identity of the farm and its blobs, and what people and programs need that have
// neither its store nor its Redis: runs.
//
// openapi.yaml describes it. Whatever goes wrong is answered with problem details
// (RFC 9457), which the client turns back into the error that it was.
package httpapi

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Spec is the description of the API, in OpenAPI 3.0.3.
//
//go:embed openapi.yaml
var Spec []byte

// Store is what the API reads and writes of the farm's store.
type Store interface {
	store.Blobs
	store.Runs
	store.Trials
	store.Results
	store.Leases
	store.Notices
}

// Options of the API.
type Options struct {
	// Farm is what workers learn of this farm.
	Farm httpblob.Farm
	// Token that may do everything. It must not be empty.
	Token string
	// Tokens are further ones, which may do less.
	Tokens []Token
	Store  Store
	// Create makes the run of a suite that was sent. Nil refuses all.
	Create func(ctx context.Context, d Delivery) (eval.Run, error)
	// DayMicroUSD bounds what all runs of a day may spend, for those that are tried
	// again. Zero is no bound.
	DayMicroUSD int64
	// Traces is where people see the traces of trials.
	Traces eval.TraceURL
	Logger *slog.Logger
}

// maxBlob bounds an uploaded blob, compressed.
const maxBlob = 64 << 20

// RunsPath is the path of the runs.
const RunsPath = "/api/v1/runs"

// New makes the handler of all routes.
func New(o Options) http.Handler {
	if o.Token == "" {
		panic("httpapi: a farm without a token")
	}
	a := &api{Options: o, creating: make(chan struct{}, 1)}
	mux := http.NewServeMux()
	handle := func(pattern string, h http.HandlerFunc, scopes ...Scope) {
		mux.HandleFunc(pattern, a.allow(h, scopes))
	}
	handle("GET "+httpblob.FarmPath, a.identity, ScopeWorker, ScopeRead, ScopeRun)
	handle("GET "+httpblob.BlobPath+"{sha256}", a.getBlob, ScopeWorker, ScopeRead, ScopeRun)
	handle("PUT "+httpblob.BlobPath+"{sha256}", a.putBlob, ScopeWorker, ScopeRun)
	handle("GET "+RunsPath, a.listRuns, ScopeRead, ScopeRun)
	handle("POST "+RunsPath, a.createRun, ScopeRun)
	handle("GET "+RunsPath+"/{id}", a.getRun, ScopeRead, ScopeRun)
	handle("GET "+RunsPath+"/{id}/gradings", a.gradings, ScopeRead, ScopeRun)
	handle("GET "+RunsPath+"/{id}/summary", a.summary, ScopeRead, ScopeRun)
	handle("GET "+RunsPath+"/{id}/trials", a.trials, ScopeRead, ScopeRun)
	handle("GET "+RunsPath+"/{id}/trials/{ordinal}/attempts", a.attempts, ScopeRead, ScopeRun)
	handle("GET "+RunsPath+"/{id}/events", a.events, ScopeRead, ScopeRun)
	// What is asked of a run stands behind a colon: /api/v1/runs/{id}:cancel.
	handle("POST "+RunsPath+"/{asked}", a.ask, ScopeRun)
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(Spec)
	})
	Probe{Ready: a.ready}.on(mux)
	return a.crossOrigin(unrouted(mux))
}

// api has a method for each route.
type api struct {
	Options
	// creating is full while a run is being created: suites are loaded one at a time.
	creating chan struct{}
	// unpriced remembers by header what [scheduler.Unpriced] says of a run.
	unpriced sync.Map
}

// crossOrigin refuses what a page of another origin makes a browser send.
func (a *api) crossOrigin(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		Problem{Status: http.StatusForbidden, Detail: "a page of another origin asked for this"}.write(w)
	}))
	return protection.Handler(next)
}

// unrouted answers what no route is for as everything else that goes wrong.
func unrouted(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "\x00") || strings.Contains(r.URL.RawQuery, "%00") { // no database looks for it
			Problem{Status: http.StatusBadRequest, Detail: "the path or the query has the character 0"}.write(w)
			return
		}
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		got := &status{header: http.Header{}}
		h.ServeHTTP(got, r)
		if got.code != http.StatusMethodNotAllowed {
			Problem{Status: http.StatusNotFound, Detail: "the API has no such path; /openapi.yaml says what there is"}.write(w)
			return
		}
		w.Header().Set("Allow", got.header.Get("Allow"))
		Problem{Status: got.code, Detail: "this path wants " + got.header.Get("Allow")}.write(w)
	})
}

// A status takes the status and the header of an answer, and drops the rest.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header         { return s.header }
func (s *status) Write(b []byte) (int, error) { return len(b), nil }
func (s *status) WriteHeader(code int)        { s.code = code }

func (a *api) identity(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, a.Farm)
}

// ready is nil if the store can be read. Whoever asks shows no token, and learns no
// more.
func (a *api) ready(ctx context.Context) error {
	if _, err := a.Store.ListRuns(ctx, store.RunFilter{Limit: 1}); err != nil {
		a.Logger.WarnContext(ctx, "not ready", "error", err)
		return errors.New("the store cannot be read")
	}
	return nil
}

func (a *api) getBlob(w http.ResponseWriter, r *http.Request) {
	b, err := a.Store.GetBlob(r.Context(), r.PathValue("sha256"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		Problem{Status: http.StatusNotFound, Detail: "no blob has this sha256"}.write(w)
	case err != nil:
		a.fail(w, r, err)
	default:
		w.Header().Set("Content-Type", "application/zstd")
		_, _ = w.Write(b.Zstd)
	}
}

func (a *api) putBlob(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBlob))
	if err != nil {
		Problem{Status: http.StatusRequestEntityTooLarge, Detail: "the blob is larger than 64 MiB, or the connection broke"}.write(w)
		return
	}
	b := eval.Blob{SHA256: r.PathValue("sha256"), Zstd: body}
	if err := blob.Check(b); err != nil {
		Problem{Status: http.StatusUnprocessableEntity, Detail: "the content does not have this sha256"}.write(w)
		return
	}
	if err := a.Store.PutBlobs(r.Context(), b); err != nil {
		a.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// fail answers with what an error is. One of ours is logged and not told.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= http.StatusInternalServerError {
		a.Logger.ErrorContext(r.Context(), "answer a request", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	p.write(w)
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v)
}

// accepts says whether a request prefers a media type that it names.
func accepts(r *http.Request, media string) bool {
	return strings.Contains(r.Header.Get("Accept"), media)
}
