// Package httpapi serves a farm's HTTP API: so far what a worker needs, the
// identity of the farm and its blobs.
package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Options of the API.
type Options struct {
	// Farm is what workers learn of this farm.
	Farm httpblob.Farm
	// Token that every request must show. It must not be empty.
	Token  string
	Blobs  blob.Store
	Logger *slog.Logger
}

// maxBlob bounds an uploaded blob, compressed.
const maxBlob = 64 << 20

// New makes the handler of all routes.
func New(o Options) http.Handler {
	if o.Token == "" {
		panic("httpapi: a farm without a token")
	}
	a := &api{o}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+httpblob.FarmPath, a.identity)
	mux.HandleFunc("GET "+httpblob.BlobPath+"{sha256}", a.getBlob)
	mux.HandleFunc("PUT "+httpblob.BlobPath+"{sha256}", a.putBlob)
	return a.authorize(mux)
}

// api has a method for each route.
type api struct{ Options }

// authorize wants the token on every route. Hashes are compared, so that the
// time it takes tells nothing of the token's length.
func (a *api) authorize(next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(a.Token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(token))
		if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			problem(w, http.StatusUnauthorized, "this farm wants its token as Authorization: Bearer")
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (a *api) identity(w http.ResponseWriter, _ *http.Request) {
	reply(w, a.Farm)
}

func (a *api) getBlob(w http.ResponseWriter, r *http.Request) {
	b, err := a.Blobs.GetBlob(r.Context(), r.PathValue("sha256"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		problem(w, http.StatusNotFound, "no blob has this sha256")
	case err != nil:
		a.Logger.ErrorContext(r.Context(), "read blob", "error", err)
		problem(w, http.StatusInternalServerError, "the store could not be read")
	default:
		w.Header().Set("Content-Type", "application/zstd")
		_, _ = w.Write(b.Zstd)
	}
}

func (a *api) putBlob(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBlob))
	if err != nil {
		problem(w, http.StatusRequestEntityTooLarge, "the blob is larger than 64 MiB, or the connection broke")
		return
	}
	b := eval.Blob{SHA256: r.PathValue("sha256"), Zstd: body}
	if _, err := blob.Unpack(b); err != nil {
		problem(w, http.StatusUnprocessableEntity, "the content does not have this sha256")
		return
	}
	if err := a.Blobs.PutBlobs(r.Context(), b); err != nil {
		a.Logger.ErrorContext(r.Context(), "store blob", "error", err)
		problem(w, http.StatusInternalServerError, "the store could not be written")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// problem answers with RFC 9457 problem details.
func problem(w http.ResponseWriter, status int, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"title": http.StatusText(status), "status": status, "detail": detail})
}
