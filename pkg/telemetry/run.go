package telemetry

import (
	"cmp"

	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Run tells of a run that is done: `run {suite}`, the root of a trace of its own, from
// the creation of the run to its end, whatever that is. The run that confirms another
// one, and a grading that somebody asked for later, are linked to their run; a run whose
// caller said which span it is in is linked to that, as [Caller] gives it. It is kept
// whatever is sampled: trials are linked to it.
//
// A run that is done twice, because it was tried again, is told twice under the same
// ids.
func (t *Tracer) Run(r eval.Run, caller string) {
	if t == nil {
		return
	}
	o := []trace.SpanStartOption{trace.WithTimestamp(r.Created)}
	if of := cmp.Or(r.Parent, r.Confirms); of != "" {
		o = append(o, linkTo(runContext(of)))
	}
	if sc := callerContext(caller); sc.IsValid() {
		o = append(o, linkTo(sc))
	}
	span := t.tell(trace.SpanContext{}, Identity{Trace: runTrace(r.ID), Span: runSpan(r.ID), Keep: true}, "run "+r.Suite, trace.SpanKindInternal, o,
		RunID.String(r.ID), Suite.String(r.Suite), RunTrials.Int(r.Trials), Outcome.String(string(r.Outcome)))
	span.End(trace.WithTimestamp(latest(r.Created, r.Finished)))
}

// runContext is the trace context of a run's span.
func runContext(run string) trace.SpanContext { return sampled(runTrace(run), runSpan(run)) }
