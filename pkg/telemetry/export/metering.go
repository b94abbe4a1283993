package export

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding/gzip"

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

// metering is what the variables say of metrics.
type metering struct {
	// pushed over OTLP, to at; shown to who scrapes.
	pushed, shown     bool
	at                endpoint
	interval, timeout time.Duration
}

// metering reads it, what is about a collector only if there is one.
func (e environ) metering() (m metering, err error) {
	if m.pushed, m.shown, err = e.metered(); err != nil || !m.pushed {
		return m, err
	}
	if m.at, err = e.metrics().endpoint(); err != nil {
		return m, err
	}
	name, value := e.find("OTEL_METRIC_EXPORT_INTERVAL")
	if m.interval, err = millis(name, value, time.Minute); err != nil {
		return m, err
	}
	name, value = e.find("OTEL_METRIC_EXPORT_TIMEOUT")
	m.timeout, err = millis(name, value, 30*time.Second)
	return m, err
}

// lastSend bounds how long the end of a process waits for its last metrics to be sent.
const lastSend = 3 * time.Second

// meter opens the metrics of the process: pushed as the standard variables say, and
// with a page where somebody may scrape. It opens none if nobody wants any.
func (o Options) meter(ctx context.Context, res *resource.Resource) (t Telemetry, err error) {
	says, err := environ(o.Environ).metering()
	shown := says.shown && o.Scraped
	if err != nil || !says.pushed && !shown {
		return t, err
	}
	var readers []sdkmetric.Reader
	if says.pushed {
		exporter, err := says.at.pusher(ctx)
		if err != nil {
			return t, fmt.Errorf("export metrics: %w", err)
		}
		readers = append(readers, sdkmetric.NewPeriodicReader(pusher{exporter, says.at.heard}, sdkmetric.WithInterval(says.interval), sdkmetric.WithTimeout(says.timeout)))
	}
	if shown {
		var reader sdkmetric.Reader
		if reader, t.page, err = newPage(errorLog{o.Logger}); err != nil {
			return t, fmt.Errorf("show metrics: %w", err)
		}
		readers = append(readers, reader)
	}
	var shutdown func(context.Context) error
	if t.metrics, shutdown, err = NewMetering(res, readers...); err != nil {
		return t, err
	}
	t.close = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lastSend)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			return fmt.Errorf("send the last metrics: %w", err)
		}
		return nil
	}
	return t, nil
}

// pusher makes an exporter of metrics. It makes one try: what could not be sent is in
// the next sum.
func (p endpoint) pusher(ctx context.Context) (sdkmetric.Exporter, error) {
	if p.http {
		o := []otlpmetrichttp.Option{
			otlpmetrichttp.WithEndpointURL(p.url.String()), otlpmetrichttp.WithHeaders(p.headers), otlpmetrichttp.WithTimeout(p.timeout),
			otlpmetrichttp.WithCompression(otlpmetrichttp.NoCompression), otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{}),
			otlpmetrichttp.WithHTTPClient(p.caller(p.transport())),
		}
		if p.compress {
			o = append(o, otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression))
		}
		return otlpmetrichttp.New(ctx, o...)
	}
	o := []otlpmetricgrpc.Option{
		otlpmetricgrpc.WithEndpoint(p.host()), otlpmetricgrpc.WithHeaders(p.headers), otlpmetricgrpc.WithTimeout(p.timeout),
		otlpmetricgrpc.WithRetry(otlpmetricgrpc.RetryConfig{}),
	}
	if p.tls == nil {
		o = append(o, otlpmetricgrpc.WithInsecure())
	} else {
		o = append(o, otlpmetricgrpc.WithTLSCredentials(credentials.NewTLS(p.tls)))
	}
	if p.compress {
		o = append(o, otlpmetricgrpc.WithCompressor(gzip.Name))
	}
	return otlpmetricgrpc.New(ctx, o...)
}
