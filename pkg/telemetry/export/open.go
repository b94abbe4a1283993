package export

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Options of what a process tells of itself.
type Options struct {
	// Environ is the environment, with the standard variables OTEL_*.
	Environ []string
	// Service is the name of the process unless a variable gives it another, and Version
	// that of its program.
	Service, Version string
	// TraceFile gets all spans, beside the collector if there is one. Empty is none.
	TraceFile string
	// Scraped makes a page of the metrics, for the process to serve.
	Scraped bool
	// Content shows what models, tools and servers say; the variable
	// OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT does too.
	Content bool
	// Slow is from when on the spans of an attempt are kept though they were not
	// sampled. Zero keeps none for that.
	Slow time.Duration
	// Logger for what could not be told.
	Logger *slog.Logger
}

// A Telemetry is where a process tells of itself. Nil tells nothing.
type Telemetry struct {
	tracer  *telemetry.Tracer
	metrics *telemetry.Metrics
	page    http.Handler
	close   func(context.Context) error
}

// Open reads the standard variables and makes what they ask for; nil if that is
// nothing. A mistake in them is a [*VariableError]. Nobody is called yet: a collector
// that is away is no error, and never holds up anybody.
//
// What the SDK itself has to say goes to Logger, for all of the process.
func Open(ctx context.Context, o Options) (*Telemetry, error) {
	off, err := environ(o.Environ).disabled()
	if err != nil {
		return nil, err
	}
	// One process is one resource, whatever it tells.
	res, err := o.resource(ctx)
	if err != nil {
		return nil, err
	}
	var t Telemetry
	if !off {
		if t, err = o.meter(ctx, res); err != nil {
			return nil, err
		}
	}
	var send func(context.Context) error
	if t.tracer, send, err = o.trace(ctx, res, off); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	if t.tracer == nil && t.metrics == nil {
		return nil, nil
	}
	if last := t.close; send != nil {
		t.close = send
		if last != nil {
			t.close = func(ctx context.Context) error { return together(ctx, last, send) }
		}
	}
	// The only place where it is set; it is one for all of a process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.WarnContext(ctx, "telemetry", "error", err) }))
	return &t, nil
}

// trace opens the tracer of the process; nil if nobody wants one. Without a collector
// there may be a file.
func (o Options) trace(ctx context.Context, res *resource.Resource, off bool) (*telemetry.Tracer, func(context.Context) error, error) {
	says, err := environ(o.Environ).tracing(off, o.TraceFile != "")
	if err != nil {
		return nil, nil, err
	}
	if !says.pushed && o.TraceFile == "" {
		return nil, nil, nil
	}
	how := TracingOptions{Resource: res, Sampler: says.sampler, Options: telemetry.Options{Content: o.Content || says.content, Slow: o.Slow}}
	var to fan
	if o.TraceFile != "" {
		file, err := newTraceFile(ctx, o.TraceFile, o.Logger)
		if err != nil {
			return nil, nil, err
		}
		to = append(to, file)
	}
	if says.pushed {
		collector, err := newOutlet(says.at.String(), says.batches, o.Logger, func(tried func(error)) (sdktrace.SpanExporter, error) {
			return otlptrace.New(ctx, says.at.client(tried))
		})
		if err != nil {
			return nil, nil, errors.Join(err, to.Shutdown(ctx))
		}
		to = append(to, collector)
	}
	tracer, send := NewTracing(to, how)
	return tracer, send, nil
}

// Tracer of the process; nil traces nothing.
func (t *Telemetry) Tracer() *telemetry.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Metrics of the process; nil measures nothing.
func (t *Telemetry) Metrics() *telemetry.Metrics {
	if t == nil {
		return nil
	}
	return t.metrics
}

// Page shows the metrics to who scrapes; nil if they are not to be shown.
func (t *Telemetry) Page() http.Handler {
	if t == nil {
		return nil
	}
	return t.page
}

// Close hands on what is left, within about 5 s, and at once if the collector did not
// answer before. The error says what was lost and has not been told of.
func (t *Telemetry) Close(ctx context.Context) error {
	if t == nil || t.close == nil {
		return nil
	}
	return t.close(ctx)
}

// together waits for two, which may take their time, no longer than for one.
func together(ctx context.Context, a, b func(context.Context) error) error {
	other := make(chan error, 1)
	go func() { other <- b(ctx) }()
	switch here, there := a(ctx), <-other; {
	case here == nil:
		return there
	case there == nil:
		return here
	default:
		return fmt.Errorf("%w; %w", here, there)
	}
}

// A fan hands spans to several.
type fan []sdktrace.SpanProcessor

// OnStart implements [sdktrace.SpanProcessor].
func (fan) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements [sdktrace.SpanProcessor].
func (f fan) OnEnd(s sdktrace.ReadOnlySpan) {
	for _, to := range f {
		to.OnEnd(s)
	}
}

// Shutdown implements [sdktrace.SpanProcessor].
func (f fan) Shutdown(ctx context.Context) error {
	var all []error
	for _, to := range f {
		all = append(all, to.Shutdown(ctx))
	}
	return errors.Join(all...)
}

// ForceFlush implements [sdktrace.SpanProcessor].
func (f fan) ForceFlush(ctx context.Context) error {
	var all []error
	for _, to := range f {
		all = append(all, to.ForceFlush(ctx))
	}
	return errors.Join(all...)
}
