package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const (
	// screen is how many lines of cells and steps are all listed. Beyond it only
	// what did not pass is.
	screen = 40
	// failures is how many cells of a verdict a big run lists.
	failures = 20
	// slowest is how many tools are shown.
	slowest = 3
	// reasonLines is how many lines a reason of the verdict may take: what decided
	// stands at its end.
	reasonLines = 4
	// stderrHead is how many lines of a server's stderr go with a failure.
	stderrHead = 5
)

// Terminal writes what `run` prints at its end and what `report` and
// `show RUN` print: the verdict, rates by kind, the cells, the slowest tools
// and what to do next.
func Terminal(w io.Writer, s eval.Summary, o Options) error {
	p := newPage(o)
	p.headline(s)
	p.origin(s.Origin)
	p.rates(s)
	p.rounds(s)
	p.confirmation(s)
	p.money(s)
	p.rules(s)
	p.exemptions(s)
	p.cells(s)
	p.groups(s)
	p.labels(s.Labels)
	p.metrics(s)
	p.took(s.Kinds[eval.KindAgent])
	p.tools(s.Tools)
	p.findings(s.Findings)
	p.next()
	return p.writeTo(w)
}

// Verdict writes the verdict of a run and the reasons for it, and no more.
func Verdict(w io.Writer, s eval.Summary, o Options) error {
	p := newPage(o)
	p.headline(s)
	return p.writeTo(w)
}

// headline is the line that stands when everything else has scrolled away.
func (p *page) headline(s eval.Summary) {
	parts := []part{
		verdictMark(s.Verdict), text(" "), verdictMark(s.Verdict).word(verdictWords(s)),
		text("  " + s.Suite + "  "), styled(dim, s.Run),
	}
	if !s.Finished.IsZero() && s.Origin == nil {
		parts = append(parts, text("   "+duration(took(s))))
	}
	for _, k := range kinds(s) {
		c := s.Kinds[k].Counts
		parts = append(parts, textf("   %s %d/%d pass", k, c.Pass, c.Total()))
	}
	if cost := headlineCost(s.Cost); cost != "" {
		parts = append(parts, text("   "+cost))
	}
	if s.Outcome != "" && s.Outcome != eval.OutcomeComplete {
		parts = append(parts, styled(yellow, "   "+string(s.Outcome)))
	}
	p.line(parts...)
	for _, r := range s.Reasons {
		p.value(2, part{}, r, reasonLines)
	}
}

func (p part) word(s string) part {
	p.text = s
	return p
}

func verdictMark(v eval.RunVerdict) part {
	switch v {
	case eval.RunPass:
		return styled(green, "✓")
	case eval.RunFail:
		return styled(red, "✗")
	case eval.RunError:
		return styled(yellow, "!")
	case eval.RunInconclusive:
		return styled(yellow, "?")
	default:
		return styled(dim, "…")
	}
}

// kinds of a summary in the order in which they are printed.
func kinds(s eval.Summary) []eval.Kind {
	ks := []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent}
	return slices.DeleteFunc(ks, func(k eval.Kind) bool { return s.Kinds[k].Counts.Total() == 0 })
}

// rates writes the numbers of each kind: they are never pooled.
func (p *page) rates(s eval.Summary) {
	for _, k := range kinds(s) {
		of := s.Kinds[k]
		pieces := []part{text(rate(of))}
		if repeated(s, k) {
			pieces = bars(of, trials(s, k))
		}
		for _, v := range eval.Verdicts()[1:] {
			if n := of.Counts.Of(v); n > 0 {
				pieces = append(pieces, textf("   %d %s", n, v).in(mark(v).style))
			}
		}
		if o := of.Open; o != nil {
			pieces = append(pieces, textf("   open: %.1f %% to %.1f %%", 100*o.Low, 100*o.High))
		}
		p.flow([]part{p.indent(2), text(string(k)).pad(9)}, pieces)
		p.flakiness(of)
	}
	if steps, workflows := steps(s.Cells); workflows {
		p.line(p.indent(2), text("steps").pad(9), textf("%d/%d pass", steps.Pass, steps.Pass+steps.Fail))
	}
	for i, u := range usages(s.Usage, s.UserUsage, s.JudgeUsage) {
		name := ""
		if i == 0 {
			name = "tokens"
		}
		p.line(p.indent(2), text(name).pad(9), text(u))
	}
}

// usages tells the tokens of agents, of models that play users and of judges,
// each apart.
func usages(agent, user, judge eval.Usage) []string {
	var lines []string
	for _, u := range []struct {
		who string
		eval.Usage
	}{{"agent", agent}, {"user", user}, {"judge", judge}} {
		if u.Total() > 0 {
			lines = append(lines, join(u.who, count("in", u.Input), count("cached", u.CacheRead), count("out", u.Output), count("reasoning", u.Reasoning)))
		}
	}
	return lines
}

// steps counts those of script cases, and says whether any case has several.
func steps(cells []eval.CellStats) (n eval.StepCounts, workflows bool) {
	for _, c := range cells {
		if c.Kind == eval.KindScript {
			n.Pass += c.Steps.Pass
			n.Fail += c.Steps.Fail
		}
		workflows = workflows || c.Workflow
	}
	return n, workflows
}

// cells lists every cell while they fit on a screen, else those that did not
// pass.
func (p *page) cells(s eval.Summary) {
	lines := 0
	for _, c := range s.Cells {
		lines++
		if c.Workflow {
			lines += len(c.Scores)
		}
	}
	if lines <= screen {
		p.blank()
		names := nameWidth(s.Cells, p.width)
		for _, c := range s.Cells {
			p.cell(c, names, true)
		}
		return
	}
	var warned int
	by := map[eval.Verdict][]eval.CellStats{}
	for _, c := range s.Cells {
		v := verdict(c)
		by[v] = append(by[v], c)
		warned += len(c.Warnings)
	}
	for _, v := range []eval.Verdict{eval.Fail, eval.Error, eval.Unjudged} {
		cells := by[v]
		if len(cells) == 0 {
			continue
		}
		p.blank()
		shown := cells[:min(len(cells), failures)]
		names := nameWidth(shown, p.width)
		for _, c := range shown {
			p.cell(c, names, false)
		}
		if more := len(cells) - len(shown); more > 0 {
			p.line(p.indent(2), textf("… %d more %s", more, v).in(mark(v).style))
		}
	}
	if warned > 0 {
		p.line(p.indent(2), styled(yellow, "~"), textf(" warnings: %d, in the JSON report", warned))
	}
}

// verdict of a cell is the one of its trials that asks for most attention.
func verdict(c eval.CellStats) eval.Verdict {
	for _, v := range []eval.Verdict{eval.Fail, eval.Error, eval.Unjudged, eval.Unfinished, eval.Pass} {
		if c.Counts.Of(v) > 0 {
			return v
		}
	}
	return eval.Skipped
}

// cell writes one cell, with its steps when it is listed with all the others.
func (p *page) cell(c eval.CellStats, names int, all bool) {
	v := verdict(c)
	rest := ""
	if c.Repeats > 1 {
		rest = shown(c) + "  "
	}
	said := ""
	switch f := c.Failure; {
	case f != nil && f.Verdict == eval.Error:
		// A server that does not start fails every case alike: once is enough.
		if said = explain(c, *f); said == p.said {
			rest += "as above"
		} else {
			rest += said
		}
	case f != nil:
		if c.Repeats > 1 {
			rest += fmt.Sprintf("repeat %d: ", f.Repeat)
		}
		rest += explain(c, *f)
	case v != eval.Pass:
		rest += string(v)
	case c.Latency.Max > 0:
		rest += duration(c.Latency.P50)
	}
	p.entry(6, rest, p.indent(2), mark(v), text(" "), text(name(c)).pad(names), text("  "))
	repeated := said != "" && said == p.said
	p.said = said
	p.steps(c, all)
	if c.Failure != nil && !repeated {
		p.stderr(6, c.Failure.Stderr, stderrHead)
	}
	if c.Failure != nil {
		p.traced(6, c.Failure.TraceURL)
	}
	if all {
		for _, warning := range c.Warnings {
			p.entry(8, warning, p.indent(6), styled(yellow, "~ "))
		}
	}
}

// steps writes the scores below a cell: those that failed, and the others too
// where a workflow is listed in full.
func (p *page) steps(c eval.CellStats, all bool) {
	if !many(c) {
		if c.Failure != nil && len(c.Failure.Scores) > 0 {
			p.difference(6, decisive(*c.Failure))
		}
		return
	}
	for _, s := range scores(c) {
		if all && c.Workflow || failed(s) {
			p.score(6, s)
		}
	}
}

// scores of a cell: those of its first repeat, but where the failure that
// explains the cell is from another one, those that failed there.
func scores(c eval.CellStats) []eval.Score {
	if c.Kind == eval.KindCatalog && c.Failure != nil {
		return c.Failure.Scores // two tools may share a name
	}
	list := slices.Clone(c.Scores)
	if c.Failure == nil {
		return list
	}
	for _, s := range c.Failure.Scores {
		if i := find(list, s); i >= 0 {
			list[i] = s
		} else {
			list = append(list, s)
		}
	}
	return list
}

// find finds the score of the same check on the same target: a catalog rule has
// one for each tool.
func find(scores []eval.Score, like eval.Score) int {
	return slices.IndexFunc(scores, func(s eval.Score) bool { return s.Check == like.Check && s.Target == like.Target })
}

// failed says whether a score decided against its trial.
func failed(s eval.Score) bool { return !s.Pass && !s.Warning }

// many says whether a cell decides several things that have names.
func many(c eval.CellStats) bool { return c.Workflow || c.Kind == eval.KindCatalog }

// difference shows what was expected and what came.
func (p *page) difference(indent int, s eval.Score) {
	if len(s.Expected) > 0 {
		p.value(indent, styled(dim, "expected ").pad(9), string(s.Expected), 2)
	}
	if len(s.Actual) > 0 {
		p.value(indent, styled(dim, "actual   ").pad(9), string(s.Actual), 2)
	}
}

// explain says in a line why a trial did not pass.
func explain(c eval.CellStats, f eval.Failure) string {
	if c.Kind == eval.KindAgent && f.Message != "" { // which check of several, and the mean that a threshold wants
		said := cause(f.Reason, f.Message)
		if cut := f.Stop != "" && f.Stop != eval.StopUser; cut && f.Verdict == eval.Fail && f.Reason != eval.ReasonLimit {
			said += fmt.Sprintf(" (stopped: %s)", f.Stop)
		}
		return said
	}
	if !many(c) && len(f.Scores) > 0 {
		return cause(f.Scores[0].Reason, f.Scores[0].Message)
	}
	if c.Workflow && len(f.Scores) > 0 {
		return fmt.Sprintf("%d of %d steps failed", len(f.Scores), max(len(c.Scores), len(f.Scores)))
	}
	return cause(f.Reason, cmp.Or(f.Message, string(f.Verdict)))
}

// decisive is the score that a trial failed for: others may wait for a judge, or
// weigh nothing.
func decisive(f eval.Failure) eval.Score {
	i := slices.IndexFunc(f.Scores, func(s eval.Score) bool { return s.Reason == f.Reason })
	return f.Scores[max(i, 0)]
}

// cause puts the reason before the message, unless it says nothing new.
func cause(r eval.Reason, message string) string {
	switch {
	case message == "":
		return string(r)
	case r == "", r == eval.ReasonMismatch, r == eval.ReasonCatalogRule:
		return message
	default:
		return string(r) + ": " + message
	}
}

// name of a cell: its case, and its variant if there is a choice.
func name(c eval.CellStats) string {
	return eval.InVariant(c.Case, c.Variant)
}

// nameWidth is how wide the column of names is: as the longest, but half of the
// line at most.
func nameWidth(cells []eval.CellStats, width int) int {
	n := 0
	for _, c := range cells {
		n = max(n, wide(Line(name(c), width/2)))
	}
	return n
}

// labels writes the rate of each value of a label.
func (p *page) labels(ls []eval.LabelStats) {
	names := 0
	for _, l := range ls {
		names = max(names, wide(Line(l.Label+"="+l.Value, p.width/3)))
	}
	for i, l := range ls {
		if i == 0 {
			p.blank()
		}
		p.line(p.indent(2), text(l.Label+"="+l.Value).pad(names), text("  "), styled(dim, string(l.Kind)).pad(9), text(share(l.PassRate)))
	}
}

// metrics writes those that the suite wants to see, a column for each variant:
// what was measured, and then what was scored.
func (p *page) metrics(s eval.Summary) {
	if len(s.Compared) == 0 {
		return
	}
	var variants, names []string
	cells := map[string]eval.MetricStats{}
	scored := false
	for _, m := range s.Metrics {
		if !slices.Contains(variants, m.Variant) {
			variants = append(variants, m.Variant)
			scored = false
		}
		scored = scored || m.Metric == "output_tokens" // the last one measured
		if slices.Contains(s.Compared, m.Metric) || (scored && m.Metric != "output_tokens") {
			cells[m.Variant+"\x00"+m.Metric] = m
			if !slices.Contains(names, m.Metric) {
				names = append(names, m.Metric)
			}
		}
	}
	width := 0
	for _, name := range names {
		width = max(width, wide(Line(name, p.width/2)))
	}
	p.blank()
	head := []part{p.indent(2), styled(dim, "mean of a trial").pad(max(width, 15))}
	for _, v := range variants {
		head = append(head, text("  "), styled(dim, v).padLeft(16))
	}
	p.line(head...)
	for _, name := range names {
		parts := []part{p.indent(2), text(Line(name, p.width/2)).pad(max(width, 15))}
		for _, v := range variants {
			parts = append(parts, text("  "), text(metric(cells[v+"\x00"+name])).padLeft(16))
		}
		p.line(parts...)
	}
}

// metric is a mean, or how many trials nobody has scored.
func metric(m eval.MetricStats) string {
	switch {
	case m.Mean != nil && m.Open > 0:
		return fmt.Sprintf("%.4g (%d open)", *m.Mean, m.Open)
	case m.Mean != nil:
		return fmt.Sprintf("%.4g", *m.Mean)
	case m.Open > 0:
		return "unjudged"
	default:
		return "·"
	}
}

// tools writes the slowest tools.
func (p *page) tools(ts []eval.ToolStats) {
	if len(ts) == 0 {
		return
	}
	ts = slices.SortedStableFunc(slices.Values(ts), func(a, b eval.ToolStats) int {
		return cmp.Or(-cmp.Compare(a.Latency.P95, b.Latency.P95), cmp.Compare(a.Tool, b.Tool))
	})
	more := max(len(ts)-slowest, 0)
	ts = ts[:len(ts)-more]
	names := wide("slowest tools")
	for _, t := range ts {
		names = max(names, wide(Line(t.Tool, p.width/2)))
	}
	p.blank()
	columns := func(st style, tool string, cells ...string) {
		parts := []part{p.indent(2), styled(st, tool).pad(names)}
		for _, c := range cells {
			parts = append(parts, styled(st, c).padLeft(9))
		}
		p.line(parts...)
	}
	columns(dim, "slowest tools", "calls", "errors", "p50", "p95", "p99", "max")
	for _, t := range ts {
		p95, p99 := high(t.Latency, duration)
		columns(plain, Line(t.Tool, p.width/2), fmt.Sprint(t.Calls), fmt.Sprint(t.Errors),
			duration(t.Latency.P50), p95, p99, duration(t.Latency.Max))
	}
	if more > 0 {
		p.line(p.indent(2), styled(dim, fmt.Sprintf("… %d more", more)))
	}
}

func (p *page) findings(fs []eval.Finding) {
	if len(fs) > 0 {
		p.blank()
	}
	for _, f := range fs {
		p.line(p.indent(2), styled(yellow, "~ "), textf("%s ×%d  ", f.Code, max(f.Count, 1)), styled(dim, f.Detail))
	}
}
