package telemetry

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Delivery is what a worker has been handed.
type Delivery struct {
	Attempt
	// UID that the worker minted for it, Worker that has it.
	UID, Worker string
	// Lane that it came through. The verdict of one that is Judging is whether the judges
	// spoke, and not the trial's.
	Lane Lane
	// Redact takes the secrets that the attempt has so far out of a text. Several
	// goroutines may ask it. Nil takes out nothing.
	Redact func(string) string
}

// Process begins the span of a delivery below its dispatch, of which the context
// carries the trace context: `process {queue}`. That of a second attempt is linked to
// the dispatch of the one before.
func (t *Tracer) Process(ctx context.Context, d Delivery) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	o := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			MessagingSystem.String("asynq"), MessagingName.String("process"), MessagingType.String("process"),
			MessagingQueue.String(string(d.Lane)), MessagingID.String(d.UID),
			RunID.String(d.Run), AttemptN.Int(d.N), AttemptID.String(d.UID), Worker.String(d.Worker),
		),
	}
	if d.N > 1 {
		before := trace.SpanContextFromContext(ctx).WithSpanID(sendSpan(d.Run, d.Ordinal, d.N-1))
		o = append(o, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	show := showing{t.content, d.Redact}
	ctx, span := t.tracer.Start(context.WithValue(ctx, showingKey{}, &show), "process "+string(d.Lane), o...)
	return ctx, Span{span: span, showing: show, judging: d.Lane == Judging}
}

// trialID names a trial in attributes and logs.
func trialID(run string, ordinal int) string { return fmt.Sprintf("%s:%d", run, ordinal) }

// Of tells whose trial a delivery turned out to be. When it is judged, the trial is
// that of a run before.
func (s Span) Of(t eval.Trial, judged string) {
	if s.span == nil {
		return
	}
	s.set(TrialID.String(trialID(cmp.Or(judged, t.Run), t.Ordinal)), Case.String(t.Case.ID), Variant.String(t.Variant.ID), Repeat.Int(t.Repeat))
}

// Processed ends the span of a delivery with its record. What is below it is kept
// when the attempt did not pass, or was slow, whoever sampled it; redact takes the
// secrets out of all of it before anybody sees it. The answer is the id of the trace,
// or "" if nothing is kept.
func (t *Tracer) Processed(s Span, r eval.Record, redact func(string) string) (traceID string) {
	if s.span == nil {
		return ""
	}
	s.set(Outcome.String(string(r.Outcome)))
	if !s.judging || r.Result.Verdict != eval.Pass {
		s.set(Verdict.String(string(r.Result.Verdict)))
	}
	if r.Result.Reason != "" {
		s.set(Reason.String(string(r.Result.Reason)))
	}
	if r.CostMicroUSD > 0 {
		s.set(CostUSD.Float64(float64(r.CostMicroUSD) / 1e6))
	}
	if r.Result.Verdict == eval.Error {
		s.complain(string(r.Result.Reason), r.Result.Message)
	}
	keep, sc := t.telling(r), s.span.SpanContext()
	t.end(s, Settlement{Keep: keep, Redact: redact})
	if !keep && !sc.IsSampled() {
		return ""
	}
	return sc.TraceID().String()
}

// givenBack is the outcome of what was no attempt, or of a wait that was none.
const givenBack = "given_back"

// Returned ends the span of a delivery that was no attempt: it was given back, and
// why.
func (t *Tracer) Returned(s Span, why string, redact func(string) string) {
	if s.span == nil {
		return
	}
	s.set(Outcome.String(givenBack), WaitWhy.String(why))
	t.end(s, Settlement{Redact: redact})
}

func (t *Tracer) end(s Span, what Settlement) {
	if t.settle != nil {
		t.settle(s.span.SpanContext(), what)
	}
	s.End()
}

// telling says whether an attempt is worth seeing though it was not sampled. The
// scheduler decides the same of its own spans, by the same record.
func (t *Tracer) telling(r eval.Record) bool {
	return tellingResult(r.Result) || r.Outcome != eval.AttemptDone || r.N > 1 || t.slowly(r.Result.Times.TotalMS)
}

// tellingResult says it of a result: that it did not pass, or that a check of it failed,
// as that of a judge does whose own work is well done. What waits for a judge says
// nothing yet.
func tellingResult(r eval.Result) bool {
	waiting := r.Verdict == eval.Unjudged && r.Reason == eval.ReasonAwaitingJudge
	failed := func(s eval.Score) bool { return !s.Pass && !s.Pending && !s.Warning }
	return r.Verdict != eval.Pass && !waiting || slices.ContainsFunc(r.Scores, failed)
}

// slowly says whether an attempt took long enough to be kept for it.
func (t *Tracer) slowly(ms float64) bool { return t.slow > 0 && ms >= float64(t.slow.Milliseconds()) }
