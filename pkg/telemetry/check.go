package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Checks begins the span of the checks of an agent's trial: `checks`. Below it is what
// they ask of the world; those that only look at the trajectory have no span. Where
// there are none, there is nothing to show.
func Checks(ctx context.Context, n int) (context.Context, Span) {
	if n == 0 {
		return ctx, Span{}
	}
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return "checks", []attribute.KeyValue{ChecksN.Int(n)}
	})
}

// Check begins the span of a check that asks something of the world: `scorer {check}`
// or `verify {check}`.
func Check(ctx context.Context, kind, check string) (context.Context, Span) {
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return kind + " " + shows(ctx).name(check), []attribute.KeyValue{CheckID.String(check)}
	})
}

// Judge begins the span of a judge at work on a check: `judge {check}`.
func Judge(ctx context.Context, check eval.Check) (context.Context, Span) {
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		attrs := []attribute.KeyValue{CheckID.String(check.ID)}
		if j := check.Judge; j != nil {
			attrs = append(attrs, Votes.Int(max(1, j.Votes)))
		}
		return "judge " + shows(ctx).name(check.ID), attrs
	})
}

// Undecided marks the span of something that was to be decided and could not be, for
// a reason of the farm or of what it depends on.
func (s Span) Undecided(why eval.Reason, said string) { s.complain(string(why), said) }
