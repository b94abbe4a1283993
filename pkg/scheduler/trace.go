package scheduler

import (
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// traced names the current attempt at a trial in its trace. What a run's own grading
// does is a part of the trial's trace.
func (r *running) traced(t store.Trial) telemetry.Attempt {
	a := telemetry.Attempt{Run: r.run.ID, Ordinal: t.Ordinal, N: t.Attempt}
	if r.judged != nil {
		a.Of = r.judged.run.ID
	}
	return a
}

// traceparent is what travels with an attempt.
func (s *Scheduler) traceparent(r *running, t store.Trial) string {
	a := r.traced(t)
	return a.Traceparent(s.opts.Tracer.Sampled(a.TraceID()))
}
