package gate

import (
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// exemptions takes out of the gate what waivers and quarantines say, and notes in the
// summary what each of them did. One that had expired when the run was made does
// nothing.
func (g *sitting) exemptions() {
	g.exempt = map[int]bool{}
	g.s.Exemptions = nil
	for i := range g.s.Cells {
		g.s.Cells[i].Exempt = ""
	}
	for _, w := range g.snap.Waivers {
		e := eval.Exemption{Waiver: &w, Expired: !w.Expires.After(g.s.Started)}
		if w.Case != "" && !e.Expired {
			g.take(&e, waivedWord+": "+w.Reason, func(c eval.CellStats) bool { return w.Covers(c.Case) })
		}
		g.s.Exemptions = append(g.s.Exemptions, e)
	}
	for _, q := range g.snap.Quarantines {
		e := eval.Exemption{Quarantine: &q, Expired: !q.Expires.After(g.s.Started)}
		if !e.Expired {
			g.take(&e, strings.TrimSuffix(quarantinedWord+": "+q.Reason, ": "), func(c eval.CellStats) bool {
				return q.Covers(c.Case, c.Variant)
			})
		}
		g.s.Exemptions = append(g.s.Exemptions, e)
	}
}

const (
	waivedWord      = "waived"
	quarantinedWord = "quarantined"
)

// take takes cells out of the gate.
func (g *sitting) take(e *eval.Exemption, why string, of func(eval.CellStats) bool) {
	for i := range g.s.Cells {
		c := &g.s.Cells[i]
		if !of(*c) {
			continue
		}
		e.Cells++
		e.Fails += c.Counts.Total() - c.Counts.Pass - c.Counts.Skipped
		g.exempt[i] = true
		if c.Exempt == "" {
			c.Exempt = why
		}
	}
	e.Used = e.Fails > 0
}

// waived says whether a waiver takes a rule out of the gate, and notes that it did.
func (g *sitting) waived(r eval.RuleResult) bool {
	i := slices.IndexFunc(g.s.Exemptions, func(e eval.Exemption) bool {
		return e.Waiver != nil && !e.Expired && e.Waiver.Rule == r.Rule.Metric
	})
	if i < 0 {
		return false
	}
	if r.Decision == eval.DecisionFail || r.Decision == eval.DecisionInconclusive {
		g.s.Exemptions[i].Used = true
	}
	return true
}
