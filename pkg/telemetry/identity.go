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
	return traceID("trial %s %d", run, ordinal)
}

// runTrace and runSpan are those of a run, which its trials are linked to.
func runTrace(run string) trace.TraceID { return traceID("run %s", run) }
func runSpan(run string) trace.SpanID   { return spanID("run %s", run) }

// trialSpan is the root of a trial's trace.
func trialSpan(run string, ordinal int) trace.SpanID { return spanID("trial %s %d", run, ordinal) }

// sendSpan is the dispatch of an attempt.
func sendSpan(run string, ordinal, attempt int) trace.SpanID {
	return spanID("send %s %d %d", run, ordinal, attempt)
}

func traceID(format string, args ...any) trace.TraceID {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return trace.TraceID(sum[:16])
}

func spanID(format string, args ...any) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return trace.SpanID(sum[16:24])
}

// An Attempt names an attempt in a trace.
type Attempt struct {
	Run     string
	Ordinal int
	N       int
	// Of is the run whose trial is judged, when the attempt is one of that run's own
	// grading: then it is a part of that trial's trace. Empty otherwise.
	Of string
}

// TraceID is the trace that the attempt is a part of.
func (a Attempt) TraceID() trace.TraceID {
	if a.Of != "" {
		return TraceID(a.Of, a.Ordinal)
	}
	return TraceID(a.Run, a.Ordinal)
}

// Traceparent is the W3C trace context (https://www.w3.org/TR/trace-context/) of the
// dispatch of an attempt, as it travels with the job.
func (a Attempt) Traceparent(sampled bool) string {
	sc := a.dispatch(sampled)
	return fmt.Sprintf("00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags())
}

// dispatch is the span of the attempt's dispatch.
func (a Attempt) dispatch(sampled bool) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: a.TraceID(), SpanID: sendSpan(a.Run, a.Ordinal, a.N), TraceFlags: trace.FlagsSampled.WithSampled(sampled), Remote: true,
	})
}

// Arrive puts the trace context that came with a job into a context. One that
// cannot be read is none.
func Arrive(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}
