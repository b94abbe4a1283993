package export

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// most series of one instrument. Labels are keys, models, servers and tools: a farm
// has tens of each, and a histogram of a thousand series is a page of 2 MB. What goes
// beyond is counted in one more series, with the label otel_metric_overflow.
const most = 1000

// NewMetering makes metrics that readers collect. Shutdown hands on what is left.
func NewMetering(res *resource.Resource, readers ...sdkmetric.Reader) (m *telemetry.Metrics, shutdown func(context.Context) error, err error) {
	o := []sdkmetric.Option{
		sdkmetric.WithCardinalityLimit(most),
		// What is measured within a span that is sampled names its trace.
		sdkmetric.WithExemplarFilter(exemplar.TraceBasedFilter),
	}
	if res != nil {
		o = append(o, sdkmetric.WithResource(res))
	}
	for _, r := range readers {
		o = append(o, sdkmetric.WithReader(r))
	}
	p := sdkmetric.NewMeterProvider(o...)
	m, err = telemetry.NewMetrics(p.Meter(telemetry.Scope))
	return m, p.Shutdown, err
}

// Metering says what becomes of metrics.
type Metering struct {
	// Pushed to a collector over OTLP.
	Pushed bool
	// Scraped: whoever serves HTTP shows them there.
	Scraped bool
	// HTTP is OTLP over HTTP, not gRPC.
	HTTP bool
}

// MeteringOf reads the standard variables: OTEL_SDK_DISABLED, OTEL_METRICS_EXPORTER,
// OTEL_EXPORTER_OTLP_METRICS_ENDPOINT and OTEL_EXPORTER_OTLP_METRICS_PROTOCOL, and
// those without METRICS in their names. Unless they say none, metrics can be scraped;
// they are pushed when a variable says so or where to.
func MeteringOf(lookup func(string) (string, bool)) (Metering, error) {
	first := func(names ...string) (name, value string) {
		for _, name := range names {
			if v, _ := lookup(name); v != "" {
				return name, v
			}
		}
		return "", ""
	}
	var m Metering
	if _, off := first("OTEL_SDK_DISABLED"); off == "true" {
		return m, nil
	}
	switch _, exporter := first("OTEL_METRICS_EXPORTER"); exporter {
	case "none":
		return m, nil
	case "prometheus":
		m.Scraped = true
	case "otlp":
		m.Scraped, m.Pushed = true, true
	case "":
		_, to := first("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
		m.Scraped, m.Pushed = true, to != ""
	default:
		return m, fmt.Errorf("OTEL_METRICS_EXPORTER is %q; want otlp, prometheus or none", exporter)
	}
	switch name, protocol := first("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol {
	case "grpc":
	case "", "http/protobuf":
		m.HTTP = true
	default:
		return m, fmt.Errorf("%s is %q; want grpc or http/protobuf", name, protocol)
	}
	return m, nil
}

// OpenMetering makes the metrics of a process, and what shows them at /metrics; it is
// nil if they are not to be scraped. The exporter and its reader read the rest of the
// standard variables from the environment of the process: endpoints, headers,
// certificates, OTEL_METRIC_EXPORT_INTERVAL and OTEL_METRIC_EXPORT_TIMEOUT. A
// collector that is away holds up nobody: what could not be sent is in the next sum.
func OpenMetering(ctx context.Context, how Metering, res *resource.Resource, log *slog.Logger) (m *telemetry.Metrics, page http.Handler, shutdown func(context.Context) error, err error) {
	var readers []sdkmetric.Reader
	if how.Pushed {
		exporter, err := pusher(ctx, how.HTTP)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("export metrics: %w", err)
		}
		readers = append(readers, sdkmetric.NewPeriodicReader(exporter))
	}
	if how.Scraped {
		reader, handler, err := newPage(errorLog{log})
		if err != nil {
			return nil, nil, nil, fmt.Errorf("show metrics: %w", err)
		}
		readers, page = append(readers, reader), handler
	}
	if len(readers) == 0 {
		return nil, nil, func(context.Context) error { return nil }, nil
	}
	m, shutdown, err = NewMetering(res, readers...)
	return m, page, shutdown, err
}

func pusher(ctx context.Context, overHTTP bool) (sdkmetric.Exporter, error) {
	if overHTTP {
		return otlpmetrichttp.New(ctx)
	}
	return otlpmetricgrpc.New(ctx)
}
