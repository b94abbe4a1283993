// Package otlptest takes in what a farm tells of itself over OTLP: a receiver in the
// test's process, and the OpenTelemetry Collector before it.
package otlptest

import (
	"compress/gzip"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// A Receiver takes in OTLP over HTTP, as a backend does, and keeps it.
type Receiver struct {
	tb     testing.TB
	server *httptest.Server

	mu    sync.Mutex
	spans []Span
	raw   strings.Builder
	// mortal is one that spans kill.
	mortal bool
}

// A Span is one that was received, and the service.name of who sent it.
type Span struct {
	telemetrytest.Span
	Service string
}

// Receive starts a receiver that ends with the test. What it cannot read fails the
// test.
func Receive(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{tb: tb}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", r.traces)
	mux.HandleFunc("POST /v1/metrics", r.metrics)
	r.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !r.dead() {
			mux.ServeHTTP(w, req)
		}
		if r.dead() {
			panic(http.ErrAbortHandler) // and no answer
		}
	}))
	tb.Cleanup(r.server.Close)
	return r
}

// URL is the endpoint, before /v1/traces and /v1/metrics.
func (r *Receiver) URL() string { return r.server.URL }

// Mortal lets the receiver die of the first spans that come: they are its last, and
// it breaks every connection from then on.
func (r *Receiver) Mortal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mortal = true
}

func (r *Receiver) dead() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mortal && len(r.spans) > 0
}

// Raw is all that was received, as it was on the wire but for its compression: texts
// are in it as they are.
func (r *Receiver) Raw() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.raw.String()
}

// Spans in the order in which they began.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := slices.Clone(r.spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return spans
}

func (r *Receiver) metrics(w http.ResponseWriter, req *http.Request) {
	r.take(w, req, new(metrics.ExportMetricsServiceRequest), new(metrics.ExportMetricsServiceResponse))
}

func (r *Receiver) traces(w http.ResponseWriter, req *http.Request) {
	in := new(traces.ExportTraceServiceRequest)
	r.take(w, req, in, new(traces.ExportTraceServiceResponse))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, from := range in.GetResourceSpans() {
		service, _ := plain(from.GetResource().GetAttributes())["service.name"].(string)
		for _, scope := range from.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans = append(r.spans, Span{spanOf(s), service})
			}
		}
	}
}

// take reads a request, keeps its bytes and answers it.
func (r *Receiver) take(w http.ResponseWriter, req *http.Request, in, out proto.Message) {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(req.Body)
		if err != nil {
			r.tb.Errorf("unzip what came to %s: %v", req.URL.Path, err)
			return
		}
		body = unzipped
	}
	content, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(content, in)
	}
	if err != nil {
		r.tb.Errorf("read what came to %s: %v", req.URL.Path, err)
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.raw.Write(content)
	r.mu.Unlock()
	answer, err := proto.Marshal(out)
	if err != nil {
		r.tb.Errorf("answer: %v", err)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(answer) // who asked may be gone
}

func spanOf(s *trace.Span) telemetrytest.Span {
	out := telemetrytest.Span{
		Name: s.GetName(), Kind: strings.ToLower(strings.TrimPrefix(s.GetKind().String(), "SPAN_KIND_")),
		TraceID: hex.EncodeToString(s.GetTraceId()), SpanID: hex.EncodeToString(s.GetSpanId()), ParentID: hex.EncodeToString(s.GetParentSpanId()),
		Start: at(s.GetStartTimeUnixNano()), End: at(s.GetEndTimeUnixNano()), Attrs: plain(s.GetAttributes()),
		Status: map[trace.Status_StatusCode]string{
			trace.Status_STATUS_CODE_UNSET: "Unset", trace.Status_STATUS_CODE_OK: "Ok", trace.Status_STATUS_CODE_ERROR: "Error",
		}[s.GetStatus().GetCode()],
		Message: s.GetStatus().GetMessage(),
	}
	for _, e := range s.GetEvents() {
		out.Events = append(out.Events, telemetrytest.Event{Name: e.GetName(), Time: at(e.GetTimeUnixNano()), Attrs: plain(e.GetAttributes())})
	}
	for _, l := range s.GetLinks() {
		out.Links = append(out.Links, telemetrytest.Link{TraceID: hex.EncodeToString(l.GetTraceId()), SpanID: hex.EncodeToString(l.GetSpanId()), Attrs: plain(l.GetAttributes())})
	}
	return out
}

func at(unixNano uint64) time.Time { return time.Unix(0, int64(unixNano)) }

func plain(attrs []*common.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range attrs {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[a.GetKey()] = v.StringValue
		case *common.AnyValue_BoolValue:
			out[a.GetKey()] = v.BoolValue
		case *common.AnyValue_IntValue:
			out[a.GetKey()] = v.IntValue
		case *common.AnyValue_DoubleValue:
			out[a.GetKey()] = v.DoubleValue
		case *common.AnyValue_ArrayValue:
			var texts []string
			for _, element := range v.ArrayValue.GetValues() {
				texts = append(texts, element.GetStringValue())
			}
			out[a.GetKey()] = texts
		}
	}
	return out
}
