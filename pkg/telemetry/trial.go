package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Settled trial is one whose verdict stands.
type Settled struct {
	eval.Trial
	// Of is set when the run is a later grading: the run whose trial was judged.
	Of string
	// Result with what judges said.
	Result eval.Result
	// Sends are the attempts at it, in order: those at the trial, then those of its
	// judging, if that is a part of its trace. The last one settled it.
	Sends []Send
}

// Trial tells of a trial that is settled: `trial {case}`, the root of its trace, linked
// to its run, from the first dispatch to the end of the attempt that settled it, and
// below it `send {queue}` for each attempt. A trial that a later grading judged is
// told as `judging {case}`, in a trace of its own which is linked to the trial's too.
//
// It is kept when its trace is sampled, and when it is telling: the rule by which a
// worker keeps a delivery that nobody sampled. A worker has only its own delivery to
// go by, so of a trace that was not sampled a part may be missing where the trial is
// telling and a delivery is not: what an agent did is missing where only its judging
// failed or was slow, and a judging that passed where the agent's attempt was telling.
//
// A trial that is settled twice, because it was tried again or two schedulers heard of
// it, is told twice under the same ids: backends take that for one span.
func (t *Tracer) Trial(s Settled) {
	if t == nil || len(s.Sends) == 0 {
		return
	}
	home := Attempt{Run: s.Run, Ordinal: s.Ordinal}
	id := Identity{Trace: home.TraceID(), Span: trialSpan(s.Run, s.Ordinal), Keep: true}
	if !t.Sampled(id.Trace) && !t.tellingOf(s) {
		return
	}
	sends := dated(s.Sends)
	start, end := sends[0].Sent, sends[len(sends)-1].Ended
	for _, at := range sends {
		if at.Sent.Before(start) {
			start = at.Sent
		}
		end = latest(end, at.Sent) // of two clocks
	}
	name, of := "trial ", s.Run
	links := []trace.SpanStartOption{trace.WithTimestamp(start), linkTo(runContext(s.Run))}
	if s.Of != "" {
		name, of = "judging ", s.Of
		links = append(links, linkTo(sampled(TraceID(s.Of, s.Ordinal), trialSpan(s.Of, s.Ordinal))))
	}
	root := t.tell(trace.SpanContext{}, id, name+s.Case.ID, trace.SpanKindInternal, links, about(s, of)...)
	for i, at := range sends {
		at.tell(t, id, before(sends[:i], at))
	}
	if s.Result.Verdict == eval.Error {
		Span{span: root, showing: showing{content: t.content}}.complain(string(s.Result.Reason), s.Result.Message)
	}
	root.End(trace.WithTimestamp(end))
}

// about is what the root of a trial's trace says.
func about(s Settled, of string) []attribute.KeyValue {
	attrs := append(make([]attribute.KeyValue, 0, 10), // all that there can be
		TrialID.String(trialID(of, s.Ordinal)), RunID.String(s.Run),
		Case.String(s.Case.ID), Kind.String(string(s.Case.Kind)), Variant.String(s.Variant.ID), Repeat.Int(s.Repeat),
		Verdict.String(string(s.Result.Verdict)))
	if s.Result.Reason != "" {
		attrs = append(attrs, Reason.String(string(s.Result.Reason)))
	}
	tries, cost := 0, int64(0)
	for _, at := range s.Sends {
		cost += at.CostMicroUSD
		if at.Run == s.Run {
			tries++
		}
	}
	attrs = append(attrs, Attempts.Int(tries))
	if cost > 0 {
		attrs = append(attrs, CostUSD.Float64(float64(cost)/1e6))
	}
	return attrs
}

// tellingOf is [Tracer.telling] of a trial that is settled, with all its attempts.
func (t *Tracer) tellingOf(s Settled) bool {
	return tellingResult(s.Result) || t.slowly(s.Result.Times.TotalMS) || slices.ContainsFunc(s.Sends, func(at Send) bool {
		return at.N > 1 || at.Outcome != eval.AttemptDone || t.slowly(float64(at.Ended.Sub(at.Started).Microseconds())/1000)
	})
}

// sampled is the trace context of a span elsewhere that is taken to be kept.
func sampled(t trace.TraceID, s trace.SpanID) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, TraceFlags: trace.FlagsSampled, Remote: true})
}

func linkTo(sc trace.SpanContext) trace.SpanStartOption {
	return trace.WithLinks(trace.Link{SpanContext: sc})
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
