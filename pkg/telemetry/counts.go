package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Trials counts n trials that have their verdict.
func (m *Metrics) Trials(ctx context.Context, v eval.Verdict, r eval.Reason, n int) {
	if m != nil && n > 0 {
		m.trials.Add(ctx, int64(n), with(label(labelVerdict, string(v)), label(labelReason, string(r))))
	}
}

// Attempt counts an attempt whose record was stored.
func (m *Metrics) Attempt(ctx context.Context, l Lane, o eval.AttemptOutcome) {
	if m != nil {
		m.attempts.Add(ctx, 1, with(lane(l), label(labelOutcome, string(o))))
	}
}

// Lag measures from the end of an attempt until its record was stored, by two
// clocks.
func (m *Metrics) Lag(ctx context.Context, d time.Duration) {
	if m != nil {
		m.lag.Record(ctx, max(0, d).Seconds())
	}
}

// Superseded counts a result that came when another one stood.
func (m *Metrics) Superseded(ctx context.Context) {
	if m != nil {
		m.superseded.Add(ctx, 1)
	}
}

// Run counts a run that is done.
func (m *Metrics) Run(ctx context.Context, o eval.RunOutcome) {
	if m != nil {
		m.runs.Add(ctx, 1, with(label(labelOutcome, string(o))))
	}
}

// A ModelCall is one call of a model.
type ModelCall struct {
	// Key of the limiter, or what else the calls are counted by.
	Key string
	// Provider, a word of the suite's, and Model.
	Provider, Model string
	// Error is one word of few; empty when an answer came.
	Error string
	// Throttled: the provider refused it because of its limits.
	Throttled bool
	Took      time.Duration
	Usage     eval.Usage
	// MicroUSD that caps count for it.
	MicroUSD int64
}

// mostTokens that are counted of one call: a provider may say any number.
const mostTokens = 1 << 40

// Call counts a call of a model.
func (m *Metrics) Call(ctx context.Context, c ModelCall) {
	if m == nil {
		return
	}
	outcome := c.Error
	if outcome == "" {
		outcome = "ok"
	}
	key, model := label(labelKey, c.Key), label(labelModel, c.Model)
	m.calls.Add(ctx, 1, with(key, label(labelOutcome, outcome)))
	if c.Throttled {
		m.throttled.Add(ctx, 1, with(key))
	}
	about := []attribute.KeyValue{label(string(Operation), "chat"), label(string(ProviderName), c.Provider), label(string(RequestModel), c.Model)}
	if c.Error != "" {
		about = append(about, label(string(ErrorType), c.Error))
	}
	m.modelCall.Record(ctx, c.Took.Seconds(), with(about...))
	for _, t := range []struct {
		kind string
		n    int
	}{
		// Each token is counted once: what a cache had is no input, reasoning no output.
		{"input", c.Usage.Input - c.Usage.CacheRead - c.Usage.CacheWrite},
		{"cache_read", c.Usage.CacheRead},
		{"cache_write", c.Usage.CacheWrite},
		{"output", c.Usage.Output - c.Usage.Reasoning},
		{"reasoning", c.Usage.Reasoning},
	} {
		if t.n > 0 {
			m.tokens.Add(ctx, int64(min(t.n, mostTokens)), with(model, label(labelType, t.kind)))
		}
	}
	if c.MicroUSD > 0 {
		m.spend.Add(ctx, float64(c.MicroUSD)/1e6, with(model))
	}
}

// LimiterWait measures what a call has waited, and why most of it.
func (m *Metrics) LimiterWait(ctx context.Context, key, why string, d time.Duration) {
	if m != nil && d > 0 {
		m.limiterWait.Record(ctx, d.Seconds(), with(label(labelKey, key), label(labelWhy, why)))
	}
}

// Start counts a start of a server, or a connection to one: outcome is ok, or the
// reason why not.
func (m *Metrics) Start(ctx context.Context, server, outcome string) {
	if m != nil {
		m.starts.Add(ctx, 1, with(label(labelServer, server), label(labelOutcome, outcome)))
	}
}

// Crash counts a session that ended before it was asked to.
func (m *Metrics) Crash(ctx context.Context, server string) {
	if m != nil {
		m.crashes.Add(ctx, 1, with(label(labelServer, server)))
	}
}

// Request measures a request to a server that was sent, and what came of it. Tool is
// the one that it called, if any.
func (m *Metrics) Request(ctx context.Context, server, method, tool string, o eval.Outcome) {
	if m == nil {
		return
	}
	about := []attribute.KeyValue{label(string(MCPMethod), method), label(string(Server), server)}
	if tool != "" {
		// A server may call its tools whatever it likes, and knows what it was given.
		about = append(about, label(string(ToolName), cleaned(ctx, tool)))
	}
	switch o.Kind {
	case eval.OutcomeOK:
	case eval.OutcomeFailed:
		about = append(about, label(string(ErrorType), string(o.Reason)))
	case eval.OutcomeToolError, eval.OutcomeProtocolError, eval.OutcomeCancelled: // whatever code a server made up
		about = append(about, label(string(ErrorType), string(o.Kind)))
	}
	m.mcpCall.Record(ctx, o.LatencyMS/1000, with(about...))
}

// QueueWait measures from the dispatch of an attempt to its beginning.
func (m *Metrics) QueueWait(ctx context.Context, l Lane, d time.Duration) {
	if m != nil {
		m.queueWait.Record(ctx, max(0, d).Seconds(), with(lane(l)))
	}
}

// Took measures an attempt: kind is that of its case, or judge.
func (m *Metrics) Took(ctx context.Context, kind string, d time.Duration) {
	if m != nil {
		m.attempt.Record(ctx, d.Seconds(), with(label(labelKind, kind)))
	}
}

// Committed measures how long it took to hand a record on.
func (m *Metrics) Committed(ctx context.Context, l Lane, d time.Duration) {
	if m != nil {
		m.commit.Record(ctx, d.Seconds(), with(lane(l)))
	}
}
