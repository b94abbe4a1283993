package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
)

// planLine is what a run will take, in one line.
func planLine(f eval.Forecast) string {
	parts := []string{"plan: " + plural(f.Trials, "trial")}
	if q := f.Sequential; q != nil {
		parts = []string{fmt.Sprintf("plan: %d to %s", q.Trials, plural(f.Trials, "trial"))}
	}
	switch e := f.Cost.Total; e.Basis {
	case eval.BasisHistory, eval.BasisMixed:
		from := "from " + plural(len(f.Past.Runs), "run")
		if e.Basis == eval.BasisMixed {
			from += fmt.Sprintf(", %d trials at most", e.FromLimits)
		}
		parts = append(parts, fmt.Sprintf("about %s (p95 %s, %s)", about(*e.P50), about(*e.P95), from))
	case eval.BasisLimits:
		parts = append(parts, fmt.Sprintf("at most %s (from limits)", about(*e.P95)))
	case eval.BasisNone:
		parts = append(parts, "free")
	case eval.BasisUnknown:
		parts = append(parts, unknownCost(f))
	}
	if q := f.Sequential; q != nil && f.Cost.Total.P95 != nil && f.Cost.Total.Basis != eval.BasisNone {
		parts = append(parts, fmt.Sprintf("%s if the first look decides", expected(q.Cost.Total, about)))
	}
	if d := f.Duration; d.Time != nil && len(d.Bounds) > 0 {
		parts = append(parts, roughly(d)+" "+lasting(*d.Time), "bound by "+boundWords(d.Bounds[0]))
	}
	if a := f.Affords; a != nil && a.Day != nil {
		parts = append(parts, fmt.Sprintf("%s of the day's %s left", eval.USD(a.Day.LeftMicroUSD), eval.USD(a.Day.CapMicroUSD)))
	}
	if a := f.Affords; a != nil && f.Fit == nil {
		if text := affordsWords(*a, f.Rounds); text != "" {
			parts = append(parts, text)
		}
	}
	if f.Fit != nil {
		parts = append(parts, plural(f.Fit.Rounds, "repeat")+" by the budget")
	}
	return strings.Join(parts, ", ")
}

// affordsWords say that the money is not expected to be enough for all rounds of a
// plan, and for how many it is; empty when it is enough, or nobody knows.
func affordsWords(a eval.Affordable, of int) string {
	who := "the budget"
	if most, _ := moneyOf(&a); a.Day != nil && most == a.Day.LeftMicroUSD && (a.Expected == nil || a.Short == eval.ShortOfDayMoney) {
		who = "that"
	}
	switch {
	case a.Expected != nil && a.Expected.N >= of, a.Expected == nil && (a.Guaranteed == nil || a.Guaranteed.N >= of):
		return ""
	case a.Expected == nil || a.Guaranteed != nil && a.Guaranteed.N >= a.Expected.N:
		return fmt.Sprintf("%s affords at least %d of %s", who, a.Guaranteed.N, plural(of, "round"))
	default:
		return fmt.Sprintf("%s probably affords %d of %s", who, a.Expected.N, plural(of, "round"))
	}
}

// unknownCost says why nobody knows what a run costs, and what is known of it.
func unknownCost(f eval.Forecast) string {
	if len(f.Unpriced) > 0 {
		var names []string
		for _, u := range f.Unpriced {
			names = append(names, u.Name)
		}
		return "cost unknown (no price of " + strings.Join(names, ", ") + ")"
	}
	if agents := f.Cost.Agents; agents.P95 != nil && agents.Basis != eval.BasisNone {
		return fmt.Sprintf("agents %s, judges unknown (no history)", expected(agents, about))
	}
	return "cost unknown (no history, and no limits)"
}

// planLines are what a run will take, in full.
func planLines(f eval.Forecast) []string {
	var kinds []string
	for _, k := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
		if n := f.Kinds[k]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %d", k, n))
		}
	}
	lines := []string{fmt.Sprintf("plan  %s  %s", report.Line(f.Suite, 60), f.SuiteHash)}
	add := func(label, text string) { lines = append(lines, fmt.Sprintf("  %-8s %s", label, text)) }
	add("trials", fmt.Sprintf("%d (%s) in %s and %s", f.Trials, strings.Join(kinds, ", "), plural(f.Cells, "cell"), plural(f.Rounds, "round")))
	past := "none: no trial of these cells is in the last runs"
	if len(f.Past.Runs) > 0 {
		past = fmt.Sprintf("%s of these cells in %s", plural(f.Past.Trials, "trial"), strings.Join(f.Past.Runs, ", "))
	}
	add("history", past)
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	add("calls", expectation(f.Calls, whole))
	add("tokens", expectation(f.Tokens, whole))
	cost := expectation(f.Cost, about)
	if e := f.Cost.Total; e.Basis == eval.BasisUnknown && len(f.Unpriced) > 0 {
		cost = expectationOf(f.Cost, about) + fmt.Sprintf(", a price is missing for %d of %s", e.Unknown, plural(e.FromHistory+e.FromLimits+e.Unknown, "trial"))
	}
	add("cost", cost)
	for _, p := range f.PricedLike {
		add("", fmt.Sprintf("%s: %s has the price of %s", p.Name, report.Line(p.Model, 80), p.Entry))
	}
	for _, u := range f.Unpriced {
		add("", u.Name+": "+report.Line(u.Hint, 300))
	}
	add("time", durationWords(f.Duration))
	if f.Shows != nil {
		add("shows", fmt.Sprintf("%s; one-sided, alpha %g, power %g; %s", showsWords(f.Shows), f.Shows.Alpha, f.Shows.Power, disagreement(*f.Shows)))
	}
	if f.Affords != nil {
		for i, line := range affordsLines(*f.Affords, f.Cost.Judges.Basis != eval.BasisNone) {
			add([]string{"budget", "", "", ""}[i], line)
		}
	}
	if q := f.Sequential; q != nil {
		last := q.Looks[len(q.Looks)-1]
		add("repeats", fmt.Sprintf("%d to %d, until the gate is decided: looks after %s rounds", q.Looks[0], last, strings.Trim(fmt.Sprint(q.Looks), "[]")))
		if len(q.Looks) > 1 {
			add("", fmt.Sprintf("decided at the first look: %s, cost %s", plural(q.Trials, "trial"), expectation(q.Cost, about)))
		}
	}
	if f.Fit != nil {
		add("repeats", fmt.Sprintf("%d, of %d to %d: %s", f.Fit.Rounds, f.Fit.Min, f.Fit.Max, map[eval.Basis]string{
			eval.BasisHistory: "what the budget affords by what trials took before",
			eval.BasisLimits:  "what the budget affords if every trial takes all that its limits allow",
		}[f.Fit.Basis]))
	}
	return lines
}

// expectation says a number of the whole run, its parts, and what it rests on.
func expectation(e eval.Expectations, show func(int64) string) string {
	if e.Total.Basis == eval.BasisNone {
		return "none"
	}
	return expectationOf(e, show) + ", " + basisWords(e.Total)
}

// expectationOf is an expectation without what it rests on.
func expectationOf(e eval.Expectations, show func(int64) string) string {
	text := expected(e.Total, show)
	if e.Agents.Basis != eval.BasisNone && e.Judges.Basis != eval.BasisNone {
		text += fmt.Sprintf(" (agents %s; judges %s)", expected(e.Agents, show), expected(e.Judges, show))
	}
	return text
}

func expected(e eval.Expected, show func(int64) string) string {
	switch {
	case e.P95 == nil && e.Known > 0:
		return "unknown; " + show(e.Known) + " of it is known"
	case e.P95 == nil:
		return "unknown"
	case e.Basis == eval.BasisLimits:
		return "at most " + show(*e.P95)
	case show(*e.P50) == show(*e.P95):
		return "about " + show(*e.P50)
	default:
		return "about " + show(*e.P50) + ", p95 " + show(*e.P95)
	}
}

func basisWords(e eval.Expected) string {
	all := e.FromHistory + e.FromLimits + e.Unknown
	switch e.Basis {
	case eval.BasisHistory:
		return "from history"
	case eval.BasisLimits:
		return "from limits"
	case eval.BasisMixed:
		return fmt.Sprintf("from history for %d of %s, from limits for the others", e.FromHistory, plural(all, "trial"))
	case eval.BasisUnknown:
		return fmt.Sprintf("neither history nor limits say it of %d of %s", e.Unknown, plural(all, "trial"))
	default:
		return ""
	}
}

// about writes money as precisely as a forecast is worth.
func about(micro int64) string {
	if micro >= 100_000 {
		return fmt.Sprintf("$%.2f", float64(micro)/1e6)
	}
	unit := int64(1)
	for micro/unit >= 100 {
		unit *= 10
	}
	return eval.USD((micro + unit/2) / unit * unit)
}

// roughly says how a time is meant.
func roughly(d eval.Duration) string {
	if d.Basis == eval.BasisLimits {
		return "at most"
	}
	return "about"
}

func lasting(d time.Duration) string {
	if d < time.Second {
		return "a second"
	}
	return short(d)
}

func durationWords(d eval.Duration) string {
	if len(d.Bounds) == 0 {
		return "unknown: no history"
	}
	tightest := d.Bounds[0]
	by := fmt.Sprintf("%s, bound by %s", lasting(tightest.Time), tightest.By)
	if tightest.By != "longest_trial" {
		by += fmt.Sprintf(" %d", tightest.Value)
	}
	if tightest.Key != "" {
		by += " of " + report.Line(tightest.Key, 80)
	}
	if d.Time == nil {
		return "unknown; what is known of it takes about " + by
	}
	return roughly(d) + " " + by
}

// boundWords is what keeps a run from being done sooner, for people in a hurry.
func boundWords(b eval.Bound) string {
	model := report.Line(b.Key[strings.Index(b.Key, "/")+1:], 60)
	switch b.By {
	case "requests_per_minute":
		return fmt.Sprintf("%d requests/min of %s", b.Value, model)
	case "tokens_per_minute":
		return fmt.Sprintf("%d tokens/min of %s", b.Value, model)
	case "input_tokens_per_minute":
		return fmt.Sprintf("%d input tokens/min of %s", b.Value, model)
	case "output_tokens_per_minute":
		return fmt.Sprintf("%d output tokens/min of %s", b.Value, model)
	case "concurrent":
		return fmt.Sprintf("%d calls in flight of %s", b.Value, model)
	case "slots":
		return plural(b.Value, "slot")
	case "judge_slots":
		return plural(b.Value, "judge slot")
	default:
		return "its longest trial"
	}
}

// showsWords says what difference repeats can show.
func showsWords(d *eval.Detectable) string {
	if d == nil {
		return "nothing"
	}
	text := drop(d.Runs) + " between two such runs"
	if d.Variants != nil {
		text += ", " + drop(*d.Variants) + " between two variants"
	}
	return text
}

// drop of a pass rate, in points of a hundred.
func drop(share float64) string {
	if share >= 1 {
		return "no drop at all"
	}
	return fmt.Sprintf("a drop of %.1f points", 100*share)
}

func disagreement(d eval.Detectable) string {
	if d.Assumed() {
		return fmt.Sprintf("two repeats are assumed to disagree %.1f %% of the time, since none did in the past", 100*d.Disagreement)
	}
	return fmt.Sprintf("two repeats disagreed %.1f %% of the time in %s", 100*d.Disagreement, plural(d.Cells, "cell"))
}

// affordsLines say how far a budget reaches.
func affordsLines(a eval.Affordable, judged bool) []string {
	caps := a.Budget.Words()
	if a.Day != nil {
		caps = append(caps, fmt.Sprintf("%s a day for all runs, of which %s is left", eval.USD(a.Day.CapMicroUSD), eval.USD(a.Day.LeftMicroUSD)))
	}
	lines := []string{strings.Join(caps, ", ")}
	switch {
	case a.Expected == nil:
		lines = append(lines, "nobody knows how many rounds can be expected")
	case a.Short != "":
		lines = append(lines, fmt.Sprintf("%s; the next one would break the bound of %s", roundsWords(*a.Expected, "expected"), strings.ReplaceAll(string(a.Short), "_", " ")))
	default:
		lines = append(lines, roundsWords(*a.Expected, "expected"))
	}
	if a.Guaranteed != nil {
		line := roundsWords(*a.Guaranteed, "guaranteed")
		if judged {
			line += "; judges, for whom there are no limits, not counted"
		}
		lines = append(lines, line)
	}
	return lines
}

func roundsWords(r eval.Rounds, how string) string {
	text := plural(r.N, "round") + " " + how
	if r.AtLeast {
		text = "at least " + text
	}
	if r.Shows == nil {
		return text
	}
	return fmt.Sprintf("%s, to show %s", text, showsWords(r.Shows))
}
