package export_test

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// quoting is what refuses a request with all of its headers, as proxies do.
func quoting(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = r.Header.Write(w)
		if _, password, ok := r.BasicAuth(); ok {
			_, _ = io.WriteString(w, "no such password: "+password)
		}
		_, _ = io.WriteString(w, "\xff"+strings.Repeat("z", 1<<20))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestErrorsHaveNoCredentials(t *testing.T) {
	overGRPC := (&receiver{fail: status.Error(codes.Unauthenticated, "who is tok-4711? "+strings.Repeat("z", 1<<10))}).overGRPC(t)
	for name, tt := range map[string]struct {
		env     []string
		secrets []string
	}{
		"a token": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + quoting(t), "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20tok-4711"}, []string{"tok-4711"}},
		"a key":   {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + quoting(t), "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=key-4711"}, []string{"key-4711"}},
		"a password": {
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + quoting(t), "OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20" + base64.StdEncoding.EncodeToString([]byte("me:pass-4711"))},
			[]string{"pass-4711", base64.StdEncoding.EncodeToString([]byte("me:pass-4711"))},
		},
		"over gRPC": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + overGRPC, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20tok-4711"}, []string{"tok-4711"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, err := export.Open(t.Context(), export.Options{Environ: tt.env, Service: "s", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			work(t, tel.Tracer(), 1)
			closed := tel.Close(t.Context())
			_, asked := export.Ask(t.Context(), tt.env)
			for what, err := range map[string]error{"the end": closed, "to ask": asked} {
				if err == nil {
					t.Errorf("%s: no error", what)
					continue
				}
				for _, secret := range tt.secrets {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("%s: %q is in %v", what, secret, err)
					}
				}
				if len(err.Error()) > 2000 {
					t.Errorf("%s: the error has %d bytes", what, len(err.Error()))
				}
			}
			if closed != nil && (!strings.Contains(closed.Error(), "1 spans are lost") || !strings.Contains(closed.Error(), "last metrics")) {
				t.Errorf("got %v, want to hear of spans and metrics", closed)
			}
		})
	}
}

// Whoever is named in an answer gets neither what is told nor the credentials.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer other.Close()
	first := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer first.Close()
	tel, err := export.Open(t.Context(), export.Options{
		Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + first.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-api-key=key-4711"},
		Service: "s", Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	work(t, tel.Tracer(), 1)
	if err := tel.Close(t.Context()); err == nil {
		t.Error("what was not taken is not told of")
	}
}
