// Package telemetrytest shows tests what was traced, as plain values.
package telemetrytest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// A Span as a backend gets it. Ids are in hex.
type Span struct {
	Name string
	// Kind is internal, server, client, producer or consumer.
	Kind                      string
	TraceID, SpanID, ParentID string
	Start, End                time.Time
	// Attrs have values of the types string, int64, float64, bool and []string.
	Attrs  map[string]any
	Events []Event
	Links  []Link
	// Status is Unset, Error or Ok; Message is said with Error.
	Status, Message string
}

// An Event of a span.
type Event struct {
	Name  string
	Time  time.Time
	Attrs map[string]any
}

// A Link of a span to another.
type Link struct {
	TraceID, SpanID string
	Attrs           map[string]any
}

// An Option of a tracer.
type Option func(*export.TracingOptions)

// Content shows what models, tools and servers say.
func Content() Option { return func(o *export.TracingOptions) { o.Content = true } }

// Slow keeps the spans of attempts that take as long though they are not sampled.
func Slow(d time.Duration) Option { return func(o *export.TracingOptions) { o.Slow = d } }

// Share samples that share of the traces. Without this option all are.
func Share(share float64) Option {
	return func(o *export.TracingOptions) {
		o.Sampler = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(share))
	}
}

// A Recorder has what was handed on to it.
type Recorder struct {
	tb  testing.TB
	got *tracetest.InMemoryExporter
}

// New makes a tracer, which samples all that no dispatch says is not to be, and the
// recorder of its spans.
func New(tb testing.TB, options ...Option) (*telemetry.Tracer, *Recorder) {
	tb.Helper()
	r := &Recorder{tb, tracetest.NewInMemoryExporter()}
	var o export.TracingOptions
	for _, set := range options {
		set(&o)
	}
	t, _ := export.NewTracing(sdktrace.NewSimpleSpanProcessor(r.got), o)
	return t, r
}

// Deliver does work below the span of a delivery, which ends with it: only then has
// a recorder what was below.
func Deliver(ctx context.Context, t *telemetry.Tracer, work func(context.Context)) {
	d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: 1, N: 1}, Lane: telemetry.Trials, UID: "u", Worker: "w"}
	ctx, span := t.Process(telemetry.Arrive(ctx, d.Traceparent(true)), d)
	work(ctx)
	t.Returned(span, "test", nil)
}

// Spans in the order in which they began.
func (r *Recorder) Spans() []Span {
	var out []Span
	for _, s := range r.got.GetSpans() {
		span := Span{
			Name: s.Name, Kind: s.SpanKind.String(), TraceID: s.SpanContext.TraceID().String(), SpanID: s.SpanContext.SpanID().String(),
			Start: s.StartTime, End: s.EndTime, Attrs: plain(s.Attributes), Status: s.Status.Code.String(), Message: s.Status.Description,
		}
		if s.Parent.HasSpanID() {
			span.ParentID = s.Parent.SpanID().String()
		}
		for _, e := range s.Events {
			span.Events = append(span.Events, Event{e.Name, e.Time, plain(e.Attributes)})
		}
		for _, l := range s.Links {
			span.Links = append(span.Links, Link{l.SpanContext.TraceID().String(), l.SpanContext.SpanID().String(), plain(l.Attributes)})
		}
		out = append(out, span)
	}
	slices.SortStableFunc(out, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return out
}

// Named are the spans of a name.
func (r *Recorder) Named(name string) []Span {
	return slices.DeleteFunc(r.Spans(), func(s Span) bool { return s.Name != name })
}

// One is the only span of a name. None or several end the test.
func (r *Recorder) One(name string) Span {
	r.tb.Helper()
	found := r.Named(name)
	if len(found) != 1 {
		r.tb.Fatalf("%d spans %q, want 1, of:\n%s", len(found), name, r.Tree())
	}
	return found[0]
}

// Tree is the names of all spans, a line each, in the order in which they began, each
// indented by two spaces below its parent. What has no parent here is at the top.
func (r *Recorder) Tree() string {
	spans := r.Spans()
	var b strings.Builder
	var below func(depth int, chosen func(Span) bool)
	below = func(depth int, chosen func(Span) bool) {
		for _, s := range spans {
			if chosen(s) {
				b.WriteString(strings.Repeat("  ", depth) + s.Name + "\n")
				below(depth+1, func(c Span) bool { return c.ParentID == s.SpanID })
			}
		}
	}
	here := map[string]bool{}
	for _, s := range spans {
		here[s.SpanID] = true
	}
	below(0, func(s Span) bool { return !here[s.ParentID] })
	return b.String()
}

// Text is everything that any span says, for tests that look for what must not be
// there.
func (r *Recorder) Text() string {
	var b strings.Builder
	say := func(attrs []attribute.KeyValue) {
		for _, a := range attrs {
			b.WriteString(string(a.Key) + "=" + a.Value.String() + "\n")
		}
	}
	for _, s := range r.got.GetSpans() {
		b.WriteString(s.Name + "\n" + s.Status.Description + "\n")
		say(s.Attributes)
		say(s.Resource.Attributes())
		for _, e := range s.Events {
			b.WriteString(e.Name + "\n")
			say(e.Attributes)
		}
		for _, l := range s.Links {
			b.WriteString(l.SpanContext.TraceState().String() + "\n")
			say(l.Attributes)
		}
	}
	return b.String()
}

func plain(attrs []attribute.KeyValue) map[string]any {
	out := map[string]any{}
	for _, a := range attrs {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}
