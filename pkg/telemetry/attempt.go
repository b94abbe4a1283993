package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Delivery is what a worker has been handed.
type Delivery struct {
	Attempt
	// Queue that it came from, UID that the worker minted for it, Worker that has it.
	Queue, UID, Worker string
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
			MessagingQueue.String(d.Queue), MessagingID.String(d.UID),
			RunID.String(d.Run), AttemptN.Int(d.N), AttemptID.String(d.UID), Worker.String(d.Worker),
		),
	}
	if d.N > 1 {
		before := trace.SpanContextFromContext(ctx).WithSpanID(sendSpan(d.Run, d.Ordinal, d.N-1))
		o = append(o, trace.WithLinks(trace.Link{SpanContext: before}))
	}
	ctx, span := t.tracer.Start(context.WithValue(ctx, contentKey{}, t.content), "process "+d.Queue, o...)
	return ctx, Span{span, t.content}
}

// trialID names a trial in attributes and logs.
func trialID(run string, ordinal int) string { return fmt.Sprintf("%s:%d", run, ordinal) }

// Of tells whose trial a delivery turned out to be.
func (s Span) Of(t eval.Trial) {
	s.set(TrialID.String(trialID(t.Run, t.Ordinal)), Case.String(t.Case.ID), Variant.String(t.Variant.ID), Repeat.Int(t.Repeat))
}

// Processed ends the span of a delivery with its record. What is below it is kept
// when the attempt did not pass, or was slow, whoever sampled it; redact takes the
// secrets out of all of it before anybody sees it.
func (t *Tracer) Processed(s Span, r eval.Record, redact func(string) string) {
	if s.span == nil {
		return
	}
	s.set(Outcome.String(string(r.Outcome)), Verdict.String(string(r.Result.Verdict)))
	if r.Result.Reason != "" {
		s.set(Reason.String(string(r.Result.Reason)))
	}
	if r.CostMicroUSD > 0 {
		s.set(CostUSD.Float64(float64(r.CostMicroUSD) / 1e6))
	}
	if r.Result.Verdict == eval.Error {
		s.Fail(string(r.Result.Reason), r.Result.Message)
	}
	t.end(s, Settlement{Keep: t.telling(r), Redact: redact})
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
	v := r.Result.Verdict
	waiting := v == eval.Unjudged && r.Result.Reason == eval.ReasonAwaitingJudge
	slow := t.slow > 0 && r.Result.Times.TotalMS >= float64(t.slow.Milliseconds())
	return v != eval.Pass && !waiting || r.Outcome != eval.AttemptDone || r.N > 1 || slow
}
