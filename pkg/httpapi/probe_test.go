package httpapi_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/httpapi"
)

func TestProbe(t *testing.T) {
	fails := func(context.Context) error { return errors.New("the spool is full") }
	fine := func(context.Context) error { return nil }
	for name, test := range map[string]struct {
		probe  httpapi.Probe
		method string
		path   string
		status int
		says   string
	}{
		"nothing is looked at":  {path: "/healthz", status: 200, says: "ok\n"},
		"live":                  {probe: httpapi.Probe{Live: fine, Ready: fails}, path: "/healthz", status: 200, says: "ok\n"},
		"not live":              {probe: httpapi.Probe{Live: fails}, path: "/healthz", status: 503, says: "the spool is full\n"},
		"ready":                 {probe: httpapi.Probe{Live: fails, Ready: fine}, path: "/readyz", status: 200, says: "ok\n"},
		"not ready":             {probe: httpapi.Probe{Ready: fails}, path: "/readyz", status: 503, says: "the spool is full\n"},
		"the rest is another's": {path: "/elsewhere", status: 418},
		"nothing is written":    {method: http.MethodPost, path: "/healthz", status: 418},
	} {
		t.Run(name, func(t *testing.T) {
			h := test.probe.Over(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
			method := test.method
			if method == "" {
				method = http.MethodGet
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, test.path, nil))
			body, _ := io.ReadAll(w.Body)
			if w.Code != test.status || !strings.Contains(string(body), test.says) {
				t.Errorf("got %d %s, want %d %s", w.Code, body, test.status, test.says)
			}
		})
	}
}
