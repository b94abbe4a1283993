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
// those are taken out before anything is handed on. A span that never had a delivery
// above it in this process is handed on at once.
//
// What nobody could take the secrets out of is dropped: the spans of a delivery that
// ends without having been settled, and those that end after their delivery.
type tail struct {
	next   sdktrace.SpanProcessor
	bounds bounds

	mu sync.Mutex
	// open spans of deliveries under way, and how many bytes are kept of all.
	open  map[trace.SpanID]*delivery
	bytes int
}

// bounds of what is kept: spans of a delivery, their bytes, and the bytes of all
// deliveries. What comes after them is dropped and counted. The span of the delivery
// itself is kept whatever its size. The usual ones hold a trial of hundreds of turns that
// shows its content.
type bounds struct{ spans, bytes, total int }

// A delivery is one whose end is waited for.
type delivery struct {
	root    trace.SpanID
	open    map[trace.SpanID]struct{}
	spans   []sdktrace.ReadOnlySpan
	bytes   int
	dropped int
	settled *telemetry.Settlement
}

func newTail(next sdktrace.SpanProcessor) *tail {
	return &tail{next: next, bounds: bounds{spans: 2000, bytes: 16 << 20, total: 64 << 20}, open: map[trace.SpanID]*delivery{}}
}

// settle is told what is to become of a delivery that is about to end.
func (t *tail) settle(sc trace.SpanContext, s telemetry.Settlement) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if d := t.open[sc.SpanID()]; d != nil && d.root == sc.SpanID() {
		d.settled = &s
	}
}

// OnStart implements [sdktrace.SpanProcessor].
func (t *tail) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) {
	id := s.SpanContext().SpanID()
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.open[s.Parent().SpanID()]
	switch {
	case s.SpanKind() == trace.SpanKindConsumer:
		d = &delivery{root: id, open: map[trace.SpanID]struct{}{}}
	case d == nil:
		return
	}
	d.open[id] = struct{}{}
	t.open[id] = d
}

// OnEnd implements [sdktrace.SpanProcessor].
func (t *tail) OnEnd(s sdktrace.ReadOnlySpan) {
	d, ended := t.take(s)
	switch {
	case d == nil && inside(s):
		return // too late, or its parent was
	case d == nil:
		t.next.OnEnd(s)
		return
	case !ended || d.settled == nil || !s.SpanContext().IsSampled() && !d.settled.Keep:
		return
	}
	for _, s := range d.spans {
		t.next.OnEnd(shown(s, d))
	}
}

// inside says whether a span has one above it that began in this process: whoever
// tells of what is past gives the parents of those spans as remote ones.
func inside(s sdktrace.ReadOnlySpan) bool { return s.Parent().IsValid() && !s.Parent().IsRemote() }

// take puts a span that ends to those of its delivery, if it has one, and says whether
// that ends with it. Of a delivery that has ended nobody else knows.
func (t *tail) take(s sdktrace.ReadOnlySpan) (d *delivery, ended bool) {
	id, size := s.SpanContext().SpanID(), weight(s)
	t.mu.Lock()
	defer t.mu.Unlock()
	if d = t.open[id]; d == nil {
		return nil, false
	}
	delete(t.open, id)
	delete(d.open, id)
	ended = id == d.root
	if !ended && (len(d.spans) >= t.bounds.spans || d.bytes+size > t.bounds.bytes || t.bytes+size > t.bounds.total) {
		d.dropped++
		return d, false
	}
	d.spans = append(d.spans, s)
	d.bytes += size
	t.bytes += size
	if ended {
		t.bytes -= d.bytes
		for late := range d.open {
			delete(t.open, late)
		}
	}
	return d, ended
}

// shown is a span as others may see it.
func shown(s sdktrace.ReadOnlySpan, d *delivery) sdktrace.ReadOnlySpan {
	out := told{ReadOnlySpan: s, redact: d.settled.Redact}
	if s.SpanContext().SpanID() == d.root && d.dropped > 0 {
		out.more = []attribute.KeyValue{telemetry.SpansDropped.Int(d.dropped)}
	}
	return out
}

// Shutdown implements [sdktrace.SpanProcessor].
func (t *tail) Shutdown(ctx context.Context) error { return t.next.Shutdown(ctx) }

// ForceFlush implements [sdktrace.SpanProcessor].
func (t *tail) ForceFlush(ctx context.Context) error { return t.next.ForceFlush(ctx) }
