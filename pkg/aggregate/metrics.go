package aggregate

import (
	"cmp"
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// metrics gathers the metrics of agent trials by variant: what a trial took, and
// what its checks came to.
type metrics map[metric]*mean

type metric struct {
	variant, name string
	// rank keeps what was measured before what was scored.
	rank int
}

// A mean sums in millionths, because integers add up to the same in any order.
type mean struct {
	n, open int
	sum     int64
}

const millionth = 1e6

// add counts a trial that came to something.
func (m metrics) add(of eval.CellStats, r eval.Result) {
	if of.Kind != eval.KindAgent || (r.Verdict != eval.Pass && r.Verdict != eval.Fail && r.Verdict != eval.Unjudged) {
		return
	}
	for i, measured := range efficiency(r) {
		m.of(metric{of.Variant, measured.name, i}).add(measured.value)
	}
	for _, s := range r.Scores {
		one := m.of(metric{of.Variant, s.Check, len(efficiency(r))})
		if s.Pending {
			one.open++
		} else {
			one.add(s.Value)
		}
	}
}

func (m metrics) of(key metric) *mean {
	if m[key] == nil {
		m[key] = &mean{}
	}
	return m[key]
}

func (m *mean) add(v float64) {
	m.n++
	m.sum += int64(math.Round(v * millionth))
}

// value is 0 of nothing.
func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return float64(m.sum) / millionth / float64(m.n)
}

// A measure is a named number of one trial.
type measure struct {
	name  string
	value float64
}

// efficiency is what a trial took. The names are those of the condition fixtures
// in the field. An agent of ours has no tools but those of MCP servers, so it
// never falls back to a host's own.
func efficiency(r eval.Result) []measure {
	c := r.Counts
	return []measure{
		{"initial_tool_context_tokens", float64(c.InitialToolTokens)},
		{"loaded_tool_context_tokens", float64(c.LoadedToolTokens)},
		{"tool_search_calls", float64(c.ToolSearches)},
		{"operational_tool_calls", float64(c.ToolCalls)},
		{"invalid_calls", float64(c.InvalidCalls)},
		{"latency_ms", r.Times.ModelMS + r.Times.ToolMS},
		{"native_fallback", 0},
		{"turns", float64(c.Turns)},
		{"tool_errors", float64(c.ToolErrors)},
		{"input_tokens", float64(r.Usage.Input)},
		{"output_tokens", float64(r.Usage.Output)},
	}
}

func (m metrics) finish() []eval.MetricStats {
	keys := make([]metric, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b metric) int {
		return cmp.Or(cmp.Compare(a.variant, b.variant), cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name))
	})
	var list []eval.MetricStats
	for _, key := range keys {
		one := m[key]
		s := eval.MetricStats{Variant: key.variant, Metric: key.name, N: one.n, Open: one.open}
		if one.n > 0 {
			s.Mean = new(one.value())
		}
		list = append(list, s)
	}
	return list
}
