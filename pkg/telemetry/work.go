package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// An Agent is the model at work on a trial.
type Agent struct {
	// Name of the model in the suite. It names the agent: those who look at traces
	// group and compare by agent, of which there are few, and the cases, of which there
	// may be thousands, are what all of them are given.
	Name string
	// Provider, and Model as that calls it.
	Provider, Model string
}

// InvokeAgent begins the span of an agent at work: `invoke_agent {agent}`. Its
// conversation is the trial.
func InvokeAgent(ctx context.Context, a Agent, t eval.Trial) (context.Context, Span) {
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return "invoke_agent " + shows(ctx).name(a.Name), []attribute.KeyValue{
			Operation.String("invoke_agent"), AgentName.String(a.Name), ConversationID.String(trialID(t.Run, t.Ordinal)),
			ProviderName.String(a.Provider), RequestModel.String(a.Model), Case.String(t.Case.ID),
		}
	})
}

// Steps begins the span of the steps of a case without an agent: `script {case}` or
// `catalog {case}`.
func Steps(ctx context.Context, kind eval.Kind, t eval.Trial, server string) (context.Context, Span) {
	return below(ctx, trace.SpanKindInternal, func() (string, []attribute.KeyValue) {
		return string(kind) + " " + shows(ctx).name(t.Case.ID), []attribute.KeyValue{Case.String(t.Case.ID), Kind.String(string(kind)), Server.String(server)}
	})
}

// Doubted says that nobody is judged on what the span shows.
func (s Span) Doubted() {
	if s.span != nil {
		s.set(Outcome.String("in_doubt"))
	}
}

// Worked tells what the work of the span came to, and ends it as of the time when the
// work itself was over: what it is scored on follows. That checks could not be decided
// is no error of it.
func (s Span) Worked(r eval.Result, ended time.Time) {
	if s.span == nil {
		return
	}
	attrs := []attribute.KeyValue{Turns.Int(r.Counts.Turns), Calls.Int(r.Counts.ToolCalls)}
	for _, a := range []attribute.KeyValue{Verdict.String(string(r.Verdict)), Reason.String(string(r.Reason)), Stop.String(string(r.Stop))} {
		if a.Value.AsString() != "" {
			attrs = append(attrs, a)
		}
	}
	attrs = append(attrs, usage(r.Usage)...)
	s.set(attrs...)
	s.scored(r.Scores, ended)
	if r.Verdict == eval.Error && r.Reason != eval.ReasonScorerFailed {
		s.complain(string(r.Reason), r.Message)
	}
	s.span.End(trace.WithTimestamp(ended))
}
