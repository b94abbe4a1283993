package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Comparison writes what `compare` prints: the decision, what is not the same in both
// arms, the numbers by kind, and the cells that changed, those that became worse first.
// Shown are the changes that are listed; without any it is all but the unchanged.
func Comparison(w io.Writer, c eval.ArmComparison, shown []eval.Change, o Options) error {
	p := newPage(o)
	p.decision(c)
	p.differ(c.Differ)
	for _, k := range c.Kinds {
		p.blank()
		p.kind(k)
	}
	for _, change := range eval.Changes() {
		wanted := slices.Contains(shown, change) || len(shown) == 0 && change != eval.ChangeUnchanged
		if cells := changed(c.Cells, change); wanted && len(cells) > 0 {
			p.blank()
			p.changed(change, cells)
		}
	}
	p.next()
	return p.writeTo(w)
}

func (p *page) decision(c eval.ArmComparison) {
	mark := decisionMark(c.Decision)
	p.line(mark, text(" "), mark.word(strings.ToUpper(word(c.Decision))), text("  "+c.Head.Suite))
	for _, s := range []struct {
		name string
		eval.Side
	}{{"base", c.Base}, {"head", c.Head}} {
		parts := []part{p.indent(2), styled(dim, s.name), text("  ")}
		if s.Value != "" {
			parts = append(parts, text(c.Axis+"="+s.Value+"  "))
		}
		parts = append(parts, text(s.Run))
		if s.Runs > 1 {
			parts = append(parts, textf(" and %d before it", s.Runs-1))
		}
		if g := s.Git; g != nil {
			parts = append(parts, styled(dim, "  "+strings.TrimSpace(g.Branch+" "+g.Commit[:min(len(g.Commit), 7)])))
		}
		if s.Outcome != "" && s.Outcome != eval.OutcomeComplete {
			parts = append(parts, styled(yellow, "  "+string(s.Outcome)))
		}
		if s.Note != "" {
			parts = append(parts, styled(dim, "  "+s.Note))
		}
		p.line(parts...)
	}
	for _, r := range c.Reasons {
		p.value(2, part{}, r, 3)
	}
}

// word of a decision.
func word(d eval.Decision) string {
	if d == eval.DecisionNone {
		return "nothing to compare"
	}
	return string(d)
}

func decisionMark(d eval.Decision) part {
	switch d {
	case eval.DecisionPass:
		return styled(green, "✓")
	case eval.DecisionFail:
		return styled(red, "✗")
	default:
		return styled(yellow, "?")
	}
}

// differ lists the conditions that are not the same, and what follows from it.
func (p *page) differ(ds []eval.Difference) {
	if len(ds) == 0 {
		return
	}
	p.blank()
	p.heading("not the same in both")
	names := 0
	for _, d := range ds {
		names = max(names, wide(Line(d.Condition, 20)))
	}
	for i, d := range ds {
		if i == failures {
			p.line(p.indent(4), styled(dim, fmt.Sprintf("… %d more", len(ds)-i)))
			break
		}
		scope := ""
		switch {
		case d.Excludes:
			scope = fmt.Sprintf("  (%s not compared)", cells(d.Cells))
		case d.Condition == eval.ConditionPrices:
			scope = fmt.Sprintf("  (%s, costs not compared)", cells(d.Cells))
		case d.Cells > 0:
			scope = fmt.Sprintf("  (%s)", cells(d.Cells))
		}
		side := max((p.width-6-names-wide(scope)-3)/2, 12)
		p.line(p.indent(4), text(Line(d.Condition, 20)).pad(names), text("  "),
			text(values(d, side)), styled(dim, scope))
	}
}

// values of a condition in base and head.
func values(d eval.Difference, width int) string {
	if d.Base == "" && d.Head == "" {
		return "changed"
	}
	return Line(cmp.Or(d.Base, "not known"), width) + " → " + Line(cmp.Or(d.Head, "not known"), width)
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// kind writes the numbers of one kind.
func (p *page) kind(k eval.KindComparison) {
	label := func(name string) part { return styled(dim, name).pad(14) }
	row := func(name, format string, a ...any) { p.value(4, label(name), fmt.Sprintf(format, a...), 3) }
	p.line(p.indent(2), styled(bold, string(k.Kind)), textf("  %s", k.Decision).in(decisionMark(k.Decision).style))
	if k.Cells > 0 {
		row("pass rate", "%s → %s   %s  of %s, %d and %d trials", percent(k.Base.Value), percent(k.Head.Value), compare.Points(k.Difference), cells(k.Cells), k.Base.N, k.Head.N)
		row("any change", "exact p %s for worse, %s for better", pValue(k.P.Harm), pValue(k.P.Improve))
		if k.Kind == eval.KindAgent {
			row("could find", "%s", found(k))
			row("other cases", "%s  of %d cases: paired t p %s, sign-flip p %s; decides nothing", compare.Points(k.Others.Difference), k.Others.Cases, pValue(k.Others.TestP), pValue(k.Others.SignFlipP))
		}
	}
	for _, r := range []struct {
		name string
		*eval.RatioComparison
	}{{"latency", k.Latency}, {"cost", k.Cost}} {
		if r.RatioComparison != nil {
			p.line(p.indent(4), label(r.name), textf("%s  of %s  ", times(r.Ratio), cells(r.Cells)), decisionMark(r.Decision).word(string(r.Decision)))
		}
	}
	for _, side := range []struct {
		name string
		eval.ArmRate
	}{{"base", k.Base}, {"head", k.Head}} {
		if side.Open > 0 {
			row("no verdict", "%d trials of the %s", side.Open, side.name)
		}
		if side.Unfinished > 0 {
			row("unfinished", "%d trials of the %s", side.Unfinished, side.name)
		}
	}
	var counts []string
	for _, c := range eval.Changes() {
		if n := k.Changes[c]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, c))
		}
	}
	row("cells", "%s", strings.Join(counts, ", "))
	for _, n := range k.Notes {
		p.value(4, styled(yellow, "~ "), n, 3)
	}
}

// found is what the repeats could find.
func found(k eval.KindComparison) string {
	if k.MDE == nil {
		return "nobody can tell: no two repeats disagreed"
	}
	return fmt.Sprintf("a drop of %.1f points, with a chance of 80 %%", 100**k.MDE)
}

func percent(rate *float64) string {
	if rate == nil {
		return "no rate"
	}
	return fmt.Sprintf("%.1f %%", 100**rate)
}

// times is a ratio with its bounds.
func times(e eval.Estimate) string {
	switch {
	case e.Value == nil:
		return "no ratio"
	case e.Low == nil || e.High == nil:
		return fmt.Sprintf("×%.3g [too few cells for an interval]", *e.Value)
	}
	return fmt.Sprintf("×%.3g [%.3g, %.3g]", *e.Value, *e.Low, *e.High)
}

func pValue(x *float64) string {
	switch {
	case x == nil:
		return "unknown"
	case *x < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.2g", *x)
}

func changed(cells []eval.CellComparison, c eval.Change) []eval.CellComparison {
	var found []eval.CellComparison
	for _, cell := range cells {
		if cell.Change == c {
			found = append(found, cell)
		}
	}
	return found
}

// changed lists the cells that something became of.
func (p *page) changed(change eval.Change, cells []eval.CellComparison) {
	st := plain
	switch change {
	case eval.ChangeRegressed:
		st = red
	case eval.ChangeWorse, eval.ChangeFlaky, eval.ChangeIncomparable:
		st = yellow
	case eval.ChangeImproved, eval.ChangeBetter:
		st = green
	case eval.ChangeRemoved, eval.ChangeNew, eval.ChangeUnchanged:
	}
	p.line(p.indent(2), styled(st, string(change)), styled(dim, meaning(change)))
	limit := failures
	if p.o.Full {
		limit = len(cells)
	}
	shown := cells[:min(len(cells), limit)]
	names := 0
	for _, c := range shown {
		names = max(names, wide(Line(cellName(c), p.width/2)))
	}
	for _, c := range shown {
		p.change(c, names)
	}
	if more := len(cells) - len(shown); more > 0 {
		p.line(p.indent(4), styled(dim, fmt.Sprintf("… %d more", more)))
	}
}

// meaning of a change, where the word does not say it.
func meaning(c eval.Change) string {
	switch c {
	case eval.ChangeRegressed:
		return "  shown to pass less often"
	case eval.ChangeWorse:
		return "  suspects: not shown to pass less often"
	case eval.ChangeImproved:
		return "  shown to pass more often"
	case eval.ChangeBetter:
		return "  not shown to pass more often"
	case eval.ChangeNew:
		return "  in the head alone"
	case eval.ChangeRemoved:
		return "  in the base alone"
	default:
		return ""
	}
}

func cellName(c eval.CellComparison) string {
	return name(eval.CellStats{Case: c.Case, Variant: c.Variant})
}

func (p *page) change(c eval.CellComparison, names int) {
	rest := c.Why
	switch {
	case c.Base != nil && c.Head != nil:
		rest = fmt.Sprintf("%s → %s", ofTrials(*c.Base), ofTrials(*c.Head))
		if c.Why != "" {
			rest += "  " + c.Why
		}
	case c.Base != nil:
		rest = ofTrials(*c.Base)
	case c.Head != nil:
		rest = ofTrials(*c.Head)
	}
	if c.P != nil && c.Change != eval.ChangeUnchanged {
		rest += fmt.Sprintf("   p %s", pValue(c.P))
		if c.Q != nil {
			rest += fmt.Sprintf(", q %s", pValue(c.Q))
		}
	}
	p.entry(6, rest, p.indent(4), text(cellName(c)).pad(names), text("  "))
	if s := c.Step; s != nil {
		place := fmt.Sprintf("turn %d", s.Turn)
		if s.Step != "" {
			place = "step " + s.Step
		}
		if s.Call > 0 {
			place += fmt.Sprintf(", call %d", s.Call)
		}
		p.line(p.indent(6), styled(dim, "first difference: "), text(place), styled(dim, fmt.Sprintf("  (repeat %d of the base, %d of the head)", s.BaseRepeat, s.HeadRepeat)))
		p.value(8, styled(dim, "base ").pad(5), s.Base, 3)
		p.traced(8, s.BaseTraceURL)
		p.value(8, styled(dim, "head ").pad(5), s.Head, 3)
		p.traced(8, s.HeadTraceURL)
	}
}

// ofTrials is how many of the trials with a verdict passed.
func ofTrials(c eval.VerdictCounts) string {
	s := fmt.Sprintf("%d/%d", c.Pass, c.Pass+c.Fail)
	if c.Error > 0 {
		s += fmt.Sprintf(" (%d error)", c.Error)
	}
	if n := c.Unjudged + c.Unfinished; n > 0 {
		s += fmt.Sprintf(" (%d open)", n)
	}
	return s
}
