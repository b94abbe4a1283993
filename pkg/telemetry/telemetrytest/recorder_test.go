package telemetrytest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

func TestDelivery(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	telemetrytest.Deliver(t.Context(), tracer, func(context.Context) {
		if got := rec.Spans(); len(got) != 0 {
			t.Errorf("%d spans were handed on before the delivery ended", len(got))
		}
	})
	s := rec.One("process trials")
	if s.Kind != "consumer" || s.TraceID != telemetry.TraceID("r", 1).String() || s.Attrs["evalfarm.attempt"] != int64(1) || s.Status != "Unset" {
		t.Errorf("got %+v", s)
	}
	if got := rec.Tree(); got != "process trials\n" {
		t.Errorf("tree %q", got)
	}
}

func TestWhatIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		verdict eval.Verdict
		want    int
	}{
		"pass": {eval.Pass, 0},
		"fail": {eval.Fail, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, rec := telemetrytest.New(t, telemetrytest.Share(0))
			d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: 1, N: 1}, Lane: telemetry.Trials}
			_, span := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(tracer.Sampled(d.TraceID()))), d)
			tracer.Processed(span, eval.Record{Outcome: eval.AttemptDone, Result: eval.Result{Verdict: tt.verdict, Message: "it says s3cret"}}, func(s string) string {
				return strings.ReplaceAll(s, "s3cret", "[redacted]")
			})
			if got := len(rec.Spans()); got != tt.want {
				t.Errorf("%d spans are kept, want %d", got, tt.want)
			}
			if strings.Contains(rec.Text(), "s3cret") {
				t.Error("a secret got out")
			}
		})
	}
}
