package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

func TestEveryMetricOfTheCatalogueIsMade(t *testing.T) {
	if _, err := telemetry.NewMetrics(noop.NewMeterProvider().Meter("")); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, in := range telemetry.Catalogue() {
		if seen[in.Name] || in.Unit == "" || in.Help == "" || in.Of == "" || (in.Kind == telemetry.Histogram) != (len(in.Buckets) > 0) {
			t.Errorf("%s is there twice, or lacks something: %+v", in.Name, in)
		}
		seen[in.Name] = true
		if p := in.Prometheus(); strings.ContainsAny(p, ".{} ") || strings.HasSuffix(p, "_total") != (in.Kind == telemetry.Counter) {
			t.Errorf("%s is %s at Prometheus", in.Name, p)
		}
	}
}

func TestNilMetricsCostNothing(t *testing.T) {
	var m *telemetry.Metrics
	ctx := t.Context()
	n := testing.AllocsPerRun(100, func() {
		m.Trials(ctx, eval.Pass, "", 1)
		m.Attempt(ctx, telemetry.Trials, eval.AttemptDone)
		m.Lag(ctx, time.Second)
		m.Superseded(ctx)
		m.Run(ctx, eval.OutcomeComplete)
		m.Call(ctx, telemetry.ModelCall{Key: "k", Model: "m", Took: time.Second})
		m.LimiterWait(ctx, "k", "pause", time.Second)
		m.Start(ctx, "s", "ok")
		m.Crash(ctx, "s")
		m.Request(ctx, "s", "tools/call", "t", eval.Outcome{Kind: eval.OutcomeOK})
		m.QueueWait(ctx, telemetry.Trials, time.Second)
		m.Took(ctx, "agent", time.Second)
		m.Committed(ctx, telemetry.Judging, time.Second)
	})
	if n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
	m.Observe(nil)()
}
