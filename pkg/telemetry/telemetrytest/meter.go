package telemetrytest

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// A Meter has what was measured.
type Meter struct {
	tb     testing.TB
	reader *sdkmetric.ManualReader
}

// NewMeter makes metrics and their meter.
func NewMeter(tb testing.TB) (*telemetry.Metrics, *Meter) {
	tb.Helper()
	reader := sdkmetric.NewManualReader()
	m, _, err := export.NewMetering(nil, reader)
	if err != nil {
		tb.Fatal(err)
	}
	return m, &Meter{tb, reader}
}

// Series of a metric by their labels: "a=1,b=2", in the order of their names. The
// value is that of a counter or a gauge; of a histogram it is how many were recorded.
func (m *Meter) Series(name string) map[string]float64 {
	m.tb.Helper()
	out := map[string]float64{}
	m.each(name, func(labels attribute.Set, value, _ float64) {
		out[labels.Encoded(attribute.DefaultEncoder())] = value
	})
	return out
}

// Total is the sum of what a histogram has recorded, of all its series.
func (m *Meter) Total(name string) (sum float64) {
	m.tb.Helper()
	m.each(name, func(_ attribute.Set, _, total float64) { sum += total })
	return sum
}

func (m *Meter) each(name string, fn func(labels attribute.Set, value, total float64)) {
	m.tb.Helper()
	var rm metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &rm); err != nil {
		m.tb.Fatal(err)
	}
	for _, sm := range rm.ScopeMetrics {
		for _, metric := range sm.Metrics {
			if metric.Name != name {
				continue
			}
			switch d := metric.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					fn(p.Attributes, float64(p.Value), 0)
				}
			case metricdata.Sum[float64]:
				for _, p := range d.DataPoints {
					fn(p.Attributes, p.Value, 0)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					fn(p.Attributes, float64(p.Value), 0)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					fn(p.Attributes, p.Value, 0)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					fn(p.Attributes, float64(p.Count), p.Sum)
				}
			}
		}
	}
}
