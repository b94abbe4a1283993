package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Start begins the span of a trial that wants a session with a server:
// `start {server}`.
func Start(ctx context.Context, server string) (context.Context, Span) {
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return "start " + shows(ctx).name(server), []attribute.KeyValue{Server.String(server)}
	})
}

// How a trial comes to its session.
const (
	// Own: it was opened for this trial alone.
	Own = "own"
	// Began: it is shared, and this trial was the first that wanted it.
	Began = "began"
	// Waited: it is shared, and was being opened for another trial.
	Waited = "waited"
	// Joined: it is shared, and was there.
	Joined = "joined"
)

// Comes tells the span of a start, which the context carries, how the trial comes
// to its session.
func Comes(ctx context.Context, how string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(Session.String(how))
	}
}
