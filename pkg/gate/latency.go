package gate

import (
	"fmt"
	"math"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// latency decides a percentile of the latency of trials, or of the calls of a tool.
func (g *sitting) latency(c claim, r *eval.RuleResult) {
	if c.ByChance() {
		g.medians(c, r)
		return
	}
	head, ok := g.percentiles(c)
	if !ok || head.N == 0 {
		g.unmeasured(c, r)
		return
	}
	r.N, r.Level = head.N, 0.025
	ci := percentile(head, c.Metric)
	r.Details = append(r.Details, fmt.Sprintf("order statistics of %d values, 95 %% interval", head.N))
	if c.Relative {
		base, ok := basePercentiles(*g.arms.Base, c)
		if !ok || base.N == 0 {
			g.missing(r, fmt.Sprintf("run %s has not measured it", g.arms.Base.Run))
			return
		}
		b := percentile(base, c.Metric)
		r.Level = 0.05
		r.Details = append(r.Details, fmt.Sprintf("head %.4g ms [%.4g, %.4g], base %.4g ms [%.4g, %.4g] of %d values; the ratio lies between head.low/base.high and head.high/base.low",
			ci.Point, ci.Low, ci.High, b.Point, b.Low, b.High, base.N))
		ci = stats.Interval{Point: ci.Point / b.Point, Low: ci.Low / b.High, High: ci.High / b.Low}
	}
	show(r, ci)
	said := fmt.Sprintf("%s: %s %s%s, want %s", c.narrowed(), c.Metric, amount(c.Rule, ci.Point), between(r), want(c.Rule))
	if c.Relative {
		r.Decision = ratio(ci, c.Rule)
	} else {
		r.Decision = compareWith(ci, c.Rule)
	}
	if r.Decision == eval.DecisionInconclusive {
		said += fmt.Sprintf(": too little is known from %d values", head.N)
	}
	r.Message = said
}

// unmeasured is what becomes of a rule on a latency that no trial has. That decides
// nothing, unless no such trial was wanted: a run of a part of the suite may well not
// call a tool.
func (g *sitting) unmeasured(c claim, r *eval.RuleResult) {
	switch {
	case c.Tool == "" && len(g.cells(c)) == 0:
		r.Decision, r.Message = eval.DecisionNone, r.Title+": the run has no such case in the gate"
	case c.Tool != "" && g.snap.Partial:
		r.Decision, r.Message = eval.DecisionNone, r.Title+": this part of the suite has not called it"
	case c.Tool != "":
		r.Message = r.Title + ": nothing was measured; no trial has called it"
	case !c.kept(g.snap):
		r.Message = r.Title + ": " + notKept
	default:
		r.Message = r.Title + ": nothing was measured"
	}
}

const notKept = "a run has no percentiles of a tag in a variant, nor of several variants at once"

// kept says whether a run has the percentiles that a claim is about.
func (c claim) kept(snap eval.Snapshot) bool {
	if c.Tool != "" || len(c.Axes) == 0 {
		return true
	}
	id := eval.NewVariant(c.Axes).ID
	return c.Tag == "" && slices.ContainsFunc(snap.Variants, func(v eval.Variant) bool { return v.ID == id })
}

// percentiles that a claim is about.
func (g *sitting) percentiles(c claim) (eval.Percentiles, bool) {
	if c.Tool != "" {
		return ofTool(g.s.Tools, c.Tool)
	}
	var groups []eval.GroupStats
	for _, group := range g.s.Groups {
		switch {
		case group.Kind != c.Kind:
		case c.Tag != "" && len(c.Axes) == 0 && group.By == eval.GroupByTag && group.Name == c.Tag,
			c.Tag == "" && len(c.Axes) > 0 && group.By == eval.GroupByVariant && group.Name == eval.NewVariant(c.Axes).ID:
			groups = append(groups, group)
		}
	}
	switch {
	case c.Tag == "" && len(c.Axes) == 0:
		return g.s.Kinds[c.Kind].Latency, true
	case len(groups) == 1:
		return groups[0].Latency, true
	}
	return eval.Percentiles{}, false
}

func basePercentiles(a eval.Arm, c claim) (eval.Percentiles, bool) {
	switch {
	case c.Tool != "":
		return ofTool(a.Tools, c.Tool)
	case c.Tag != "" || len(c.Axes) > 0:
		return eval.Percentiles{}, false // an arm has them of whole kinds alone
	}
	return a.Kinds[c.Kind].Latency, true
}

func ofTool(tools []eval.ToolStats, name string) (eval.Percentiles, bool) {
	i := slices.IndexFunc(tools, func(t eval.ToolStats) bool { return t.Tool == name })
	if i < 0 {
		return eval.Percentiles{}, false
	}
	return tools[i].Latency, true
}

// percentile of a set with its interval; NaN where there is none.
func percentile(p eval.Percentiles, m eval.Metric) stats.Interval {
	of := map[eval.Metric]struct {
		at     float64
		bounds *eval.Bounds
	}{eval.MetricLatencyP50: {p.P50, p.P50CI}, eval.MetricLatencyP95: {p.P95, p.P95CI}, eval.MetricLatencyP99: {p.P99, p.P99CI}}[m]
	ci := stats.Interval{Point: of.at, Low: math.NaN(), High: math.NaN()}
	if of.bounds != nil {
		ci.Low, ci.High = of.bounds.Low, of.bounds.High
	}
	return ci
}

// medians decides how many times as slow the cells are as in the baseline: by the
// middle of the ratios of their medians, which one slow cell does not move.
func (g *sitting) medians(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, fmt.Sprintf("signed-rank interval of the log ratios of cell medians, one-sided level %.4g", c.level))
	pairs := g.pairs(c, r)
	if len(pairs) == 0 {
		return
	}
	var base, head []float64
	for _, p := range pairs {
		if p.Base.MedianMS > 0 && p.Head.MedianMS > 0 {
			base, head = append(base, p.Base.MedianMS), append(head, p.Head.MedianMS)
		}
	}
	if len(base) == 0 {
		g.missing(r, "no cell has a latency in both runs")
		return
	}
	ci, coverage := stats.SignedRank(stats.LogRatios(base, head), 1-2*c.level)
	r.Details = append(r.Details, fmt.Sprintf("its real confidence is %.4g", coverage))
	g.ratio(c, r, ci.Exp(), len(base))
}

// ratio shows and decides a ratio to the baseline over so many cells.
func (g *sitting) ratio(c claim, r *eval.RuleResult, ci stats.Interval, cells int) {
	r.N = cells
	show(r, ci)
	r.Decision = ratio(ci, c.Rule)
	r.Message = fmt.Sprintf("%s: %s %s of run %s%s over %d cells, want %s", c.narrowed(), c.Metric, amount(c.Rule, ci.Point), g.arms.Base.Run, between(r), cells, want(c.Rule))
	if r.Decision == eval.DecisionInconclusive {
		r.Message += ": too little is known"
	}
}

// ratio decides one. A bound below 1 asks for an improvement, which is missed as soon
// as the ratio is shown to be above it.
func ratio(ci stats.Interval, r eval.Rule) eval.Decision {
	if r.Bound < 1 {
		return compareWith(ci, r)
	}
	return eval.Decision(stats.DecideRatio(ci, r.Bound-1))
}
