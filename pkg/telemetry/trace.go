// Package telemetry derives trace identities and carries them across process
// borders.
//
// A trial's trace id is computed from its run and ordinal, so that the
// scheduler, every attempt and every worker agree on it without asking anyone.
package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceID is the trace of a trial.
func TraceID(run string, ordinal int) trace.TraceID {
	sum := sha256.Sum256(fmt.Appendf(nil, "trial %s %d", run, ordinal))
	return trace.TraceID(sum[:16])
}

// dispatchSpan is the span under which an attempt is dispatched.
func dispatchSpan(run string, ordinal, attempt int) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "dispatch %s %d %d", run, ordinal, attempt))
	return trace.SpanID(sum[:8])
}

// Headers is the W3C trace context (https://www.w3.org/TR/trace-context/) of an
// attempt, for a queue's headers.
func Headers(run string, ordinal, attempt int) map[string]string {
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID:    TraceID(run, ordinal),
		SpanID:     dispatchSpan(run, ordinal, attempt),
		TraceFlags: trace.FlagsSampled,
	})
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier
}

// Extract puts the trace context of headers into a context.
func Extract(ctx context.Context, headers map[string]string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier(headers))
}

// Current is the trace id of a context in hex, or "".
func Current(ctx context.Context) string {
	if sc := trace.SpanContextFromContext(ctx); sc.HasTraceID() {
		return sc.TraceID().String()
	}
	return ""
}
