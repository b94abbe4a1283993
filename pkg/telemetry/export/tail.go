package export

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// A tail keeps the spans of a delivery until that ends. Then it is known whether they
// are worth keeping though nobody sampled them, and which secrets the attempt had:
// those are taken out before anything is handed on. A span that has no delivery
// above it in this process is handed on at once.
type tail struct {
	next sdktrace.SpanProcessor
	// most spans that are kept of a delivery; what comes after them is dropped and
	// counted.
	most int

	mu   sync.Mutex
	open map[trace.SpanID]*delivery // of deliveries under way, by the id of each span below
}

// A delivery is one whose end is waited for.
type delivery struct {
	root    trace.SpanID
	spans   []sdktrace.ReadOnlySpan
	members []trace.SpanID
	dropped int
	settled telemetry.Settlement
}

func newTail(next sdktrace.SpanProcessor) *tail {
	return &tail{next: next, most: 2000, open: map[trace.SpanID]*delivery{}}
}

// settle is told what is to become of a delivery that is about to end.
func (t *tail) settle(sc trace.SpanContext, s telemetry.Settlement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.open[sc.SpanID()]; d != nil {
		d.settled = s
	}
}

// OnStart implements [sdktrace.SpanProcessor].
func (t *tail) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := s.SpanContext().SpanID()
	d := t.open[s.Parent().SpanID()]
	switch {
	case s.SpanKind() == trace.SpanKindConsumer:
		d = &delivery{root: id}
	case d == nil:
		return
	}
	d.members = append(d.members, id)
	t.open[id] = d
}

// OnEnd implements [sdktrace.SpanProcessor].
func (t *tail) OnEnd(s sdktrace.ReadOnlySpan) {
	t.mu.Lock()
	id := s.SpanContext().SpanID()
	d := t.open[id]
	if d == nil {
		t.mu.Unlock()
		t.next.OnEnd(s)
		return
	}
	if len(d.spans) < t.most || id == d.root {
		d.spans = append(d.spans, s)
	} else {
		d.dropped++
	}
	if id != d.root {
		t.mu.Unlock()
		return
	}
	// What is still open below ends too late: nobody would take the secrets out.
	for _, m := range d.members {
		delete(t.open, m)
	}
	t.mu.Unlock()
	if !s.SpanContext().IsSampled() && !d.settled.Keep {
		return
	}
	for _, s := range d.spans {
		t.next.OnEnd(shown(s, d))
	}
}

// shown is a span as others may see it.
func shown(s sdktrace.ReadOnlySpan, d *delivery) sdktrace.ReadOnlySpan {
	out := told{ReadOnlySpan: s, sc: s.SpanContext().WithTraceFlags(s.SpanContext().TraceFlags().WithSampled(true)), redact: d.settled.Redact}
	if s.SpanContext().SpanID() == d.root && d.dropped > 0 {
		out.more = []attribute.KeyValue{telemetry.SpansDropped.Int(d.dropped)}
	}
	return out
}

// Shutdown implements [sdktrace.SpanProcessor].
func (t *tail) Shutdown(ctx context.Context) error { return t.next.Shutdown(ctx) }

// ForceFlush implements [sdktrace.SpanProcessor].
func (t *tail) ForceFlush(ctx context.Context) error { return t.next.ForceFlush(ctx) }
