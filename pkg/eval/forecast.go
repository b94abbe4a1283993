package eval

import "time"

// A Forecast says what a run will come to, before a cent is spent. It is the JSON
// document of `evalfarm plan --json`.
type Forecast struct {
	Suite     string `json:"suite"`
	SuiteHash string `json:"suite_hash"`
	// Trials of the plan, by kind too, in so many cells and rounds.
	Trials int          `json:"trials"`
	Kinds  map[Kind]int `json:"kinds"`
	Cells  int          `json:"cells"`
	Rounds int          `json:"rounds"`
	// Past is what the numbers rest on where they are from history.
	Past Past `json:"past"`
	// Calls of models, their tokens in and out, and what they cost in micro-dollars.
	Calls  Expectations `json:"calls"`
	Tokens Expectations `json:"tokens"`
	Cost   Expectations `json:"cost_microusd"`
	// PricedLike are the models whose price is that of an entry of the list with another
	// name.
	PricedLike []PricedLike `json:"priced_like,omitempty"`
	// Unpriced are the models that the run asks and whose price nobody knows. Prices
	// is the version of the price list.
	Unpriced []Unpriced `json:"unpriced,omitempty"`
	Prices   string     `json:"prices,omitempty"`
	Duration Duration   `json:"duration"`
	// Shows is what difference the planned repeats can show; null without agent cases.
	Shows *Detectable `json:"shows,omitempty"`
	// Affords is how far the budget reaches; null without one.
	Affords *Affordable `json:"affords,omitempty"`
	// Fit is how many repeats the budget decides on; null where the suite says it
	// itself.
	Fit *Fit `json:"fit,omitempty"`
	// Sequential is what the run comes to if it is decided at the first look; null where
	// repeats do not end when it is. The other numbers are those of all rounds then.
	Sequential *Earliest `json:"sequential,omitempty"`
}

// An Earliest is what a run comes to that is decided at the first of its looks.
type Earliest struct {
	Looks  []int        `json:"looks"`
	Trials int          `json:"trials"`
	Calls  Expectations `json:"calls"`
	Tokens Expectations `json:"tokens"`
	Cost   Expectations `json:"cost_microusd"`
}

// A Past is the trials that a forecast rests on: those of the same cells.
type Past struct {
	// Runs that they are of, newest first.
	Runs   []string `json:"runs,omitempty"`
	Trials int      `json:"trials"`
}

// A Basis is what a number of a forecast rests on.
type Basis string

const (
	BasisHistory Basis = "history" // what such trials took before
	BasisLimits  Basis = "limits"  // what a trial can take at most
	BasisMixed   Basis = "mixed"   // history for some trials, limits for the others
	BasisUnknown Basis = "unknown" // neither, at least for some trials
	BasisNone    Basis = "none"    // there is nothing to ask, or nothing to pay
)

// Expectations are those of one kind of number, for agents with the models that play
// their users, for judges, and for both together.
type Expectations struct {
	Total  Expected `json:"total"`
	Agents Expected `json:"agents"`
	Judges Expected `json:"judges"`
}

// An Expected is a number of a whole run that nobody knows yet.
type Expected struct {
	// P50 and P95 of it; null when it is unknown for some trial.
	P50 *int64 `json:"p50"`
	P95 *int64 `json:"p95"`
	// Known is the P95 of what is known.
	Known int64 `json:"known"`
	// Most is what it comes to if each trial takes what its limits allow, in one
	// attempt; null when some trial has no limit.
	Most  *int64 `json:"most"`
	Basis Basis  `json:"basis"`
	// Trials by what is known of them. Those that take nothing are not counted.
	FromHistory int `json:"from_history"`
	FromLimits  int `json:"from_limits"`
	Unknown     int `json:"unknown"`
}

// An Unpriced model is one whose price nobody knows.
type Unpriced struct {
	Name string `json:"name"`
	// Hint says why, and what would help.
	Hint string `json:"hint"`
}

// A PricedLike model has the price of an entry of the price list that is not its very
// name: by a rule of the list, or because somebody said so.
type PricedLike struct {
	Name  string `json:"name"`
	Model string `json:"model"`
	Entry string `json:"entry"`
}

// A Duration is how long a run will take.
type Duration struct {
	// Time that the tightest bound leaves; null when some trial is unknown.
	Time  *time.Duration `json:"time_ns"`
	Basis Basis          `json:"basis"`
	// Bounds from the tightest on, as far as they are known.
	Bounds []Bound `json:"bounds,omitempty"`
}

// A Bound keeps a run from being done sooner.
type Bound struct {
	// By is the limit, as a suite calls it: requests_per_minute, tokens_per_minute,
	// input_tokens_per_minute, output_tokens_per_minute or concurrent; or slots,
	// judge_slots, or longest_trial.
	By string `json:"by"`
	// Value of the limit, and the Key that it is of, without secrets.
	Value int    `json:"value,omitempty"`
	Key   string `json:"key,omitempty"`
	// Time that it takes at least.
	Time time.Duration `json:"time_ns"`
}

// A Detectable is the smallest drop of the pass rate that a number of repeats shows,
// with the power and the one-sided error that it names. It speaks of these cases
// and no others.
type Detectable struct {
	Repeats int `json:"repeats"`
	// Runs is the drop between two runs of all cells; Variants that between two
	// variants of one run, null when there is one. Both are 1 at most.
	Runs     float64  `json:"between_runs"`
	Variants *float64 `json:"between_variants,omitempty"`
	Alpha    float64  `json:"alpha"`
	Power    float64  `json:"power"`
	// Disagreement is how often two repeats of a cell come to different verdicts.
	// Cells is how many of them have told so; 0 means that it is assumed.
	Disagreement float64 `json:"disagreement"`
	Cells        int     `json:"cells"`
}

// Assumed says whether nothing is known of how far repeats disagree.
func (d Detectable) Assumed() bool { return d.Cells == 0 }

// An Affordable is how many whole rounds a budget is enough for.
type Affordable struct {
	Budget Budget `json:"budget"`
	// Day is what the cap of a day leaves to the run; null without such a cap.
	Day *DayLeft `json:"day,omitempty"`
	// Expected rounds end within the budget in 95 of 100 runs; null when a number is
	// unknown. Short is the bound that the next one would break.
	Expected *Rounds  `json:"expected"`
	Short    Shortage `json:"short,omitempty"`
	// Guaranteed rounds end within it whatever agents do in one attempt each; null
	// when only time is bounded. Judges have no limits, and are not in it.
	Guaranteed *Rounds `json:"guaranteed"`
}

// A DayLeft is what a cap of all runs of a day leaves, in micro-dollars: what they
// have spent and hold now is taken from it.
type DayLeft struct {
	CapMicroUSD  int64 `json:"cap_microusd"`
	LeftMicroUSD int64 `json:"left_microusd"`
}

// Rounds is a number of whole rounds, and what they can show; null for none.
type Rounds struct {
	N int `json:"n"`
	// AtLeast says that nobody has counted further.
	AtLeast bool        `json:"at_least,omitempty"`
	Shows   *Detectable `json:"shows,omitempty"`
}

// A Fit is the number of repeats, between Min and Max, that a budget decides on.
type Fit struct {
	Min    int `json:"min"`
	Max    int `json:"max"`
	Rounds int `json:"rounds"`
	// Basis is history, when every agent has one, or else limits.
	Basis Basis `json:"basis"`
}
