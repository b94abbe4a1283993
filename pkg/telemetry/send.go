package telemetry

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Send is the dispatch of an attempt, and what became of that.
type Send struct {
	Attempt
	// Lane that it went through.
	Lane Lane
	// UID of the delivery and Worker that had it; empty if nobody is known to have had it.
	UID, Worker string
	// Outcome is empty when no record of the attempt was ever stored, such as of one
	// that the queue lost.
	Outcome      eval.AttemptOutcome
	Reason       eval.Reason
	CostMicroUSD int64
	// Sent is when it was dispatched. Started and Ended bound the attempt. Zero is
	// unknown.
	Sent, Started, Ended time.Time
}

// noRecord is the outcome of an attempt that has none.
const noRecord = "unseen"

func (s Send) outcome() string {
	if s.Outcome == "" {
		return noRecord
	}
	return string(s.Outcome)
}

// dated gives every send a time: of one whose dispatch nobody wrote down, when it began, or else
// when the next one was dispatched.
func dated(sends []Send) []Send {
	sends = slices.Clone(sends)
	for i := len(sends) - 1; i >= 0; i-- {
		s := &sends[i]
		if s.Sent.IsZero() {
			s.Sent = s.Started
		}
		if s.Sent.IsZero() && i+1 < len(sends) {
			s.Sent = sends[i+1].Sent
		}
	}
	return sends
}

// before is the send that an attempt followed; nil if it is the first one.
func before(sends []Send, s Send) *Send {
	if n := len(sends); n > 0 && sends[n-1].Run == s.Run {
		return &sends[n-1]
	}
	return nil
}

// tell makes the span of a dispatch below the root: `send {queue}`. An attempt after
// the first is linked to the dispatch of the one before, and says what became of that.
func (s Send) tell(t *Tracer, root Identity, before *Send) {
	o := []trace.SpanStartOption{trace.WithTimestamp(s.Sent)}
	attrs := append(make([]attribute.KeyValue, 0, 12), // all that there can be
		MessagingSystem.String("asynq"), MessagingName.String("send"), MessagingType.String("send"), MessagingQueue.String(string(s.Lane)),
		RunID.String(s.Run), AttemptN.Int(s.N), Outcome.String(s.outcome()))
	if s.UID != "" {
		attrs = append(attrs, MessagingID.String(s.UID), AttemptID.String(s.UID))
	}
	if s.Worker != "" {
		attrs = append(attrs, Worker.String(s.Worker))
	}
	if s.Reason != "" {
		attrs = append(attrs, Reason.String(string(s.Reason)))
	}
	if before != nil {
		o = append(o, linkTo(sampled(root.Trace, sendSpan(before.Run, before.Ordinal, before.N))))
		attrs = append(attrs, AttemptAfter.String(before.outcome()))
	}
	id := Identity{Trace: root.Trace, Span: sendSpan(s.Run, s.Ordinal, s.N), Keep: true}
	t.tell(sampled(root.Trace, root.Span), id, "send "+string(s.Lane), trace.SpanKindProducer, o, attrs...).End(trace.WithTimestamp(s.Sent))
}
