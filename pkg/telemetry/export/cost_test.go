package export_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// BenchmarkDelivery is what a worker does to tell of one scripted trial: with nobody
// who wants to know, with a collector that refuses, and with one whose traces are all
// left out by sampling.
func BenchmarkDelivery(b *testing.B) {
	for _, bb := range []struct {
		name string
		env  []string
	}{
		{"off", nil},
		{"refused", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}},
		{"unsampled", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_SAMPLER=always_off"}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			tel, err := export.Open(b.Context(), export.Options{Environ: append(bb.env, "OTEL_METRICS_EXPORTER=none"), Service: "bench", Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			tracer := tel.Tracer()
			b.ReportAllocs()
			for b.Loop() {
				scripted(tracer)
			}
			_ = tel.Close(b.Context()) // says what was lost
		})
	}
}

// scripted tells what a worker tells of one scripted trial.
func scripted(tracer *telemetry.Tracer) {
	trial := eval.Trial{Run: "r", Case: eval.CaseRef{ID: "c"}}
	record := eval.Record{Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}
	d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: 1, N: 1}, Lane: telemetry.Trials, UID: "u", Worker: "w"}
	ctx, span := tracer.Process(context.Background(), d)
	span.Of(trial, "")
	_, start := telemetry.Start(ctx, "shop")
	start.End()
	ctx, script := telemetry.Steps(ctx, eval.KindScript, trial, "shop")
	_, call := telemetry.ToolCall(ctx, "getCustomerStatus")
	call.Brought(eval.Outcome{Kind: eval.OutcomeOK})
	call.End()
	script.End()
	tracer.Processed(span, record, nil)
}

// Who wants to know nothing pays nothing.
func TestOffAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { scripted(nil) }); n != 0 {
		t.Errorf("%v allocations of each trial, want none", n)
	}
}
