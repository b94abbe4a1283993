package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Propagated is the trace context of a span that is recorded, by the names of the W3C
// (traceparent, tracestate). Of any other there is none: whoever is asked then hears
// the same as if nobody traced.
func Propagated(ctx context.Context) map[string]string {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return nil
	}
	fields := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, fields)
	return fields
}
