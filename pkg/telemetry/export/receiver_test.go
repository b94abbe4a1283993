package export_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // what clients compress with
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/evalfarm/evalfarm/internal/freeport"
)

// A receiver takes traces over OTLP, as a collector does.
type receiver struct {
	collector.UnimplementedTraceServiceServer

	mu      sync.Mutex
	got     []*tracepb.ResourceSpans
	headers map[string]string // the first of each name
	fail    error             // what gRPC answers
	status  int               // what HTTP answers; zero is 200
}

// spans that came, and the name of the service that they are from.
func (r *receiver) spans() (service string, out []*tracepb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range r.got {
		for _, a := range of.Resource.Attributes {
			if a.Key == "service.name" {
				service = a.Value.GetStringValue()
			}
		}
		for _, scope := range of.ScopeSpans {
			out = append(out, scope.Spans...)
		}
	}
	return service, out
}

// Export implements the service over gRPC.
func (r *receiver) Export(ctx context.Context, in *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return nil, r.fail
	}
	r.headers = map[string]string{}
	md, _ := metadata.FromIncomingContext(ctx)
	for k, v := range md {
		r.headers[k] = v[0]
	}
	r.got = append(r.got, in.ResourceSpans...)
	return &collector.ExportTraceServiceResponse{}, nil
}

// ServeHTTP implements the service over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	body := io.Reader(req.Body)
	var in collector.ExportTraceServiceRequest
	var err error
	if req.Header.Get("Content-Encoding") == "gzip" {
		body, err = gzip.NewReader(req.Body)
	}
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(body); err == nil {
			err = proto.Unmarshal(text, &in)
		}
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case r.status != 0:
		w.WriteHeader(r.status)
		return
	}
	r.headers = map[string]string{":path": req.URL.Path}
	for k := range req.Header {
		r.headers[http.CanonicalHeaderKey(k)] = req.Header.Get(k)
	}
	r.got = append(r.got, in.ResourceSpans...)
}

// overHTTP serves a receiver, and returns the URL.
func (r *receiver) overHTTP(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return s.URL
}

// overGRPC serves a receiver, and returns the URL.
func (r *receiver) overGRPC(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	go func() { _ = s.Serve(l) }() // ends with the test
	t.Cleanup(s.Stop)
	return "http://" + l.Addr().String()
}

// refusing is the URL of an address that nobody listens at.
func refusing(t *testing.T) string {
	t.Helper()
	port, err := freeport.Hold(t.Cleanup)
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + port
}
