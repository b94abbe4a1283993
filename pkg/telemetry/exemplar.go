package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Exemplary puts the dispatch of a record's attempt into a context, if its trace is
// kept: what is measured with that names the trace, though nobody sampled it.
func Exemplary(ctx context.Context, r eval.Record) context.Context {
	id, err := trace.TraceIDFromHex(r.TraceID)
	if err != nil { // there is none
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: sendSpan(r.Run, r.Ordinal, r.N), TraceFlags: trace.FlagsSampled,
	}))
}
