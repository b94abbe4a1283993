package telemetry

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// loggedKey is the key of what logs are told of a context: a [Delivery].
type loggedKey struct{}

// Logged lets what is logged with a context name the trial and the attempt, whether
// anybody traces or not, and takes the secrets of the attempt out of it.
func Logged(ctx context.Context, d Delivery) context.Context {
	return context.WithValue(ctx, loggedKey{}, d)
}

// cleaned is a text without the secrets of the attempt that a context is of.
func cleaned(ctx context.Context, text string) string {
	if d, ok := ctx.Value(loggedKey{}).(Delivery); ok && d.Redact != nil {
		return d.Redact(text)
	}
	return text
}

// Logs adds to what is logged what its context says: trace_id and span_id, trial as
// run:ordinal, and attempt. Within an attempt every text is without its secrets.
func Logs(next slog.Handler) slog.Handler { return logs{next} }

type logs struct{ slog.Handler }

// Handle implements [slog.Handler].
func (l logs) Handle(ctx context.Context, r slog.Record) error {
	if d, ok := ctx.Value(loggedKey{}).(Delivery); ok {
		if d.Redact != nil {
			r = redacted(r, d.Redact)
		}
		r.AddAttrs(slog.String("trial", trialID(d.Run, d.Ordinal)), slog.Int("attempt", d.N))
	}
	if sc := trace.SpanContextFromContext(ctx); sc.IsValid() {
		r.AddAttrs(slog.String("trace_id", sc.TraceID().String()), slog.String("span_id", sc.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (l logs) WithAttrs(attrs []slog.Attr) slog.Handler { return logs{l.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (l logs) WithGroup(name string) slog.Handler { return logs{l.Handler.WithGroup(name)} }

// redacted is a record without secrets.
func redacted(r slog.Record, redact func(string) string) slog.Record {
	out := slog.NewRecord(r.Time, r.Level, redact(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(slog.Attr{Key: a.Key, Value: redactedValue(a.Value, redact)})
		return true
	})
	return out
}

func redactedValue(v slog.Value, redact func(string) string) slog.Value {
	switch v = v.Resolve(); v.Kind() {
	case slog.KindString:
		return slog.StringValue(redact(v.String()))
	case slog.KindAny: // an error, or what else has a text
		return slog.StringValue(redact(fmt.Sprint(v.Any())))
	case slog.KindGroup:
		var attrs []slog.Attr
		for _, a := range v.Group() {
			attrs = append(attrs, slog.Attr{Key: a.Key, Value: redactedValue(a.Value, redact)})
		}
		return slog.GroupValue(attrs...)
	default:
		return v
	}
}
