package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Scope names who makes the spans and metrics.
const Scope = "github.com/evalfarm/evalfarm"

// A Tracer begins what has no span above it in this process. Nil traces nothing.
type Tracer struct {
	tracer  trace.Tracer
	settle  func(trace.SpanContext, Settlement)
	head    func(trace.TraceID) bool
	content bool
	slow    time.Duration
}

// Options of a tracer.
type Options struct {
	// Settle is told of a delivery's span before it ends.
	Settle func(trace.SpanContext, Settlement)
	// Head says whether a trace is sampled from its beginning.
	Head func(trace.TraceID) bool
	// Content shows what models, tools and servers say.
	Content bool
	// Slow is from when on the spans of an attempt are kept though they were not
	// sampled. Zero keeps none for that.
	Slow time.Duration
}

// A Settlement says what is to become of the spans below one that is about to end.
type Settlement struct {
	// Keep them although they were not sampled: the trial failed, or was slow.
	Keep bool
	// Redact takes secrets out of every text in them. Nil takes out nothing.
	Redact func(string) string
}

// NewTracer makes one of a provider of the SDK.
func NewTracer(p trace.TracerProvider, o Options) *Tracer {
	return &Tracer{
		tracer: p.Tracer(Scope, trace.WithSchemaURL(SchemaURL)),
		settle: o.Settle, head: o.Head, content: o.Content, slow: o.Slow,
	}
}

// On says whether anything is traced.
func (t *Tracer) On() bool { return t != nil }

// Sampled says whether a trial's trace is sampled from its beginning: what the
// workers are told. Who does not trace leaves it to them.
func (t *Tracer) Sampled(id trace.TraceID) bool { return t == nil || t.head(id) }

type identityKey struct{}

// An Identity is that of a span which is computed, not drawn.
type Identity struct {
	Trace trace.TraceID
	Span  trace.SpanID
	// Keep it although its trace is not sampled.
	Keep bool
}

// IdentityOf is what the next span of a context has to be called, if that is
// computed.
func IdentityOf(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}

// tell makes a span of which everything is known, under ids that are computed.
func (t *Tracer) tell(parent trace.SpanContext, id Identity, name string, kind trace.SpanKind, o []trace.SpanStartOption, attrs ...attribute.KeyValue) trace.Span {
	ctx := context.WithValue(context.Background(), identityKey{}, id)
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	}
	_, span := t.tracer.Start(ctx, name, append(o, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))...)
	return span
}
