package httpapi_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/evalfarm/evalfarm/pkg/httpapi"
)

// described is the API as its description has it.
func described(t *testing.T) (*openapi3.T, routers.Router) {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(httpapi.Spec)
	if err == nil {
		err = doc.Validate(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	for media := range map[string]bool{"application/zstd": true, "application/yaml": true, "text/event-stream": true} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	return doc, router
}

// A witness is a transport that holds every answer against the description of the
// API, and every request that was answered well.
type witness struct {
	t      *testing.T
	next   http.RoundTripper
	router routers.Router

	mu   sync.Mutex
	seen []string // operations that were answered well
}

func (w *witness) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent []byte
	if req.Body != nil {
		sent, _ = io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(sent))
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil || resp.Header.Get("Content-Type") == "text/event-stream" {
		if err == nil {
			w.note("listEvents")
		}
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return resp, err
	}
	route, params, err := w.router.FindRoute(req)
	if err != nil {
		if resp.StatusCode < 400 {
			w.t.Errorf("%s %s is not described: %v", req.Method, req.URL.Path, err)
		}
		return resp, nil
	}
	in := &openapi3filter.RequestValidationInput{
		Request: req, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true},
	}
	if resp.StatusCode < 300 {
		req.Body = io.NopCloser(bytes.NewReader(sent))
		if err := openapi3filter.ValidateRequest(req.Context(), in); err != nil {
			w.t.Errorf("%s %s was answered well, and is not as described: %v", req.Method, req.URL.Path, err)
		}
		w.note(route.Operation.OperationID)
	}
	err = openapi3filter.ValidateResponse(req.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)), Options: in.Options,
	})
	if err != nil {
		w.t.Errorf("%s %s: the answer %d is not as described: %v\n%.500s", req.Method, req.URL.Path, resp.StatusCode, err, body)
	}
	return resp, nil
}

func (w *witness) note(operation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, operation)
}

// unseen are the operations that no request has been answered well for.
func (w *witness) unseen(doc *openapi3.T) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, path := range doc.Paths.InMatchingOrder() {
		for method, op := range doc.Paths.Value(path).Operations() {
			if !slices.Contains(w.seen, op.OperationID) {
				out = append(out, strings.ToUpper(method)+" "+path)
			}
		}
	}
	return out
}
