package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Propagate hands out the trace context of a span that is recorded, by the names of
// the W3C (traceparent, tracestate). Of no other span anything is handed out: whoever
// is asked then hears the same as if nobody traced.
func Propagate(ctx context.Context, set func(name, value string)) {
	if trace.SpanFromContext(ctx).IsRecording() {
		propagation.TraceContext{}.Inject(ctx, setter(set))
	}
}

// setter implements [propagation.TextMapCarrier] as far as to inject needs it.
type setter func(name, value string)

func (s setter) Set(name, value string) { s(name, value) }
func (setter) Get(string) string        { return "" }
func (setter) Keys() []string           { return nil }
