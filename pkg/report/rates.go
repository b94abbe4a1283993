package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// groupLines is how many groups are listed at most.
const groupLines = 12

// rate of trials in a line: with its 95 % interval for these cases and its n.
func rate(s eval.Stats) string {
	if s.Settled().Total() == 0 && s.Counts.Total() > 0 {
		return "no rate: no round is complete"
	}
	return share(s.PassRate)
}

func share(r eval.Rate95) string {
	if r.Value == nil {
		return "no rate: nothing passed or failed"
	}
	return fmt.Sprintf("%.1f %%  %s  n %d", 100**r.Value, interval(r.Low, r.High), r.N)
}

func interval(low, high float64) string { return fmt.Sprintf("[%.1f, %.1f]", 100*low, 100*high) }

// bars are a rate with both its intervals, and with what each is for.
func bars(s eval.Stats, n string) []part {
	r := s.PassRate
	if r.Value == nil {
		return []part{text(rate(s))}
	}
	pieces := []part{textf("%.1f %%", 100**r.Value), textf("  %s these cases again", interval(r.Low, r.High))}
	if r.Others != nil {
		pieces = append(pieces, textf("  %s cases like these", interval(r.Others.Low, r.Others.High)))
	}
	return append(pieces, text("  "+n))
}

// repeated says whether more can be said of a kind than how many of its cases passed
// once: of agents always, of others where a case has several repeats.
func repeated(s eval.Summary, k eval.Kind) bool {
	return k == eval.KindAgent || slices.ContainsFunc(s.Cells, func(c eval.CellStats) bool { return c.Kind == k && c.Repeats > 1 })
}

// trials says how many a rate is of: 400 = 40 × 10 where each cell has as many.
func trials(s eval.Summary, k eval.Kind) string {
	r := s.Kinds[k].PassRate
	each := 0
	for _, c := range s.Cells {
		switch n := c.PassRate.N; {
		case c.Kind != k || n == 0:
		case each == 0:
			each = n
		case each != n:
			return fmt.Sprintf("n %d in %d cells", r.N, r.Cells)
		}
	}
	if each < 2 {
		return fmt.Sprintf("n %d", r.N)
	}
	return fmt.Sprintf("n %d = %d × %d", r.N, r.Cells, each)
}

// flakiness says how often repeats of a case differ, whose doing that is, and how
// often several all pass.
func (p *page) flakiness(s eval.Stats) {
	d := s.Disagreement
	if d == nil || d.Value == nil {
		return
	}
	under := []part{p.indent(11)}
	pieces := []part{textf("two runs of the same case disagree %.1f %% of the time", 100**d.Value)}
	if d.Others != nil {
		pieces = append(pieces, text("  "+interval(d.Others.Low, d.Others.High)))
	}
	if v := s.Variance; v != nil && v.Judge+v.Infrastructure > 0 {
		pieces = append(pieces, textf("  agent %.0f %%, judge %.0f %%, infrastructure %.0f %% of it", 100*v.Agent, 100*v.Judge, 100*v.Infrastructure))
	}
	p.flow(under, pieces)
	if *d.Value == 0 {
		return // all of k pass as often as one does
	}
	pieces = []part{text("k runs all pass")}
	for i, m := range s.PassHatK {
		if k := i + 1; m.Value != nil && (k <= 3 || k == 5 || k == len(s.PassHatK)) {
			pieces = append(pieces, textf("  k=%d %.1f %%", k, 100**m.Value))
		}
	}
	p.flow(under, pieces)
}

// shown is what the repeats of a cell show of it: "3/3 pass, p ≥ 0.37".
func shown(c eval.CellStats) string {
	of, bound, bounded := strings.Cut(c.Bound, ", ")
	if of == "" {
		return fmt.Sprintf("%d/%d pass", c.Counts.Pass, c.Counts.Total())
	}
	said := of + " pass"
	if bounded {
		said += ", " + bound
	}
	for _, v := range []eval.Verdict{eval.Error, eval.Unjudged, eval.Unfinished} {
		if n := c.Counts.Of(v); n > 0 {
			said += fmt.Sprintf(", %d %s", n, v)
		}
	}
	return said
}

// groups writes the rates of the variants and tags of kinds of which there is more to
// say than how many cases passed.
func (p *page) groups(s eval.Summary) {
	gs := slices.DeleteFunc(slices.Clone(s.Groups), func(g eval.GroupStats) bool {
		return g.By == eval.GroupByCase || g.PassRate.Value == nil || !repeated(s, g.Kind)
	})
	more := max(len(gs)-groupLines, 0)
	gs = gs[:len(gs)-more]
	title := func(g eval.GroupStats) string {
		if g.By == eval.GroupByTag {
			return "tag " + g.Name
		}
		return g.Name
	}
	names := 0
	for _, g := range gs {
		names = max(names, wide(Line(title(g), p.width/3)))
	}
	for i, g := range gs {
		if i == 0 {
			p.blank()
		}
		p.line(p.indent(2), text(Line(title(g), p.width/3)).pad(names), text("  "), styled(dim, string(g.Kind)).pad(9), text(rate(g.Stats)))
	}
	if more > 0 {
		p.line(p.indent(2), styled(dim, fmt.Sprintf("… %d more, in the JSON report", more)))
	}
}
