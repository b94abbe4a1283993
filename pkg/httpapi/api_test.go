package httpapi_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/blobtest"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

const token = "the farm's token"

// serve serves the API over a real store.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	srv := httptest.NewServer(httpapi.New(httpapi.Options{
		Farm:  httpblob.Farm{ID: s.ID(), Version: "1.2.3", Lease: 2 * time.Second},
		Token: token, Store: s, Logger: slog.New(slog.DiscardHandler),
	}))
	t.Cleanup(srv.Close)
	return srv
}

// Whatever workers put and get at the API passes what every blob store passes.
func TestBlobStore(t *testing.T) {
	srv := serve(t)
	blobtest.Exercise(t, func(*testing.T) blob.Store { return httpblob.New(srv.URL, token, srv.Client()) })
}

func TestBlobsTravel(t *testing.T) {
	srv := serve(t)
	c := httpblob.New(srv.URL+"/", token, srv.Client())
	b := blob.Pack([]byte(`{"a":1}`))
	for range 2 { // putting twice is harmless
		if err := c.PutBlobs(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.GetBlob(t.Context(), b.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := blob.Unpack(got); err != nil || string(raw) != `{"a":1}` {
		t.Errorf("got %q (%v), want what was put", raw, err)
	}
	if _, err := c.GetBlob(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a blob that is not there: got %v, want ErrNotFound", err)
	}
	farm, err := c.Farm(t.Context())
	if err != nil || farm.Version != "1.2.3" || farm.Lease != 2*time.Second || farm.ID == "" {
		t.Errorf("farm %+v (%v), want its id, version and lease", farm, err)
	}
}

func TestRefusals(t *testing.T) {
	srv := serve(t)
	good := blob.Pack([]byte("x"))
	tests := []struct {
		name, method, path, auth string
		body                     []byte
		status                   int
	}{
		{"no token", http.MethodGet, httpblob.FarmPath, "", nil, 401},
		{"another token", http.MethodGet, httpblob.FarmPath, "Bearer nonsense", nil, 401},
		{"the token without its scheme, in a query", http.MethodGet, httpblob.FarmPath + "?token=" + token, "", nil, 401},
		{"no token for a blob", http.MethodPut, httpblob.BlobPath + good.SHA256, "", good.Zstd, 401},
		{"content of another hash", http.MethodPut, httpblob.BlobPath + strings.Repeat("0", 64), "Bearer " + token, good.Zstd, 422},
		{"content that is no zstd", http.MethodPut, httpblob.BlobPath + good.SHA256, "Bearer " + token, []byte("junk"), 422},
		{"a method that is none", http.MethodDelete, httpblob.BlobPath + good.SHA256, "Bearer " + token, nil, 405},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, srv.URL+strings.ReplaceAll(tt.path, " ", "%20"), bytes.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", tt.auth)
			resp, err := srv.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.status {
				t.Errorf("status %d, want %d: %s", resp.StatusCode, tt.status, body)
			}
		})
	}
}

var _ blob.Store = (*httpblob.Client)(nil)

func TestTokenIsRequired(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a farm without a token was served")
		}
	}()
	httpapi.New(httpapi.Options{})
}
