package eval

import "slices"

// A Gate is the rules on a summary that decide the exit code.
type Gate struct {
	// Alpha is the chance of a false alarm that the run may have, over all rules and
	// variants together. Zero means 0.05, and 0.01 for runs of a schedule.
	Alpha float64 `json:"alpha,omitempty"`
	// Baseline names the run that rules compare with: a name of the store, last-green,
	// a run, or file:// and a path. Empty: no rule compares.
	Baseline string `json:"baseline,omitempty"`
	// IfMissing says what a baseline that is not there makes of the rules that need
	// it, and a judge that nobody has reviewed of the one about it. Empty means
	// IfMissingNote.
	IfMissing IfMissing `json:"if_missing,omitempty"`
	// Strict refuses what otherwise is a warning: an unpinned model, arms that differ
	// in more than they should.
	Strict bool `json:"strict,omitempty"`
	// Per names an axis: each of its values must satisfy every rule by itself.
	Per   string `json:"per,omitempty"`
	Rules []Rule `json:"rules,omitempty"`
	// Confirm repeats suspicious cases before they fail the run. Nil does not.
	Confirm *Confirm `json:"confirm,omitempty"`
	// ProtectedBranch is the branch on which waivers need no signature.
	ProtectedBranch string `json:"protected_branch,omitempty"`
}

// Asks says whether a rule is about a metric.
func (g Gate) Asks(m Metric) bool {
	return slices.ContainsFunc(g.Rules, func(r Rule) bool { return r.Metric == m })
}

// IfMissing says what becomes of a rule whose baseline, or whose reviews, are not there.
type IfMissing string

const (
	IfMissingNote         IfMissing = "note"         // it is said, and decides nothing
	IfMissingInconclusive IfMissing = "inconclusive" // the gate cannot be decided
)

// A Metric is what a rule is about.
type Metric string

const (
	MetricPassRate       Metric = "pass_rate"
	MetricPassHatK       Metric = "pass_hat_k"
	MetricRegressions    Metric = "regressions"
	MetricDisagreement   Metric = "disagreement"
	MetricUnjudged       Metric = "unjudged"
	MetricLatencyP50     Metric = "latency_p50"
	MetricLatencyP95     Metric = "latency_p95"
	MetricLatencyP99     Metric = "latency_p99"
	MetricCost           Metric = "cost_usd"
	MetricCatalog        Metric = "catalog_fingerprint"
	MetricJudgeAgreement Metric = "judge_agreement"
)

// A Rule says what one number of a run must be.
type Rule struct {
	Metric Metric `json:"metric"`
	// Kind of the cases that it is about. Empty means agent cases, and all for
	// latency and unjudged.
	Kind Kind `json:"kind,omitempty"`
	// Tag and Axes narrow it to cases with a tag and to variants with these values.
	// Tool narrows a latency to the calls of one tool.
	Tag  string            `json:"tag,omitempty"`
	Axes map[string]string `json:"axes,omitempty"`
	Tool string            `json:"tool,omitempty"`
	// K of pass_hat_k.
	K int `json:"k,omitempty"`
	// Op and Bound compare: a share in [0, 1], milliseconds, or micro-dollars for one
	// trial. Relative makes Bound a factor of the baseline's number.
	Op       string  `json:"op,omitempty"`
	Bound    float64 `json:"bound,omitempty"`
	Relative bool    `json:"relative,omitempty"`
	// Fingerprint that the tool listing must have; empty means that of the baseline.
	Fingerprint string `json:"fingerprint,omitempty"`
	// Observed decides by the number itself, without its interval.
	Observed bool `json:"observed,omitempty"`
	// Margin of regressions: the drop of the pass rate that is accepted. Alpha is the
	// rule's own part of the gate's; zero means an equal one.
	Margin float64 `json:"margin,omitempty"`
	Alpha  float64 `json:"alpha,omitempty"`
}

// ByChance says whether chance could make the rule fail a run in which nothing is
// wrong: the error that a gate may have is shared by such rules. The others decide by a
// number as it is, or by a percentile, whose interval has a level of its own.
func (r Rule) ByChance() bool {
	switch r.Metric {
	case MetricPassRate, MetricPassHatK, MetricDisagreement, MetricRegressions:
		return !r.Observed
	case MetricLatencyP50, MetricCost:
		return r.Relative && r.Tool == ""
	case MetricUnjudged, MetricLatencyP95, MetricLatencyP99, MetricCatalog, MetricJudgeAgreement:
	}
	return false
}

// OfLatency says whether the rule is about a percentile of latency.
func (r Rule) OfLatency() bool {
	return r.Metric == MetricLatencyP50 || r.Metric == MetricLatencyP95 || r.Metric == MetricLatencyP99
}

// Compares says whether the rule needs a baseline.
func (r Rule) Compares() bool {
	return r.Metric == MetricRegressions || r.Relative || r.Metric == MetricCatalog && r.Fingerprint == ""
}

// A Confirm says how cases that look worse than the baseline are tried again, before
// they count as regressions.
type Confirm struct {
	// Repeats of each. Zero means 8.
	Repeats int `json:"repeats,omitempty"`
	// MicroUSD is the part of the run's cap that is kept for them. Zero means a tenth.
	MicroUSD int64 `json:"microusd,omitempty"`
}

// A RuleResult is what a rule came to.
type RuleResult struct {
	Rule Rule `json:"rule"`
	// Title is the rule in words, with what it is narrowed to.
	Title    string   `json:"title"`
	Decision Decision `json:"decision"`
	// Value with its bounds, as far as they are known, over N trials.
	Value *float64 `json:"value,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	N     int      `json:"n,omitempty"`
	// Level is the one-sided error at which the bounds were made.
	Level float64 `json:"level,omitempty"`
	// Message says in a sentence what was found; Details how, for --explain.
	Message string   `json:"message"`
	Details []string `json:"details,omitempty"`
	// Waived is true if a waiver took the rule out of the gate.
	Waived bool `json:"waived,omitempty"`
}

// A Decision is what a rule or a comparison comes to.
type Decision string

const (
	DecisionPass         Decision = "pass"
	DecisionFail         Decision = "fail"
	DecisionInconclusive Decision = "inconclusive"
	// DecisionNone: there is nothing to decide, and that is said.
	DecisionNone Decision = "none"
)
