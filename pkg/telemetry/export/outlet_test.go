package export

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"
)

// hung is an exporter that never answers, as long as somebody waits.
type hung struct{ asked chan struct{} }

func (h hung) ExportSpans(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
	h.asked <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (hung) Shutdown(context.Context) error { return nil }

func sampled() sdktrace.ReadOnlySpan {
	return tracetest.SpanStub{Name: "s", SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	})}.Snapshot()
}

// A collector that is silent takes nothing, holds up nobody, is not waited for at the
// end, and leaves nothing behind.
func TestSilentCollector(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := hung{make(chan struct{}, 100)}
	o, err := newOutlet("there", batching{delay: time.Hour, timeout: time.Hour, queue: 20, batch: 10}, slog.New(slog.DiscardHandler), func(func(error)) (sdktrace.SpanExporter, error) {
		return h, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		o.OnEnd(sampled()) // would hang here
	}
	<-h.asked
	o.mu.Lock()
	o.asked = o.asked.Add(-2 * silence) // it has been so for a while
	if o.spans != 20 {
		t.Errorf("%d spans are kept, want 20", o.spans)
	}
	o.mu.Unlock()
	err = o.Shutdown(t.Context())
	if err == nil || !strings.Contains(err.Error(), "1000 spans are lost") {
		t.Errorf("got %v, want 1000 spans lost", err)
	}
	if o.spans != 0 || o.bytes != 0 {
		t.Errorf("it still keeps %d spans, %d bytes", o.spans, o.bytes)
	}
}

// Who was asked a moment ago is waited for, until whoever waits gives up.
func TestEndOfPatience(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	h := hung{make(chan struct{}, 100)}
	o, err := newOutlet("there", batching{delay: time.Hour, timeout: time.Hour, queue: 20, batch: 10}, slog.New(slog.DiscardHandler), func(func(error)) (sdktrace.SpanExporter, error) {
		return h, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	o.OnEnd(sampled())
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-h.asked
		cancel()
	}()
	if err := o.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "1 spans are lost: the process ended") {
		t.Errorf("got %v", err)
	}
}

func TestLossesAreToldOnceAMinute(t *testing.T) {
	now := time.Unix(0, 0)
	l := losses{now: func() time.Time { return now }}
	down := errors.New("down")
	var told []string
	for range 300 { // 150 s
		for range 10 {
			if err := l.add(2, errFull); err != nil {
				told = append(told, err.Error())
			}
		}
		if err := l.add(1, down); err != nil {
			told = append(told, err.Error())
		}
		now = now.Add(500 * time.Millisecond)
	}
	if len(told) != 2 || told[0] != "2522 spans are lost: down" {
		t.Errorf("told %q", told)
	}
	if err := l.rest(); err == nil || !errors.Is(err, down) {
		t.Errorf("the rest is %v", err)
	}
	if err := l.rest(); err != nil {
		t.Errorf("told twice: %v", err)
	}
}
