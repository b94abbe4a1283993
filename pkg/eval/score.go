package eval

// A Score is what one scorer says of one check: for a script, whether one step
// got what it expects.
type Score struct {
	// Check names what was decided: a step's id, or a catalog rule.
	Check string `json:"check"`
	Title string `json:"title,omitempty"`
	// Value from 0 to 1.
	Value float64 `json:"value"`
	Pass  bool    `json:"pass"`
	// Warning marks a score that is shown and decides nothing.
	Warning bool `json:"warning,omitempty"`
	// Weight of a check that has one of its own.
	Weight *float64 `json:"weight,omitempty"`
	// Pending marks the check of a judge that has not spoken, or could not: the
	// Reason says which.
	Pending bool `json:"pending,omitempty"`
	// Reason and Message of a score that did not pass; a scorer's own words are the
	// message of one that did, too.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Expected and Actual show the difference; each may be cut short.
	Expected JSON `json:"expected,omitempty"`
	Actual   JSON `json:"actual,omitempty"`
	// LatencyMS of the calls that the step made, their waits left out.
	LatencyMS float64 `json:"latency_ms,omitempty"`
	// Tool or URI that the step used.
	Target string `json:"target,omitempty"`
	// At is the place in the trajectory that decided, such as "turn 3, call 1".
	At string `json:"at,omitempty"`
	// Differences of a trajectory, one line each: Missing, Extra, Out of order,
	// Argument mismatch.
	Differences []string `json:"differences,omitempty"`
	// Group says what Parts are to the score of a group: GroupAny or GroupAll. With
	// Not the group is turned around; Threshold is the value with which it passes.
	Group     Group    `json:"group,omitempty"`
	Parts     []Score  `json:"parts,omitempty"`
	Not       bool     `json:"not,omitempty"`
	Threshold *float64 `json:"threshold,omitempty"`
	// Votes of a judge.
	Votes []Vote `json:"votes,omitempty"`
}

// ScoredBy begins the message of a score that a person or an oracle gave.
const ScoredBy = "scored by "

// A Group says how a score follows from its parts.
type Group string

const (
	// GroupAny passes if one of its parts does, with the best value.
	GroupAny Group = "any"
	// GroupAll passes if every part does, with the weighted mean of their values.
	GroupAll Group = "all"
)

// A Vote is what a judge said once.
type Vote struct {
	// Pass is nil when the judge gave no verdict; Reason says why.
	Pass   *bool   `json:"pass"`
	Value  float64 `json:"value"`
	Text   string  `json:"text,omitempty"`
	Reason Reason  `json:"reason,omitempty"`
}
