package telemetry_test

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// The record of an attempt has the id of its trace if, and only if, the trace has the
// spans of the attempt.
func TestRecordsNameTracesThatAreKept(t *testing.T) {
	for name, test := range map[string]struct {
		share  float64
		record eval.Record
		kept   bool
	}{
		"all are sampled":      {1, eval.Record{N: 1, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}, true},
		"a pass, not sampled":  {0, eval.Record{N: 1, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}, false},
		"a fail, not sampled":  {0, eval.Record{N: 1, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Fail}}, true},
		"slow, not sampled":    {0, eval.Record{N: 1, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass, Times: eval.Times{TotalMS: 2000}}}, true},
		"the second attempt":   {0, eval.Record{N: 2, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass}}, true},
		"it waits for a judge": {0, eval.Record{N: 1, Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, recorder := telemetrytest.New(t, telemetrytest.Share(test.share), telemetrytest.Slow(time.Second))
			d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: 7, N: test.record.N}, Lane: telemetry.Trials}
			ctx := telemetry.Arrive(t.Context(), d.Traceparent(tracer.Sampled(d.TraceID())))
			_, span := tracer.Process(ctx, d)
			got := tracer.Processed(span, test.record, nil)
			spans := recorder.Named("process trials")
			if (len(spans) > 0) != test.kept {
				t.Fatalf("got the spans %v, want some: %t", spans, test.kept)
			}
			want := ""
			if test.kept {
				want = spans[0].TraceID
			}
			if got != want {
				t.Errorf("got the trace id %q, want %q", got, want)
			}
		})
	}
	t.Run("nobody traces", func(t *testing.T) {
		var off *telemetry.Tracer
		_, span := off.Process(t.Context(), telemetry.Delivery{})
		if got := off.Processed(span, eval.Record{}, nil); got != "" {
			t.Errorf("got the trace id %q, want none", got)
		}
	})
}
