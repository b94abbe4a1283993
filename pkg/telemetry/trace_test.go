package telemetry_test

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

func TestTraceSurvivesTheQueue(t *testing.T) {
	headers := telemetry.Headers("r-20260101-ABCDEF", 7, 2)
	ctx := telemetry.Extract(t.Context(), headers)
	if got, want := telemetry.Current(ctx), telemetry.TraceID("r-20260101-ABCDEF", 7).String(); got != want {
		t.Errorf("trace after the queue: got %s, want %s", got, want)
	}
	if got := telemetry.Current(t.Context()); got != "" {
		t.Errorf("trace of a bare context: got %q, want none", got)
	}
}

func TestTraceIDIsOfTheTrial(t *testing.T) {
	a, b := telemetry.TraceID("r", 1), telemetry.TraceID("r", 2)
	if a == b || !a.IsValid() {
		t.Errorf("trials 1 and 2 have traces %s and %s, want two valid ones", a, b)
	}
	if first, second := telemetry.Headers("r", 1, 1)["traceparent"], telemetry.Headers("r", 1, 2)["traceparent"]; first == second || first[:35] != second[:35] {
		t.Errorf("attempts 1 and 2 have %s and %s, want one trace and two spans", first, second)
	}
}
