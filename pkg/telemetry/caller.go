package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Caller is the W3C trace context of who asks for a run, such as the step of a
// pipeline, as a header or the variable TRACEPARENT has it. What is none is "": the
// recommendation wants it ignored.
func Caller(traceparent string) string {
	sc := callerContext(traceparent)
	if !sc.IsValid() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), carrier)
	return carrier.Get("traceparent")
}

func callerContext(traceparent string) trace.SpanContext {
	return trace.SpanContextFromContext(Arrive(context.Background(), traceparent))
}
