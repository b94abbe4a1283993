package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Gate writes what the gate says of a run: the verdict with its reasons, the rules,
// what is out of the gate, and with Explain how each rule was decided.
func Gate(w io.Writer, s eval.Summary, o Options) error {
	p := newPage(o)
	p.headline(s)
	p.rules(s)
	p.exemptions(s)
	return p.writeTo(w)
}

// rules writes a line for each rule: what it is, its number with the interval, and what
// it came to.
func (p *page) rules(s eval.Summary) {
	if len(s.Rules) == 0 {
		return
	}
	p.blank()
	p.heading("rules")
	widest, values := 0, 0
	for _, r := range s.Rules {
		widest = max(widest, wide(Line(r.Title, 60)))
		values = max(values, wide(observed(r)))
	}
	for _, r := range s.Rules {
		p.line(p.indent(2), decisionMark(r), text(" "), text(Line(r.Title, 60)).pad(widest+2), text(observed(r)).pad(values+2), text(decided(r)))
		if p.o.Explain {
			p.value(6, part{}, r.Message, 4)
			for _, d := range r.Details {
				p.value(6, styled(dim, "· "), d, 3)
			}
		}
	}
}

// exemptions writes what waivers and quarantines did.
func (p *page) exemptions(s eval.Summary) {
	if len(s.Exemptions) == 0 {
		return
	}
	p.blank()
	p.heading("out of the gate")
	for _, e := range s.Exemptions {
		what, who, why, until := "", "", "", ""
		switch {
		case e.Waiver != nil:
			what, who, why, until = "waived "+e.Waiver.Case+string(e.Waiver.Rule), e.Waiver.Approver, e.Waiver.Reason, e.Waiver.Expires.Format("2006-01-02")
		case e.Quarantine != nil:
			what, who, why, until = "quarantined "+e.Quarantine.Case, e.Quarantine.By, e.Quarantine.Reason, e.Quarantine.Expires.Format("2006-01-02")
			if e.Quarantine.Variant != "" {
				what += " [" + e.Quarantine.Variant + "]"
			}
		}
		did := "not used"
		switch {
		case e.Expired:
			did = "expired, so it is not applied"
		case e.Used && e.Cells > 0:
			did = fmt.Sprintf("%d of its trials did not pass", e.Fails)
		case e.Used:
			did = "it was needed"
		}
		p.line(p.indent(2), text(Line(what, 60)), text("  until "+until), text("  "+did), styled(dim, "  "+strings.TrimSpace(Line(who, 40)+"  "+Line(why, 80))))
	}
}

func decisionMark(r eval.RuleResult) part {
	switch {
	case r.Waived:
		return styled(dim, "–")
	case r.Decision == eval.DecisionPass:
		return styled(green, "✓")
	case r.Decision == eval.DecisionFail:
		return styled(red, "✗")
	case r.Decision == eval.DecisionInconclusive:
		return styled(yellow, "?")
	}
	return styled(dim, "–")
}

// decided is what a rule came to, in a word.
func decided(r eval.RuleResult) string {
	word := string(r.Decision)
	if r.Decision == eval.DecisionNone {
		word = "nothing to decide"
	}
	if r.Waived {
		word += " (waived)"
	}
	return word
}

// observed is the number of a rule with its interval, as far as they are known.
func observed(r eval.RuleResult) string {
	if r.Value == nil {
		return "–"
	}
	s := ruleNumber(r.Rule, *r.Value)
	if r.Low == nil && r.High == nil || r.Low != nil && r.High != nil && *r.Low == *r.High {
		return s
	}
	low, high := "…", "…"
	if r.Low != nil {
		low = ruleNumber(r.Rule, *r.Low)
	}
	if r.High != nil {
		high = ruleNumber(r.Rule, *r.High)
	}
	return fmt.Sprintf("%s [%s, %s]", s, low, high)
}

// ruleNumber shows a number in the unit of a rule.
func ruleNumber(r eval.Rule, x float64) string {
	switch {
	case r.Metric == eval.MetricRegressions:
		return fmt.Sprintf("%+.3f", x)
	case r.Relative:
		return fmt.Sprintf("%.3g×", x)
	case r.OfLatency():
		return duration(x)
	case r.Metric == eval.MetricCost:
		return fmt.Sprintf("$%.4g", x/1e6)
	}
	return fmt.Sprintf("%.3f", x)
}

// verdictWords is the verdict with how much is out of the gate: PASS (1 waived).
func verdictWords(s eval.Summary) string {
	waived, quarantined := 0, 0
	for _, c := range s.Cells {
		switch {
		case strings.HasPrefix(c.Exempt, "waived"):
			waived++
		case c.Exempt != "":
			quarantined++
		}
	}
	for _, r := range s.Rules {
		if r.Waived {
			waived++
		}
	}
	words := strings.ToUpper(string(s.Verdict))
	var out []string
	if waived > 0 {
		out = append(out, fmt.Sprintf("%d waived", waived))
	}
	if quarantined > 0 {
		out = append(out, fmt.Sprintf("%d quarantined", quarantined))
	}
	if len(out) > 0 {
		words += " (" + strings.Join(out, ", ") + ")"
	}
	return words
}

// ruleProperties are the rules as properties of a JUnit document.
func ruleProperties(s eval.Summary) []junitProperty {
	var ps []junitProperty
	for _, r := range s.Rules {
		ps = append(ps, junitProperty{"rule " + r.Title, fmt.Sprintf("%s: %s", decided(r), observed(r))})
	}
	return ps
}
