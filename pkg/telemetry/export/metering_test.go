package export_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// measureAll measures something with every instrument.
func measureAll(ctx context.Context, m *telemetry.Metrics) {
	m.Trials(ctx, eval.Fail, "wrong_value", 1)
	m.Attempt(ctx, telemetry.Trials, eval.AttemptDone)
	m.Lag(ctx, time.Second)
	m.Superseded(ctx)
	m.Run(ctx, eval.OutcomeComplete)
	m.Call(ctx, telemetry.ModelCall{
		Key: "openai:1/m", Provider: "openai", Model: "m", Throttled: true, Took: time.Second,
		Usage: eval.Usage{Input: 100, CacheRead: 40, CacheWrite: 10, Output: 30, Reasoning: 20}, MicroUSD: 1500,
	})
	m.LimiterWait(ctx, "openai:1/m", "pause", time.Second)
	m.Start(ctx, "shop", "ok")
	m.Crash(ctx, "shop")
	m.Request(ctx, "shop", "tools/call", "get", eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonTimeout, LatencyMS: 1000})
	m.QueueWait(ctx, telemetry.Trials, time.Second)
	m.Took(ctx, "agent", time.Second)
	m.Committed(ctx, telemetry.Judging, time.Second)
	m.Observe(func(_ context.Context, g *telemetry.Gauges) {
		g.InFlight(telemetry.Trials, 1)
		g.Depth(telemetry.Trials, 2)
		g.Oldest(telemetry.Trials, 3)
		g.Slots(telemetry.Trials, 4)
		g.Backlog(telemetry.Trials, 5)
		g.Spooled(telemetry.Trials, 6)
		g.Workers(7)
		g.Live(8)
		g.Leads(true)
		g.Budget("r-1", 2_500_000)
		g.Day(1_000_000)
		g.Unjudged(0.25)
		g.Limit(eval.LimitState{Key: "openai:1/m", InFlight: 1, Concurrent: 9, Waiting: 2}, true)
	})
}

// open makes metrics that can be scraped.
func open(t *testing.T) (*telemetry.Metrics, http.Handler) {
	t.Helper()
	told := metered(t, export.Options{Scraped: true})
	return told.Metrics(), told.Page()
}

func metered(t *testing.T, o export.Options) *export.Telemetry {
	t.Helper()
	o.Service, o.Version, o.Logger = "evalfarm-test", "1.2.3", slog.New(slog.DiscardHandler)
	told, err := export.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = told.Close(context.Background()) })
	return told
}

// scrape reads a page in the text format, as Prometheus' own parser understands it.
func scrape(t *testing.T, page http.Handler) map[string]*dto.MetricFamily {
	t.Helper()
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestPageShowsTheCatalogue(t *testing.T) {
	m, page := open(t)
	measureAll(t.Context(), m)
	got := scrape(t, page)
	kinds := map[telemetry.InstrumentKind]dto.MetricType{
		telemetry.Counter: dto.MetricType_COUNTER, telemetry.Histogram: dto.MetricType_HISTOGRAM, telemetry.Gauge: dto.MetricType_GAUGE,
	}
	for _, in := range telemetry.Catalogue() {
		f := got[in.Prometheus()]
		if f == nil {
			t.Errorf("the page has no %s", in.Prometheus())
			continue
		}
		if f.GetType() != kinds[in.Kind] || f.GetHelp() != in.Help {
			t.Errorf("%s is a %s: %s", f.GetName(), f.GetType(), f.GetHelp())
		}
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if !slices.ContainsFunc(in.Labels, func(label string) bool { return strings.ReplaceAll(label, ".", "_") == l.GetName() }) {
					t.Errorf("%s has a label %s, which the catalogue does not know", f.GetName(), l.GetName())
				}
			}
		}
	}
	for _, ours := range []string{"evalfarm_", "gen_ai_", "mcp_"} {
		for name := range got {
			if strings.HasPrefix(name, ours) && !slices.ContainsFunc(telemetry.Catalogue(), func(in telemetry.Instrument) bool { return in.Prometheus() == name }) {
				t.Errorf("the page has %s, which the catalogue does not know", name)
			}
		}
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "go_build_info", "target_info"} {
		if got[name] == nil && (name != "process_open_fds" || runtime.GOOS == "linux") {
			t.Errorf("the page has no %s", name)
		}
	}
	tokens := map[string]float64{}
	for _, metric := range got["evalfarm_tokens_total"].GetMetric() {
		for _, l := range metric.GetLabel() {
			if l.GetName() == "type" {
				tokens[l.GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	if fmt.Sprint(tokens) != "map[cache_read:40 cache_write:10 input:50 output:10 reasoning:20]" {
		t.Errorf("tokens %v: each has to be counted once", tokens)
	}
	if v := got["evalfarm_spend_USD_total"].GetMetric()[0].GetCounter().GetValue(); v != 0.0015 {
		t.Errorf("spend %v, want 0.0015", v)
	}
}

func TestExemplarsNameTheTraceOfASampledSpan(t *testing.T) {
	m, page := open(t)
	tracer, _ := export.NewTracing(sdktrace.NewSimpleSpanProcessor(tracetest.NewInMemoryExporter()), export.TracingOptions{})
	attempt := telemetry.Attempt{Run: "r-1", Ordinal: 7, N: 1}
	ctx, span := tracer.Process(telemetry.Arrive(t.Context(), attempt.Traceparent(true)), telemetry.Delivery{Attempt: attempt})
	m.Took(ctx, "agent", time.Second)
	m.Call(ctx, telemetry.ModelCall{Key: "k", Model: "m", Took: time.Second})
	tracer.Returned(span, "test", nil)

	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	page.ServeHTTP(w, r)
	for _, series := range []string{"evalfarm_attempt_duration_seconds_bucket", "evalfarm_model_calls_total"} {
		if !slices.ContainsFunc(strings.Split(w.Body.String(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, series+"{") && strings.Contains(line, "# {") && strings.Contains(line, attempt.TraceID().String())
		}) {
			t.Errorf("no exemplar of %s names the trace:\n%s", series, w.Body)
		}
	}
}

func TestManyLabelsDoNotGrowMemory(t *testing.T) {
	m, page := open(t)
	long := strings.Repeat("x", 1000)
	used := func() int64 {
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc)
	}
	call := func(from, to int) {
		for i := from; i < to; i++ {
			m.Call(t.Context(), telemetry.ModelCall{Key: fmt.Sprintf("key-%d-%s", i, long), Model: fmt.Sprintf("model-%d-%s", i, long), Took: time.Second})
			m.Request(t.Context(), "s", "tools/call", fmt.Sprintf("tool-%d", i), eval.Outcome{Kind: eval.OutcomeOK})
		}
	}
	call(0, 2000)
	before := used()
	call(2000, 12000)
	if grown := used() - before; grown > 1<<20 {
		t.Errorf("10,000 more keys grew the heap by %d bytes", grown)
	}
	f := scrape(t, page)["evalfarm_model_calls_total"]
	var sum, over float64
	for _, metric := range f.GetMetric() {
		sum += metric.GetCounter().GetValue()
		for _, l := range metric.GetLabel() {
			if l.GetName() == "otel_metric_overflow" {
				over = metric.GetCounter().GetValue()
			}
			if len(l.GetValue()) > 100 {
				t.Fatalf("a label of %d bytes", len(l.GetValue()))
			}
		}
	}
	if n := len(f.GetMetric()); n != 1000 || sum != 12000 || over != 11001 {
		t.Errorf("%d series, %v calls, %v of them beyond; want 1000, 12000 and 11001", n, sum, over)
	}
}

func TestLabelsAreText(t *testing.T) {
	m, page := open(t)
	m.Crash(t.Context(), "a\xff\n\"}"+strings.Repeat("ä", 100))
	for _, l := range scrape(t, page)["evalfarm_mcp_crashes_total"].GetMetric()[0].GetLabel() {
		if want := "a\uFFFD\n\"}" + strings.Repeat("ä", 47); l.GetName() == "server" && l.GetValue() != want {
			t.Errorf("server %q, want %q", l.GetValue(), want)
		}
	}
}

// The page is open to whoever asks, and a server names its tools as it likes.
func TestToolsHaveNoSecrets(t *testing.T) {
	m, page := open(t)
	const secret = "sk-4711-0815"
	ctx := telemetry.Logged(t.Context(), telemetry.Delivery{Redact: redact.New(map[string]string{"KEY": secret}).String})
	// The limit of a label is not to leave half of it.
	name := strings.Repeat("x", 95) + secret
	m.Request(ctx, "s", "tools/call", name, eval.Outcome{Kind: eval.OutcomeOK})
	for _, l := range scrape(t, page)["mcp_client_operation_duration_seconds"].GetMetric()[0].GetLabel() {
		if want := name[:95] + "[secr"; l.GetName() == "gen_ai_tool_name" && l.GetValue() != want {
			t.Errorf("tool %q, want %q", l.GetValue(), want)
		}
	}
}

func TestGaugesOfWhatIsGoneAreGone(t *testing.T) {
	m, page := open(t)
	stop := m.Observe(func(_ context.Context, g *telemetry.Gauges) { g.Budget("r-1", 1_000_000) })
	if f := scrape(t, page)["evalfarm_budget_left_USD"]; len(f.GetMetric()) != 1 {
		t.Fatalf("budget of the run: %v", f)
	}
	stop()
	if f := scrape(t, page)["evalfarm_budget_left_USD"]; f != nil {
		t.Errorf("a run that is done still has a budget: %v", f)
	}
}

func TestWhoGetsMetrics(t *testing.T) {
	for _, tt := range []struct {
		name           string
		env            []string
		shown, counted bool // with a page, and without one
		bad            string
	}{
		{"nothing is said", nil, true, false, ""},
		{"an endpoint", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, true, true, ""},
		{"an endpoint for metrics", []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://127.0.0.1:1"}, true, true, ""},
		{"otlp", []string{"OTEL_METRICS_EXPORTER=otlp"}, true, true, ""},
		{"over gRPC", []string{"OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc"}, true, true, ""},
		{"prometheus", []string{"OTEL_METRICS_EXPORTER=prometheus", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, true, false, ""},
		{"none", []string{"OTEL_METRICS_EXPORTER=none", "OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, false, false, ""},
		{"disabled", []string{"OTEL_SDK_DISABLED=true", "OTEL_METRICS_EXPORTER=otlp"}, false, false, ""},
		{"an unknown exporter", []string{"OTEL_METRICS_EXPORTER=statsd"}, false, false, `OTEL_METRICS_EXPORTER: there is no exporter "statsd" here`},
		{"an unknown protocol", []string{"OTEL_METRICS_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json"}, false, false, `OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: protocol "http/json" is not spoken here`},
		{"an interval that is none", []string{"OTEL_METRICS_EXPORTER=otlp", "OTEL_METRIC_EXPORT_INTERVAL=1m"}, false, false, `OTEL_METRIC_EXPORT_INTERVAL: want a number of at least 1, got "1m"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.bad != "" {
				_, err := export.Open(t.Context(), export.Options{Environ: tt.env, Scraped: true, Logger: slog.New(slog.DiscardHandler)})
				if err == nil || !strings.Contains(err.Error(), tt.bad) {
					t.Errorf("got %v, want %s", err, tt.bad)
				}
				return
			}
			serving := metered(t, export.Options{Environ: tt.env, Scraped: true})
			if got := serving.Page() != nil; got != tt.shown || (serving.Metrics() != nil) != (tt.shown || tt.counted) {
				t.Errorf("a page: %t, want %t; metrics %v", got, tt.shown, serving.Metrics())
			}
			alone := metered(t, export.Options{Environ: tt.env})
			if alone.Page() != nil || (alone.Metrics() != nil) != tt.counted {
				t.Errorf("of a process that serves nothing: page %v, metrics %v; want them to be %t", alone.Page(), alone.Metrics(), tt.counted)
			}
		})
	}
}

// TestPush has a collector in this process.
func TestPush(t *testing.T) {
	got := make(chan *collector.ExportMetricsServiceRequest, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(body)); err == nil {
				body, err = io.ReadAll(z)
			}
		}
		var req collector.ExportMetricsServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &req)
		}
		if err != nil || r.URL.Path != "/v1/metrics" || r.Header.Get("Authorization") != "Bearer t" {
			t.Errorf("%s with %v: %v", r.URL, r.Header, err)
		}
		got <- &req
	}))
	defer server.Close()
	told := metered(t, export.Options{Environ: []string{
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + server.URL + "/v1/metrics", "OTEL_EXPORTER_OTLP_METRICS_HEADERS=authorization=Bearer%20t",
		"OTEL_EXPORTER_OTLP_METRICS_COMPRESSION=gzip",
	}})
	measureAll(t.Context(), told.Metrics())
	if err := told.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, rm := range (<-got).GetResourceMetrics() {
		if attrs := fmt.Sprint(rm.GetResource()); !strings.Contains(attrs, "evalfarm-test") || !strings.Contains(attrs, "1.2.3") {
			t.Errorf("the resource is %s", attrs)
		}
		for _, sm := range rm.GetScopeMetrics() {
			for _, metric := range sm.GetMetrics() {
				names[metric.GetName()] = true
			}
		}
	}
	for _, in := range telemetry.Catalogue() {
		if !names[in.Name] {
			t.Errorf("the collector has not got %s", in.Name)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	m, _, err := export.NewMetering(nil, sdkmetric.NewManualReader(sdkmetric.WithTemporalitySelector(func(sdkmetric.InstrumentKind) metricdata.Temporality { return metricdata.CumulativeTemporality })))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Call(b.Context(), telemetry.ModelCall{Key: "openai:1/m", Provider: "openai", Model: "m", Took: time.Second, Usage: eval.Usage{Input: 100, Output: 10}, MicroUSD: 10})
	}
}
