package stub

import "github.com/evalfarm/evalfarm/pkg/llm"

// Options of a [Server].
type Options struct {
	// Model that answers. It must be set.
	Model llm.Model
	// Keys that are let in. None lets in everybody, with a key or without.
	Keys []string
	// Latency before an answer, or before the first event of a streamed one.
	// Zero means none.
	Latency Latency
	// TokensPerSecond is how fast output is generated after that. Zero means at
	// once.
	TokensPerSecond float64
	// Limits of each key and model.
	Limits Limits
	// RetryAfter is how a refused call is told when to come again. Empty means
	// [RetrySeconds].
	RetryAfter RetryAfter
	// NoLimitHeaders leaves out the headers that tell where a client stands with its
	// limits, but for those of a refusal that is told by them.
	NoLimitHeaders bool
	// Pauses that single calls are refused with.
	Pauses []Pause
	// Faults and how often they happen. The shares must not add up to more than 1.
	Faults []Fault
	// Seed of latencies and faults. Those of the nth call that is let in depend on
	// the seed and n alone.
	Seed uint64
}
