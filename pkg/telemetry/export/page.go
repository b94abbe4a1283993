package export

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
)

// newPage makes a reader of metrics, and the page that shows what it reads to who
// scrapes, beside the runtime and the process. Exemplars are for those who ask for
// OpenMetrics.
func newPage(log errorLog) (sdkmetric.Reader, http.Handler, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
	)
	reader, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, nil, err
	}
	return reader, promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		// What can be shown is shown.
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: log,
		EnableOpenMetrics: true,
		// A page is made for whoever asks, so not for many at once.
		MaxRequestsInFlight: 4,
	}), nil
}

// An errorLog is where the page says what it could not show.
type errorLog struct{ *slog.Logger }

// Println implements [promhttp.Logger].
func (l errorLog) Println(v ...any) {
	for _, v := range v {
		if err, ok := v.(error); ok {
			l.Warn("show metrics", "error", err)
		}
	}
}
