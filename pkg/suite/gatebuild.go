package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// gate makes rules of what the gate says, in the order of its keys, and notes where
// each of them is written.
func (b *build) gate(g *gateFile) {
	at := g.Node()
	out := &b.suite.Gate
	b.waivers(g)
	out.Alpha, out.Baseline, out.IfMissing, out.Strict, out.Per = float64(g.Alpha), g.Baseline, eval.IfMissing(g.IfMissing), g.Strict, g.Per
	if g.Per != "" && !slices.ContainsFunc(b.suite.Axes, func(a eval.Axis) bool { return a.Name == g.Per }) {
		b.unknownName(at.Place("per"), "axis", g.Per, b.axisNames())
	}
	b.bounds(at, &g.numbersFile, eval.Rule{})
	if f := g.CatalogFingerprint; f != "" {
		fingerprint := string(f)
		if f == "same" {
			fingerprint = ""
		}
		b.rule(at.Place("catalog_fingerprint"), eval.Rule{Metric: eval.MetricCatalog, Fingerprint: fingerprint})
	}
	if f := g.JudgeAgreement; f.Op != "" {
		if b.judgeless() && !b.failed() {
			b.warn(at.Place("judge_agreement"), "the suite has no check that a judge decides", "")
		}
		b.rule(at.Place("judge_agreement"), eval.Rule{Metric: eval.MetricJudgeAgreement, Op: f.Op, Bound: f.Bound})
	}
	tools := at.Get("tools")
	for _, name := range sorted(g.Tools) {
		t, of := g.Tools[name], tools.Get(name)
		b.latencies(of, t.LatencyP50, t.LatencyP95, t.LatencyP99, eval.Rule{Tool: name})
	}
	tags := at.Get("tags")
	for _, tag := range sorted(g.Tags) {
		scope := g.Tags[tag]
		if !slices.ContainsFunc(b.suite.Cases, func(c eval.Case) bool { return slices.Contains(c.Tags, tag) }) && len(b.suite.Cases) > 0 {
			b.unknownName(tags.Place(tag), "tag", tag, b.tags())
		}
		b.bounds(tags.Get(tag), &scope.numbersFile, eval.Rule{Tag: tag})
	}
	variants := at.Get("variants")
	for _, key := range sorted(g.Variants) {
		scope := g.Variants[key]
		axes, err := axesOf(key)
		if err != nil {
			b.report(variants.Place(key), err.Error(), "write AXIS=VALUE, such as model=fast")
			continue
		}
		for _, name := range sorted(axes) {
			b.knownPoint(variants.Place(key), name, axes[name])
		}
		b.bounds(variants.Get(key), &scope.numbersFile, eval.Rule{Axes: axes})
	}
	b.comparing(at)
	b.alphas(at)
	b.pinned(at)
}

// judgeless says whether the suite has cases, and no judge decides any of them.
func (b *build) judgeless() bool {
	judged := func(c eval.Case) bool { return len(c.Judges()) > 0 }
	return len(b.suite.Cases) > 0 && !slices.ContainsFunc(b.suite.Cases, judged)
}

// rule adds a rule and notes where it is written.
func (b *build) rule(at strictyaml.Pos, r eval.Rule) {
	b.suite.Gate.Rules = append(b.suite.Gate.Rules, r)
	b.loaded.Rules = append(b.loaded.Rules, at)
}

// bounds adds the rules of a part of the gate, narrowed to what it stands under.
func (b *build) bounds(at *strictyaml.Node, f *numbersFile, of eval.Rule) {
	if p := f.PassRate; p != nil {
		for _, kind := range []struct {
			kind eval.Kind
			rule rule
		}{{eval.KindScript, p.Script}, {eval.KindCatalog, p.Catalog}, {eval.KindAgent, p.Agent}} {
			if kind.rule.Op == "" {
				continue
			}
			place := at.Place("pass_rate")
			if !p.Plain {
				place = at.Place("pass_rate", string(kind.kind))
			}
			if kind.kind != eval.KindAgent && (of.Tag != "" || len(of.Axes) > 0) {
				b.report(place, fmt.Sprintf("a rule on %s cases is about all of them", kind.kind), "write it in gate: {pass_rate: …}")
				continue
			}
			r := of
			r.Metric, r.Kind, r.Op, r.Bound = eval.MetricPassRate, kind.kind, kind.rule.Op, kind.rule.Bound
			r.Observed = p.Basis == basisObserved && kind.kind == eval.KindAgent
			b.rule(place, r)
		}
	}
	if p := f.PassHatK; p != nil {
		r := of
		r.Metric, r.K, r.Op, r.Bound = eval.MetricPassHatK, int(p.K), ">=", float64(p.AtLeast)
		b.rule(at.Place("pass_hat_k"), r)
	}
	if p := f.Regressions; p != nil {
		b.regressions(at, p, of)
	}
	for _, one := range []struct {
		key   string
		rule  ceiling
		about eval.Metric
	}{{"disagreement", f.Disagreement, eval.MetricDisagreement}, {"unjudged", f.Unjudged, eval.MetricUnjudged}} {
		if one.rule.Op != "" {
			r := of
			r.Metric, r.Op, r.Bound = one.about, one.rule.Op, one.rule.Bound
			b.rule(at.Place(one.key), r)
		}
	}
	b.latencies(at, f.LatencyP50, f.LatencyP95, f.LatencyP99, of)
	if c := f.CostUSD; c.Op != "" {
		r := of
		r.Metric, r.Op, r.Bound, r.Relative = eval.MetricCost, c.Op, c.Bound, c.Relative
		b.rule(at.Place("cost_usd"), r)
	}
}

func (b *build) latencies(at *strictyaml.Node, p50, p95, p99 latencyBound, of eval.Rule) {
	for _, one := range []struct {
		metric eval.Metric
		bound  latencyBound
	}{{eval.MetricLatencyP50, p50}, {eval.MetricLatencyP95, p95}, {eval.MetricLatencyP99, p99}} {
		if one.bound.Op == "" {
			continue
		}
		r := of
		r.Metric, r.Op, r.Bound, r.Relative = one.metric, one.bound.Op, one.bound.Bound, one.bound.Relative
		place := at.Place(string(one.metric))
		if parts := of.Tag != "" || len(of.Axes) > 0 || b.suite.Gate.Per != "" && of.Tool == ""; parts && r.Relative && r.Metric != eval.MetricLatencyP50 {
			b.report(place, fmt.Sprintf("a baseline has no %s of a part of its cases", one.metric), `compare latency_p50, or bound it: "<= 2s"`)
			continue
		}
		b.rule(place, r)
	}
}

func (b *build) regressions(at *strictyaml.Node, f *regressionsFile, of eval.Rule) {
	place := at.Place("regressions")
	out := &b.suite.Gate
	switch {
	case f.Baseline == "":
	case out.Baseline == "":
		out.Baseline = f.Baseline
	case out.Baseline != f.Baseline:
		b.report(f.Node().Place("baseline"), fmt.Sprintf("the gate compares with %s already", strictyaml.Quote(out.Baseline)), "a gate has one baseline")
	}
	if c := f.Confirm; c != nil {
		if out.Confirm != nil {
			b.report(f.Node().Place("confirm"), "confirm is given twice", "one is for the whole gate")
		}
		out.Confirm = &eval.Confirm{Repeats: int(c.Repeats), MicroUSD: int64(c.USD)}
	}
	r := of
	r.Metric, r.Kind, r.Margin, r.Alpha = eval.MetricRegressions, eval.KindAgent, float64(f.Margin), float64(f.Alpha)
	b.rule(place, r)
}

// comparing reports rules that compare with nothing.
func (b *build) comparing(at *strictyaml.Node) {
	if b.suite.Gate.Baseline != "" || b.opts.Baseline != "" {
		return
	}
	for i, r := range b.suite.Gate.Rules {
		if r.Compares() && b.sound(at) {
			b.report(b.loaded.Rules[i], `missing key "baseline"`, "main, last-green, a run, or file:// and a path")
			return
		}
	}
}

// alphas reports rules that leave nothing of the gate's alpha to the others.
func (b *build) alphas(at *strictyaml.Node) {
	left := b.suite.Gate.Alpha
	if left == 0 {
		left = 0.05
	}
	sharing, last := 0, -1
	for i, r := range b.suite.Gate.Rules {
		switch {
		case r.Alpha > 0:
			left -= r.Alpha
			last = i
		case r.ByChance() && (r.Kind == "" || r.Kind == eval.KindAgent):
			sharing++
		}
	}
	if last >= 0 && (left < -1e-12 || sharing > 0 && left < 1e-12) && b.sound(at) {
		b.report(b.loaded.Rules[last], "the alpha of this rule leaves nothing of the gate's to the others", "raise alpha of the gate (0.05 by default), or lower it here")
	}
}

// snapshotDigits in a row are a date, or another number of a snapshot.
const snapshotDigits = 4

// unpinned says whether the name of a provider's model is an alias, behind which
// another model may stand tomorrow: it has no date, or says latest.
func unpinned(m eval.Model) bool {
	if m.Provider == eval.ProviderScripted || m.Replayed() || m.BaseURL != "" || m.Model == "" {
		return false
	}
	digits := 0
	for _, r := range m.Model {
		if r >= '0' && r <= '9' {
			if digits++; digits == snapshotDigits && !strings.Contains(m.Model, "latest") {
				return false
			}
			continue
		}
		digits = 0
	}
	return true
}

// pinned warns of a gate on agents whose models are aliases; a strict one refuses them.
func (b *build) pinned(at *strictyaml.Node) {
	agents := slices.ContainsFunc(b.suite.Gate.Rules, func(r eval.Rule) bool {
		return (r.Kind == eval.KindAgent || r.Kind == "" && r.Metric != eval.MetricCatalog) && r.Tool == ""
	})
	if !agents || b.agentless() || b.failed() {
		return
	}
	for _, name := range sorted(b.suite.Models) {
		m := b.suite.Models[name]
		if !unpinned(m) {
			continue
		}
		place := at.Pos // of a policy, where the suite is not at hand
		if suite := b.file.Node(); suite != nil {
			place = suite.Place("models", name, "model")
		}
		message := fmt.Sprintf("the gate rests on %s, an alias behind which another model may stand tomorrow", strictyaml.Quote(m.Model))
		const hint = "name a snapshot with its date, so that a run can be compared with one of another day"
		if b.suite.Gate.Strict {
			b.report(place, message, hint)
		} else {
			b.warn(place, message, hint)
		}
	}
}

func (b *build) axisNames() []string {
	var names []string
	for _, a := range b.suite.Axes {
		names = append(names, a.Name)
	}
	return names
}

// knownPoint reports an axis or a value that the suite does not have.
func (b *build) knownPoint(at strictyaml.Pos, axis, value string) {
	i := slices.IndexFunc(b.suite.Axes, func(a eval.Axis) bool { return a.Name == axis })
	if i < 0 {
		b.unknownName(at, "axis", axis, b.axisNames())
		return
	}
	var values []string
	for _, p := range b.suite.Axes[i].Points {
		values = append(values, p.Value)
	}
	if !slices.Contains(values, value) {
		b.unknownName(at, "value of axis "+axis, value, values)
	}
}

// tags of all cases.
func (b *build) tags() []string {
	var tags []string
	for _, c := range b.suite.Cases {
		tags = append(tags, c.Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
