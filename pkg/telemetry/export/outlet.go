package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// An outlet hands spans to a collector, which may be slow, or away for ever. Whoever
// ends a span does not wait for it: between the two is a queue that is bounded in
// number and bytes, and what has no place there is dropped, counted and told of.
type outlet struct {
	batches sdktrace.SpanProcessor
	to      sdktrace.SpanExporter
	at      string
	log     *slog.Logger
	most    int // spans in the queue

	// life ends when nobody waits any longer.
	life context.Context
	kill context.CancelCauseFunc

	mu sync.Mutex
	// spans and bytes that are under way, and since when the collector has some of
	// them; the zero time while it has none.
	spans, bytes int
	asked        time.Time
	// last is what came of asking the collector the last time.
	last    error
	closing bool
	losses  losses
}

const (
	// mostBytes are kept for a collector that does not take them.
	mostBytes = 32 << 20
	// portion is what is handed over at once: over gRPC collectors take 4 MiB unless
	// told otherwise.
	portion = 3 << 20
	// patience is how long a process that ends waits for its collector, if that has
	// not been silent already for as long as silence.
	patience = 5 * time.Second
	silence  = 2 * time.Second
)

var (
	errFull  = errors.New("the queue is full")
	errEnded = errors.New("the process ended before it answered")
)

// newOutlet makes one, with an exporter that bind makes of whom it has to tell of each
// answer of the collector.
func newOutlet(at string, b batching, log *slog.Logger, bind func(tried func(error)) (sdktrace.SpanExporter, error)) (*outlet, error) {
	o := &outlet{at: at, log: log, most: b.queue, losses: losses{now: time.Now}}
	var err error
	if o.to, err = bind(o.tried); err != nil {
		return nil, err
	}
	o.life, o.kill = context.WithCancelCause(context.Background())
	o.batches = sdktrace.NewBatchSpanProcessor(handover{o},
		sdktrace.WithMaxQueueSize(b.queue), sdktrace.WithMaxExportBatchSize(b.batch),
		sdktrace.WithBatchTimeout(b.delay), sdktrace.WithExportTimeout(b.timeout))
	return o, nil
}

// OnStart implements [sdktrace.SpanProcessor].
func (o *outlet) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements [sdktrace.SpanProcessor]. The queue of the batches would drop in
// silence, so it is never filled.
func (o *outlet) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	size := weight(s)
	o.mu.Lock()
	full := o.spans >= o.most || o.spans > 0 && o.bytes+size > mostBytes
	if !full {
		o.spans++
		o.bytes += size
	}
	o.mu.Unlock()
	if full {
		o.lost(1, errFull)
		return
	}
	o.batches.OnEnd(s)
}

// ForceFlush implements [sdktrace.SpanProcessor].
func (o *outlet) ForceFlush(ctx context.Context) error { return o.batches.ForceFlush(ctx) }

// Shutdown implements [sdktrace.SpanProcessor]: it hands over what is left, for as long
// as that has a prospect, and for patience at most. The error says what was lost and
// has not been told of.
func (o *outlet) Shutdown(ctx context.Context) error {
	o.mu.Lock()
	o.closing = true
	gone := o.last
	if gone == nil && !o.asked.IsZero() && time.Since(o.asked) > silence {
		gone = errEnded
	}
	o.mu.Unlock()
	if gone != nil {
		o.kill(gone)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { o.kill(errEnded) })()
	// Whatever this waits for ends with life, and then it says what was lost.
	err := o.batches.Shutdown(context.WithoutCancel(ctx))
	if told := o.losses.rest(); told != nil {
		return fmt.Errorf("export traces to %s: %w", o.at, told)
	}
	return err
}

// tried is told of each answer of the collector.
func (o *outlet) tried(err error) {
	if o.life.Err() != nil {
		return // it is we who gave up
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = err
	if o.closing && err != nil {
		o.kill(err) // it will not be better in the seconds that are left
	}
}

// lost tells of spans that nobody will see.
func (o *outlet) lost(n int, why error) {
	if told := o.losses.add(n, why); told != nil {
		o.log.Error("export traces", "to", o.at, "error", told)
	}
}

// handover is the exporter that batches go to. It says of no batch that it failed: the
// SDK would tell of each.
type handover struct{ *outlet }

// ExportSpans implements [sdktrace.SpanExporter].
func (h handover) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(h.life, func() { cancel(context.Cause(h.life)) })() //nolint:contextcheck // it ends with both
	for len(spans) > 0 {
		n, bytes := 1, weight(spans[0])
		for ; n < len(spans); n++ {
			size := weight(spans[n])
			if bytes+size > portion {
				break
			}
			bytes += size
		}
		h.hand(ctx, spans[:n], bytes)
		spans = spans[n:]
	}
	return nil
}

// hand hands over some spans, whose place in the queue is free then.
func (h handover) hand(ctx context.Context, spans []sdktrace.ReadOnlySpan, bytes int) {
	h.mu.Lock()
	h.asked = time.Now()
	h.mu.Unlock()
	err := ctx.Err()
	if err == nil {
		err = h.to.ExportSpans(ctx, spans)
	}
	if err != nil && h.life.Err() != nil {
		err = context.Cause(h.life) //nolint:contextcheck // why nobody waits any longer
	}
	h.mu.Lock()
	h.asked = time.Time{}
	h.spans -= len(spans)
	h.bytes -= bytes
	h.mu.Unlock()
	if err != nil {
		h.lost(len(spans), err)
	}
}

// Shutdown implements [sdktrace.SpanExporter].
func (h handover) Shutdown(ctx context.Context) error { return h.to.Shutdown(ctx) }
