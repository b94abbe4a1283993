package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Wait begins the span of a wait: `wait {why}`. Why is one word of few: what the
// limiter says (requests, tokens, in_flight, pause, turn, gate), or the kind of error
// after which something is tried again (rate_limit, overloaded, network), or what else
// is waited for (poll). On is what keeps it waiting: the limiter's key, or a
// server.
func Wait(ctx context.Context, why, on string) Span {
	_, span := below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return "wait " + why, []attribute.KeyValue{WaitWhy.String(why), WaitFor.String(on)}
	})
	return span
}

// Asked tells how long somebody asked to be left alone, and where it said so, such as
// "retry-after". The span tells how long it was.
func (s Span) Asked(d time.Duration, from string) {
	if s.span != nil {
		s.set(WaitAsked.Float64(d.Seconds()), WaitFrom.String(from))
	}
}

// GivenBack says that nobody sits out the wait: the attempt is given back until it is
// over.
func (s Span) GivenBack() {
	if s.span != nil {
		s.set(Outcome.String(givenBack))
	}
}
