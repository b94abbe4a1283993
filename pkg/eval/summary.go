package eval

import "time"

// A Summary is a run's numbers. It is the JSON document of `evalfarm run
// --json`; reports are made from it.
type Summary struct {
	Run       string `json:"run"`
	Suite     string `json:"suite"`
	SuiteHash string `json:"suite_hash"`
	// Fingerprint is the same for two runs of a suite in which every trial came
	// to the same: verdicts, scores and trajectories, not times or attempts.
	Fingerprint string     `json:"fingerprint"`
	Outcome     RunOutcome `json:"outcome"`
	Verdict     RunVerdict `json:"verdict"`
	ExitCode    int        `json:"exit_code"`
	// Tolerated lists the kinds whose fails do not fail the run, because no rule
	// is about them or because the rule holds.
	Tolerated []Kind `json:"tolerated,omitempty"`
	// Reasons explain the verdict, one sentence each.
	Reasons []string `json:"reasons,omitempty"`
	// Rules are what the rules of the gate came to; Exemptions what waivers and
	// quarantines did.
	Rules      []RuleResult `json:"rules,omitempty"`
	Exemptions []Exemption  `json:"exemptions,omitempty"`
	// Sequential says how far a run went whose repeats end when it is decided.
	Sequential *Sequential `json:"sequential,omitempty"`
	// Confirmation is the run that tried the suspects of this one again.
	Confirmation *Confirmation `json:"confirmation,omitempty"`
	// Baseline that the gate compared with.
	Baseline *BaselineRef `json:"baseline,omitempty"`
	// Causes counts the trials without a pass or a fail by why that is.
	Causes []Cause        `json:"causes,omitempty"`
	Trials int            `json:"trials"`
	Counts VerdictCounts  `json:"counts"`
	Steps  StepCounts     `json:"steps"`
	Kinds  map[Kind]Stats `json:"kinds"`
	Cells  []CellStats    `json:"cells"`
	// Groups are the cells of one kind that share a case, a variant or a tag.
	Groups  []GroupStats `json:"groups,omitempty"`
	Latency Percentiles  `json:"latency_ms"`
	Tools   []ToolStats  `json:"tools"`
	Cost    Cost         `json:"cost"`
	// Coverage of a run that has a budget, or did not come to its end.
	Coverage *Coverage `json:"coverage,omitempty"`
	// Usage of all standing results: of agents, of models that play users, and of
	// judges, each apart.
	Usage      Usage `json:"usage,omitzero"`
	UserUsage  Usage `json:"user_usage,omitzero"`
	JudgeUsage Usage `json:"judge_usage,omitzero"`
	// Labels has the rate for each value of each label, by kind.
	Labels []LabelStats `json:"labels,omitempty"`
	// Metrics of agent trials, by variant. Compared names those that the suite wants
	// to see of each variant.
	Metrics  []MetricStats `json:"metrics,omitempty"`
	Compared []string      `json:"compared,omitempty"`
	// Incomparable is why the variants cannot be compared although the suite wants
	// it.
	Incomparable string    `json:"incomparable,omitempty"`
	Findings     []Finding `json:"findings,omitempty"`
	Git          *Git      `json:"git,omitempty"`
	// Origin of a run that was imported.
	Origin   *Origin   `json:"origin,omitempty"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
}

// Repeats is the smallest number of repeats of any cell of a kind, 0 if there is
// none.
func (s Summary) Repeats(k Kind) int {
	fewest := 0
	for _, c := range s.Cells {
		if c.Kind == k && (fewest == 0 || c.Repeats < fewest) {
			fewest = c.Repeats
		}
	}
	return fewest
}

// Sequential is how far a run went whose repeats end when it is decided.
type Sequential struct {
	// Rounds is the look that the run has come to, at whose level its gate decides: the
	// complete rounds, if they are one. 0: it has not come to a look.
	Rounds int `json:"rounds"`
	// Looks are those that were planned, in order; the last is the most rounds.
	Looks []int `json:"looks"`
	// Decided says that the run stopped at the look.
	Decided bool `json:"decided,omitempty"`
}

// A Confirmation is what the fresh repeats of a run's suspects came to. They are in no
// other number of the run, nor is what they cost.
type Confirmation struct {
	Run    string        `json:"run"`
	Cells  int           `json:"cells"`
	Trials int           `json:"trials"`
	Counts VerdictCounts `json:"counts"`
	// Outcome of that run.
	Outcome RunOutcome `json:"outcome"`
	// MicroUSD that it cost, null if nobody knows, and what is known of it.
	MicroUSD      *int64 `json:"microusd"`
	KnownMicroUSD int64  `json:"known_microusd"`
}

// VerdictCounts counts trials by verdict.
type VerdictCounts struct {
	Pass       int `json:"pass"`
	Fail       int `json:"fail"`
	Error      int `json:"error"`
	Unjudged   int `json:"unjudged"`
	Unfinished int `json:"unfinished"`
	Skipped    int `json:"skipped"`
}

// Add counts n trials of a verdict.
func (c *VerdictCounts) Add(v Verdict, n int) {
	switch v {
	case Pass:
		c.Pass += n
	case Fail:
		c.Fail += n
	case Error:
		c.Error += n
	case Unjudged:
		c.Unjudged += n
	case Unfinished:
		c.Unfinished += n
	case Skipped:
		c.Skipped += n
	}
}

// Plus is the sum of both, verdict by verdict.
func (c VerdictCounts) Plus(o VerdictCounts) VerdictCounts {
	for _, v := range Verdicts() {
		c.Add(v, o.Of(v))
	}
	return c
}

// Total is the number of trials counted.
func (c VerdictCounts) Total() int {
	n := 0
	for _, v := range Verdicts() {
		n += c.Of(v)
	}
	return n
}

// Of gives the count of one verdict.
func (c VerdictCounts) Of(v Verdict) int {
	switch v {
	case Pass:
		return c.Pass
	case Fail:
		return c.Fail
	case Error:
		return c.Error
	case Unjudged:
		return c.Unjudged
	case Unfinished:
		return c.Unfinished
	case Skipped:
		return c.Skipped
	}
	return 0
}

// StepCounts counts the steps of script cases.
type StepCounts struct {
	Pass int `json:"pass"`
	Fail int `json:"fail"`
}

// Stats are the numbers of trials of one kind. Rates are never pooled over kinds.
// They speak of complete rounds: those in which every cell of the run has its trial,
// from the first one on.
type Stats struct {
	// Counts of all trials; Complete of those in complete rounds, nil if that is all.
	Counts   VerdictCounts  `json:"counts"`
	Complete *VerdictCounts `json:"complete,omitempty"`
	// PassRate of the trials that passed or failed, each cell counting the same.
	PassRate Rate95 `json:"pass_rate"`
	// Open is what the trials without a pass or a fail leave open; nil if there are
	// none.
	Open *Open `json:"open,omitempty"`
	// PassAtK and PassHatK are the chances that of k repeats one passes, and that all
	// do: the first is for k = 1, as far as the repeats go, at most 10. Nil where
	// nothing was repeated.
	PassAtK  []Mean95 `json:"pass_at_k,omitempty"`
	PassHatK []Mean95 `json:"pass_hat_k,omitempty"`
	// Disagreement is the chance that two repeats of a case come out differently. Nil
	// where nothing was repeated.
	Disagreement *Mean95 `json:"disagreement,omitempty"`
	// Variance says whose doing the disagreement is; nil where there is none.
	Variance *VarianceSplit `json:"variance,omitempty"`
	// Latency of trials in models and tools, in milliseconds. Cost in micro-dollars,
	// Tokens and Turns of a trial are those of agents and of models that play users. All
	// are of the trials that passed, failed or are unjudged, in any round; of Cost there
	// is none where a trial's is unknown.
	Latency Percentiles `json:"latency_ms,omitzero"`
	Cost    Percentiles `json:"cost_microusd,omitzero"`
	Tokens  Percentiles `json:"tokens,omitzero"`
	Turns   Percentiles `json:"turns,omitzero"`
}

// Settled are the counts of complete rounds.
func (s Stats) Settled() VerdictCounts {
	if s.Complete != nil {
		return *s.Complete
	}
	return s.Counts
}

// GroupStats are the numbers of the cells of one kind that share a case, a variant or
// a tag.
type GroupStats struct {
	By   GroupBy `json:"by"`
	Name string  `json:"name"`
	Kind Kind    `json:"kind"`
	// Cells in the group.
	Cells int `json:"cells"`
	Stats
}

// A GroupBy is what the cells of a group share.
type GroupBy string

const (
	GroupByCase    GroupBy = "case"
	GroupByVariant GroupBy = "variant"
	GroupByTag     GroupBy = "tag"
)

// Bounds of a number.
type Bounds struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Open is what PassRate could have been, had each trial that came to an error, was
// not judged or did not finish failed, or passed (Manski 1989). Other than PassRate
// it speaks of all rounds. The shares are of all trials that were not skipped.
type Open struct {
	Bounds
	Error      float64 `json:"error,omitempty"`
	Unjudged   float64 `json:"unjudged,omitempty"`
	Unfinished float64 `json:"unfinished,omitempty"`
}

// A VarianceSplit says whose doing it is that two repeats of a cell disagree, in
// shares that add up to 1. It is made of three means over the cells with at least
// two trials in complete rounds:
//
//	D  the chance that two repeats with a pass or a fail disagree
//	T  the same, had the trials that came to an error or were not judged failed
//	J  the chance that two votes of a judge on a trial with a pass or a fail disagree
//
// The infrastructure's share is T-D, where T is larger; the judge's J, at most D; the
// agent's what is left of D. J is 0 of a trial that no judge has voted on twice:
// what a judge that votes once contributes is counted as the agent's.
type VarianceSplit struct {
	Agent          float64 `json:"agent"`
	Judge          float64 `json:"judge"`
	Infrastructure float64 `json:"infrastructure"`
}

// A Cause is why trials of a kind came to a verdict, and how many did.
type Cause struct {
	Kind    Kind    `json:"kind"`
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason"`
	N       int     `json:"n"`
}

// LabelStats are the numbers of the cases of one kind that share a label.
type LabelStats struct {
	Label    string        `json:"label"`
	Value    string        `json:"value"`
	Kind     Kind          `json:"kind"`
	Counts   VerdictCounts `json:"counts"`
	PassRate Rate95        `json:"pass_rate"`
}

// MetricStats are one metric over the agent trials of one variant.
type MetricStats struct {
	Variant string `json:"variant"`
	Metric  string `json:"metric"`
	// N trials that the metric was measured in, and its mean over them; null when
	// there is none. Open counts those in which nobody has decided it.
	N    int      `json:"n"`
	Mean *float64 `json:"mean"`
	Open int      `json:"unjudged,omitempty"`
}

// Rate95 is a rate over cells with its two 95 % intervals. Low and High say what these
// cases would show again; Others what other cases like these would. With N = 0 the
// interval is [0, 1] and Value is null.
type Rate95 struct {
	Value *float64 `json:"value"`
	Low   float64  `json:"low"`
	High  float64  `json:"high"`
	// N trials of so many Cells: those that have any.
	N     int `json:"n"`
	Cells int `json:"cells,omitempty"`
	// Others is nil where a single case says nothing of others.
	Others *Bounds `json:"others,omitempty"`
}

// Mean95 is the mean over cells of a share that it takes several repeats to know, each
// cell counting the same, with the 95 % interval of other cases like these.
type Mean95 struct {
	Value *float64 `json:"value"`
	// Others is nil where a single case says nothing of others.
	Others *Bounds `json:"others,omitempty"`
	// Cells with repeats enough; the others are left out.
	Cells int `json:"cells"`
}

// CellStats are the numbers of one case in one variant.
type CellStats struct {
	Case    string   `json:"case"`
	Title   string   `json:"title,omitempty"`
	Variant string   `json:"variant"`
	Kind    Kind     `json:"kind"`
	Tags    []string `json:"tags,omitempty"`
	// Workflow is true for a case of several steps: reports list them below it.
	Workflow bool `json:"workflow,omitempty"`
	Repeats  int  `json:"repeats"`
	Stats
	// Class is what the repeats show of the cell: stable_pass, stable_fail, flaky,
	// pass_unconfirmed, fail_unconfirmed or no_data. Bound is the number that it rests
	// on, as in "3/3, p ≥ 0.37". Both are empty of a script that is not repeated.
	Class string     `json:"class,omitempty"`
	Bound string     `json:"bound,omitempty"`
	Steps StepCounts `json:"steps"`
	// Usage of the agent's model over the cell's trials. CostMean is the mean of Cost,
	// in micro-dollars, null if nobody knows.
	Usage    Usage    `json:"usage,omitzero"`
	CostMean *float64 `json:"cost_mean_microusd,omitempty"`
	// Servers told these names and versions, and Listings are the fingerprints of
	// their tools: more than one if they changed while the run went on, and the first
	// eight by name then.
	Servers  []string `json:"servers,omitempty"`
	Listings []string `json:"listings,omitempty"`
	// Exempt says why the cell is out of the gate: waived or quarantined.
	Exempt string `json:"exempt,omitempty"`
	// Failure is the trial that explains the cell: the first fail by ordinal,
	// else the first error, else the first other trial that did not pass.
	Failure *Failure `json:"failure,omitempty"`
	// Warnings of catalog rules, and findings.
	Warnings []string `json:"warnings,omitempty"`
	// Scores of the cell's first repeat, for reports that list steps.
	Scores []Score `json:"scores,omitempty"`
}

// A Failure explains why a trial did not pass.
type Failure struct {
	Repeat  int     `json:"repeat"`
	Verdict Verdict `json:"verdict"`
	Reason  Reason  `json:"reason,omitempty"`
	Message string  `json:"message,omitempty"`
	// Stop says what ended an agent's trial before the agent was done.
	Stop StopReason `json:"stop,omitempty"`
	// Scores that did not pass.
	Scores []Score `json:"scores,omitempty"`
	// Stderr is the head of what the server wrote to stderr.
	Stderr string `json:"stderr,omitempty"`
	// TraceID of the trial; empty if it was not traced. TraceURL is where people see
	// that trace: it is not kept with a summary, see [Summary.Linked].
	TraceID  string `json:"trace_id,omitempty"`
	TraceURL string `json:"trace_url,omitempty"`
}

// Percentiles of a set of numbers, by integer nearest rank, with 95 % intervals of
// order statistics; an interval is nil where there are too few values for it.
type Percentiles struct {
	N     int     `json:"n"`
	P50   float64 `json:"p50"`
	P95   float64 `json:"p95"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
	P50CI *Bounds `json:"p50_ci,omitempty"`
	P95CI *Bounds `json:"p95_ci,omitempty"`
	P99CI *Bounds `json:"p99_ci,omitempty"`
	// Within is the relative error of all but Max where there were too many values to
	// keep them: 0 means exact.
	Within float64 `json:"within,omitempty"`
}

// ToolStats are the numbers of one tool.
type ToolStats struct {
	Tool    string      `json:"tool"`
	Calls   int         `json:"calls"`
	Errors  int         `json:"errors"`
	Latency Percentiles `json:"latency_ms"`
}

// Cost of a run in micro-dollars.
type Cost struct {
	// MicroUSD of all attempts, also those that do not count, and of judges; null
	// when a model that was asked has no price.
	MicroUSD *int64 `json:"microusd"`
	// KnownMicroUSD is what is known of it, JudgeMicroUSD the part of judges, and
	// UncountedMicroUSD that of attempts whose results do not stand.
	KnownMicroUSD     int64 `json:"known_microusd"`
	JudgeMicroUSD     int64 `json:"judge_microusd"`
	UncountedMicroUSD int64 `json:"uncounted_microusd"`
	// ChargedMicroUSD is counted for attempts that ended unseen, at their holds.
	ChargedMicroUSD int64 `json:"charged_microusd,omitempty"`
	// UnansweredMicroUSD is counted for calls of agents whose answer was lost, each at
	// its most, in trials whose result stands.
	UnansweredMicroUSD int64 `json:"unanswered_microusd,omitempty"`
	// Unpriced are the models without a price.
	Unpriced []string `json:"unpriced,omitempty"`
	// Prices is the version of the price list.
	Prices string `json:"prices,omitempty"`
}

// Coverage is how far a run came within its budget.
type Coverage struct {
	Budget Budget `json:"budget,omitzero"`
	// DayMicroUSD bounds all runs of the day.
	DayMicroUSD int64 `json:"day_microusd,omitempty"`
	// ScheduleMicroUSD bounds all runs of the schedule.
	ScheduleMicroUSD int64 `json:"schedule_microusd,omitempty"`
	// Short is what ran out; empty if nothing did.
	Short Shortage `json:"short,omitempty"`
	// Rounds of the plan in which every cell has its trial, from the first, of how
	// many. Gates look at complete rounds.
	CompleteRounds int `json:"complete_rounds"`
	Rounds         int `json:"rounds"`
	// LeftMicroUSD is what was held back: too little for another trial's hold.
	LeftMicroUSD int64 `json:"left_microusd,omitempty"`
	LeftTokens   int64 `json:"left_tokens,omitempty"`
}
