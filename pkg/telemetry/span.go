package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Span is a piece of work that a trace shows. The zero Span shows nothing. Each
// function that begins one is in the file of its name.
type Span struct {
	span trace.Span
	showing
	judging bool // of a delivery
}

// On says whether anybody sees the span: what costs something to find out need not
// be found out otherwise.
func (s Span) On() bool { return s.span != nil }

// Content says whether what models, tools and servers say may be shown. It is not
// unless somebody asked for it.
func (s Span) Content() bool { return s.span != nil && s.content }

// below begins a span below that of a context, if that has one which is recorded.
// Attributes are asked for only then.
func below(ctx context.Context, kind trace.SpanKind, about func() (name string, attrs []attribute.KeyValue), o ...trace.SpanStartOption) (context.Context, Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, Span{}
	}
	name, attrs := about()
	ctx, span := parent.TracerProvider().Tracer(Scope, trace.WithSchemaURL(SchemaURL)).Start(ctx, name, append(o, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))...)
	return ctx, Span{span: span, showing: shows(ctx)}
}

// set adds attributes.
func (s Span) set(attrs ...attribute.KeyValue) {
	if s.span != nil {
		s.span.SetAttributes(attrs...)
	}
}

// Fail marks the span as failed: what kind of error it was, one word of few, and
// what it said.
func (s Span) Fail(kind, message string) {
	if s.span != nil {
		s.span.SetAttributes(ErrorType.String(kind))
		s.span.SetStatus(codes.Error, s.said(message, mostMessage))
	}
}

// complain marks the span as failed by what somebody else did. What they said, and
// what quotes them, is content.
func (s Span) complain(kind, said string) {
	if !s.Content() {
		said = ""
	}
	s.Fail(kind, said)
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}

// Scored tells what the checks of a trial came to, as events of the conventions.
func (s Span) Scored(scores []eval.Score) {
	if s.span != nil {
		s.scored(scores, time.Now())
	}
}

// scored tells so as of a time.
func (s Span) scored(scores []eval.Score, at time.Time) {
	for _, score := range scores {
		label := "fail"
		switch {
		case score.Pending:
			label = "pending"
		case score.Pass:
			label = "pass"
		case score.Warning:
			label = "warning"
		}
		attrs := []attribute.KeyValue{EvaluationName.String(score.Check), EvaluationLabel.String(label)}
		if !score.Pending {
			attrs = append(attrs, EvaluationValue.Float64(score.Value))
		}
		if score.Message != "" && s.content { // it quotes what was said
			attrs = append(attrs, EvaluationExplanation.String(s.said(score.Message, mostMessage)))
		}
		if score.Reason != "" {
			attrs = append(attrs, Reason.String(string(score.Reason)))
		}
		s.span.AddEvent(eventEvaluation, trace.WithTimestamp(at), trace.WithAttributes(attrs...))
	}
}
