// Package export is where what the farm tells of itself goes: it composes the
// OpenTelemetry SDK. Spans and metrics themselves are package telemetry's.
package export

import (
	"context"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// TracingOptions of a tracer provider.
type TracingOptions struct {
	Resource *resource.Resource
	// Sampler decides which traces are kept from their beginning. Nil keeps all.
	Sampler sdktrace.Sampler
	telemetry.Options
}

// NewTracing makes a tracer whose spans a processor gets, when they are ready to be
// seen. Shutdown hands on what is left.
func NewTracing(next sdktrace.SpanProcessor, o TracingOptions) (t *telemetry.Tracer, shutdown func(context.Context) error) {
	if o.Sampler == nil {
		o.Sampler = sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	tail := newTail(next)
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = -1 // texts are cut after secrets are taken out
	limits.EventCountLimit = 1000         // a score each
	p := sdktrace.NewTracerProvider(
		sdktrace.WithResource(o.Resource), sdktrace.WithIDGenerator(ids{}), sdktrace.WithRawSpanLimits(limits),
		sdktrace.WithSampler(watching{o.Sampler}), sdktrace.WithSpanProcessor(tail),
	)
	o.Settle = tail.settle
	o.Head = func(id trace.TraceID) bool {
		return o.Sampler.ShouldSample(sdktrace.SamplingParameters{ParentContext: context.Background(), TraceID: id, Name: "trial"}).Decision == sdktrace.RecordAndSample
	}
	return telemetry.NewTracer(p, o.Options), p.Shutdown
}

// tracing is what the variables say of traces.
type tracing struct {
	// pushed over OTLP: to at, in batches.
	pushed  bool
	at      endpoint
	batches batching
	sampler sdktrace.Sampler
	content bool
}

// tracing reads it, as far as it is used: nothing when all is off, what is about a
// collector when there is one, and the rest also for a file.
func (e environ) tracing(off, file bool) (t tracing, err error) {
	if !off {
		if t.pushed, err = e.traced(); err != nil {
			return t, err
		}
	}
	if t.pushed {
		if t.at, err = e.traces().endpoint(); err != nil {
			return t, err
		}
		if t.batches, err = e.batching(); err != nil {
			return t, err
		}
	}
	if !t.pushed && !file {
		return t, nil
	}
	if t.sampler, err = e.sampler(); err != nil {
		return t, err
	}
	t.content, err = e.content()
	return t, err
}

// watching records what it does not sample, because nobody knows yet how it ends.
type watching struct{ sdktrace.Sampler }

// ShouldSample implements [sdktrace.Sampler].
func (w watching) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	r := w.Sampler.ShouldSample(p)
	if id, ok := telemetry.IdentityOf(p.ParentContext); ok && id.Keep {
		r.Decision = sdktrace.RecordAndSample
	}
	if r.Decision == sdktrace.Drop {
		r.Decision = sdktrace.RecordOnly
	}
	return r
}
