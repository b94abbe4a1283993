package gate

import (
	"fmt"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// title says a rule in words: what it is about, its number, and what that must be.
func title(r eval.Rule) string {
	name := string(r.Metric)
	if r.Metric == eval.MetricPassHatK {
		name = fmt.Sprintf("pass^%d", r.K)
	}
	return fmt.Sprintf("%s: %s %s", claim{Rule: r}.narrowed(), name, want(r))
}

// want says what the number of a rule must be.
func want(r eval.Rule) string {
	switch {
	case r.Metric == eval.MetricRegressions:
		return fmt.Sprintf("within %g", r.Margin)
	case r.Metric == eval.MetricCatalog && r.Fingerprint != "":
		return r.Fingerprint
	case r.Metric == eval.MetricCatalog:
		return "same"
	case r.Relative:
		return fmt.Sprintf("%s baseline * %g", r.Op, r.Bound)
	}
	return r.Op + " " + amount(r, r.Bound)
}

// amount shows a number of a rule in its unit.
func amount(r eval.Rule, x float64) string {
	short := strconv.FormatFloat(x, 'g', 3, 64)
	switch {
	case r.Relative:
		return short + "×"
	case r.OfLatency() && x >= 1000:
		return strconv.FormatFloat(x/1000, 'g', 4, 64) + " s"
	case r.OfLatency():
		return strconv.FormatFloat(x, 'g', 4, 64) + " ms"
	case r.Metric == eval.MetricCost:
		return "$" + strconv.FormatFloat(x/1e6, 'g', 4, 64)
	}
	return short
}

// between shows the interval of a result, as far as it is known.
func between(r *eval.RuleResult) string {
	switch {
	case r.Low != nil && r.High != nil:
		return fmt.Sprintf(", between %s and %s", amount(r.Rule, *r.Low), amount(r.Rule, *r.High))
	case r.Low != nil:
		return ", at least " + amount(r.Rule, *r.Low)
	case r.High != nil:
		return ", at most " + amount(r.Rule, *r.High)
	}
	return ""
}
