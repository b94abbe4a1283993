package eval

import "time"

// An ArmComparison is what became better or worse from base to head. It is the JSON
// document of `evalfarm compare --json`; the report is made from it.
type ArmComparison struct {
	Base Side `json:"base"`
	Head Side `json:"head"`
	// Axis along which two values of one run are compared; empty for two runs.
	Axis string `json:"axis,omitempty"`
	// Alpha is the one-sided error of each bound and test; Margin the drop of the pass
	// rate, and Tolerance the rise of latency and cost, that are accepted.
	Alpha     float64 `json:"alpha"`
	Margin    float64 `json:"margin"`
	Tolerance float64 `json:"tolerance"`
	// Decision of all kinds together: one that fails, else one that is inconclusive.
	Decision Decision `json:"decision"`
	// Reasons for it, one sentence each.
	Reasons []string `json:"reasons"`
	// Differ are the conditions that are not the same in both arms.
	Differ []Difference     `json:"differ"`
	Kinds  []KindComparison `json:"kinds"`
	// Cells of both arms: those that became worse first.
	Cells []CellComparison `json:"cells"`
}

// A Side is one of the arms that are compared.
type Side struct {
	// Value of the axis along which is compared; empty for a whole run.
	Value     string     `json:"value,omitempty"`
	Run       string     `json:"run"`
	Suite     string     `json:"suite"`
	SuiteHash string     `json:"suite_hash"`
	Outcome   RunOutcome `json:"outcome,omitempty"`
	Verdict   RunVerdict `json:"verdict,omitempty"`
	Runs      int        `json:"runs"`
	Git       *Git       `json:"git,omitempty"`
	Version   string     `json:"version"`
	Created   time.Time  `json:"created"`
	Note      string     `json:"note,omitempty"`
}

// A KindComparison compares the cells of one kind. Numbers are of the cells that could
// be compared and that passed or failed in both arms, each counting the same.
type KindComparison struct {
	Kind Kind `json:"kind"`
	// Cells that the numbers are of.
	Cells int     `json:"cells"`
	Base  ArmRate `json:"base"`
	Head  ArmRate `json:"head"`
	// Difference of the pass rates, head less base: it speaks of these cells.
	Difference Estimate `json:"difference"`
	// Single is true where each cell was tried once in each arm; the interval is that of
	// Bonett and Price then.
	Single bool `json:"single,omitempty"`
	// P-values of the exact test that no cell changed.
	P PValues `json:"p"`
	// MDE is the drop that would be found with a chance of 80 %; null where nobody knows how
	// far repeats disagree. Repeats is how many it takes to find a drop of the margin.
	MDE     *float64 `json:"mde"`
	Repeats int      `json:"repeats_for_margin,omitempty"`
	// Others is what other cases like these would show. Nothing is decided by it.
	Others OtherCases `json:"others"`
	// Changes counts the cells by what became of them.
	Changes map[Change]int `json:"changes"`
	// Latency and Cost of a trial, head over base. Nil where nobody knows.
	Latency  *RatioComparison `json:"latency,omitempty"`
	Cost     *RatioComparison `json:"cost,omitempty"`
	Decision Decision         `json:"decision"`
	// Message says why, in a sentence; Notes say what else is to be known.
	Message string   `json:"message"`
	Notes   []string `json:"notes,omitempty"`
}

// An ArmRate is the pass rate of an arm.
type ArmRate struct {
	Value *float64 `json:"value"`
	// N trials passed or failed; Open came to no verdict in complete rounds, and
	// Unfinished are those of rounds that did not come to their end.
	N          int `json:"n"`
	Open       int `json:"open,omitempty"`
	Unfinished int `json:"unfinished,omitempty"`
}

// PValues of a test: that the head passes less often, more often, or either. Null
// where there was nothing to test.
type PValues struct {
	Harm    *float64 `json:"harm"`
	Improve *float64 `json:"improve"`
	Two     *float64 `json:"two_sided"`
}

// OtherCases is the paired view of a difference: the cases are a sample.
type OtherCases struct {
	Cases int `json:"cases"`
	// Difference with the bounds of Student's t, and its one-sided p-value.
	Difference Estimate `json:"difference"`
	TestP      *float64 `json:"paired_t_p"`
	// SignFlipP is the exact one-sided p-value of flipped signs.
	SignFlipP *float64 `json:"sign_flip_p"`
}

// A RatioComparison is a ratio, head over base.
type RatioComparison struct {
	Ratio Estimate `json:"ratio"`
	// Cells that it is of.
	Cells    int      `json:"cells"`
	Decision Decision `json:"decision"`
}

// A Change is what became of a cell.
type Change string

const (
	// ChangeRegressed: shown to pass less often. A cell of a script or catalog case
	// that always passed and now fails is shown.
	ChangeRegressed Change = "regressed"
	// ChangeWorse: it looks worse, and that is not shown. It is a suspect.
	ChangeWorse Change = "worse"
	// ChangeFlaky: its repeats agreed in one arm, and do not in the other.
	ChangeFlaky        Change = "flaky-changed"
	ChangeIncomparable Change = "incomparable" // in both arms, and not compared
	ChangeRemoved      Change = "removed"      // in the base alone
	ChangeNew          Change = "new"          // in the head alone
	// ChangeImproved and ChangeBetter mirror regressed and worse.
	ChangeImproved  Change = "improved"
	ChangeBetter    Change = "better"
	ChangeUnchanged Change = "unchanged"
)

// Changes in the order of how much attention they ask for.
func Changes() []Change {
	return []Change{
		ChangeRegressed, ChangeWorse, ChangeFlaky, ChangeIncomparable, ChangeRemoved, ChangeNew, ChangeImproved, ChangeBetter, ChangeUnchanged,
	}
}

// A CellComparison is a cell in both arms.
type CellComparison struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	Kind    Kind   `json:"kind"`
	Change  Change `json:"change"`
	// Base and Head are what its trials came to; nil where the arm does not have it.
	Base *VerdictCounts `json:"base,omitempty"`
	Head *VerdictCounts `json:"head,omitempty"`
	// P is Fisher's one-sided p-value of what seems to have changed. Q is adjusted after
	// Benjamini and Hochberg for how many cells were looked at: it is for looking.
	P *float64 `json:"p,omitempty"`
	Q *float64 `json:"q,omitempty"`
	// Why it is incomparable.
	Why string `json:"why,omitempty"`
	// Step is the first one in which a failing trial of the head differs from a
	// passing one of the base.
	Step *StepDifference `json:"step,omitempty"`
}

// A StepDifference is where two trajectories part.
type StepDifference struct {
	// BaseRepeat and HeadRepeat are the trials.
	BaseRepeat int `json:"base_repeat"`
	HeadRepeat int `json:"head_repeat"`
	// BaseTraceURL and HeadTraceURL are where people see their traces, if they have any.
	BaseTraceURL string `json:"base_trace_url,omitempty"`
	HeadTraceURL string `json:"head_trace_url,omitempty"`
	// Turn and Call count from 1; Call is 0 if it is not about a call. Step is the id
	// of a scripted step.
	Turn int    `json:"turn"`
	Call int    `json:"call,omitempty"`
	Step string `json:"step,omitempty"`
	// Base and Head say what was done there.
	Base string `json:"base"`
	Head string `json:"head"`
}

// A Difference is a condition that is not the same in base and head.
type Difference struct {
	Condition string `json:"condition"`
	// Base and Head are its values; empty where one is not known, and for what is
	// compared by its digest, such as the text of cases.
	Base string `json:"base"`
	Head string `json:"head"`
	// Cells in which it is so, 0 for what is true of the whole run.
	Cells int `json:"cells,omitempty"`
	// Excludes is true if those cells are not compared.
	Excludes bool `json:"excludes,omitempty"`
}

// An Excluded cell is in both arms and cannot be compared.
type Excluded struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	Kind    Kind   `json:"kind"`
	Why     string `json:"why"`
}

// FarmConditions are those that the farm knows by itself. Others are the operator's own.
func FarmConditions() []string {
	return []string{
		ConditionCase, ConditionChecks, ConditionJudge, ConditionModel, ConditionSampling, ConditionSetup, ConditionServer, ConditionRevision,
		ConditionListing, ConditionPrices, ConditionSuite, ConditionCommit, ConditionVersion,
	}
}

// Conditions of whole runs, which are told and exclude nothing.
const (
	ConditionSuite   = "suite"    // its name
	ConditionCommit  = "commit"   // of the suite's repository
	ConditionVersion = "evalfarm" // version of evalfarm
)
