package report

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// took writes what a trial of an agent takes, once there are trials enough for the
// median to have bounds.
func (p *page) took(s eval.Stats) {
	// An import may say nothing of it.
	if s.Latency.P50CI == nil || max(s.Latency.Max, s.Cost.Max, s.Tokens.Max, s.Turns.Max) == 0 {
		return
	}
	p.blank()
	row := func(st style, name, median, bounds string, rest ...string) {
		parts := []part{p.indent(2), styled(st, name).pad(19), styled(st, median).padLeft(9), text("  "), styled(st, bounds).pad(20)}
		for _, cell := range rest {
			parts = append(parts, styled(st, cell).padLeft(10))
		}
		p.line(parts...)
	}
	row(dim, "a trial of an agent", "p50", "95 % interval", "p95", "p99", "max")
	whole := func(x float64) string { return fmt.Sprintf("%.0f", x) }
	for _, of := range []struct {
		name string
		eval.Percentiles
		format func(float64) string
	}{
		{"latency", s.Latency, duration},
		{"cost", s.Cost, func(x float64) string { return eval.USD(int64(x)) }},
		{"tokens", s.Tokens, whole},
		{"turns", s.Turns, whole},
	} {
		if of.Max == 0 {
			continue
		}
		bounds := "·"
		if b := of.P50CI; b != nil {
			bounds = "[" + of.format(b.Low) + ", " + of.format(b.High) + "]"
		}
		p95, p99 := high(of.Percentiles, of.format)
		row(plain, of.name, of.format(of.P50), bounds, p95, p99, of.format(of.Max))
	}
}

// high are the 95th and the 99th percentile. Either is left out where there are too
// few values for it to be more than their maximum.
func high(of eval.Percentiles, format func(float64) string) (p95, p99 string) {
	p95, p99 = "·", "·"
	if of.N >= stats.ValuesForPercentile(95, 100, 0.95) {
		p95 = format(of.P95)
	}
	if of.N >= stats.ValuesForPercentile(99, 100, 0.95) {
		p99 = format(of.P99)
	}
	return p95, p99
}
