package eval

import "time"

// A Check is what must hold after an agent's trial, as data. Exactly one of the
// fields below Not is set.
type Check struct {
	// ID names the check in its case; the loader makes one where the suite gives
	// none.
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	// Weight in the mean of a case with a threshold. Nil means 1; 0 makes a check
	// that is shown and decides nothing.
	Weight *float64 `json:"weight,omitempty"`
	// Threshold is the least value with which a graded check passes. Nil leaves
	// it to the kind of check.
	Threshold *float64 `json:"threshold,omitempty"`
	// Not turns the check around: its value becomes 1 - value.
	Not bool `json:"not,omitempty"`

	// Any passes if one of its checks does, with the best value; All if every one
	// does, with the weighted mean.
	Any []Check `json:"any,omitempty"`
	All []Check `json:"all,omitempty"`

	Text       *TextCheck       `json:"text,omitempty"`
	JSON       *JSONCheck       `json:"json,omitempty"`
	Called     *CallCheck       `json:"called,omitempty"`
	NotCalled  *CallPattern     `json:"not_called,omitempty"`
	Rejected   *RejectedCheck   `json:"rejected,omitempty"`
	Trajectory *TrajectoryCheck `json:"trajectory,omitempty"`
	NoRepeats  *RepeatsCheck    `json:"no_repeats,omitempty"`
	AtMost     *AtMostCheck     `json:"at_most,omitempty"`
	NoSecrets  *SensitiveCheck  `json:"no_sensitive_data,omitempty"`
	Verify     *VerifyCheck     `json:"verify,omitempty"`
	Scorer     *ScorerCheck     `json:"scorer,omitempty"`
	Judge      *JudgeCheck      `json:"judge,omitempty"`
}

// A Place is the part of a trajectory that a check looks at.
type Place string

const (
	// PlaceAnswer is what the agent said last. It is the default.
	PlaceAnswer Place = "answer"
	// PlaceSaid is all that the agent said.
	PlaceSaid Place = "said"
	// PlaceCalls is the names and arguments of the calls that it made.
	PlaceCalls Place = "calls"
	// PlaceResults is what the tools answered.
	PlaceResults Place = "results"
	// PlaceAll is what the agent said, its calls and their results; never the
	// prompt, the system prompt or the user's words.
	PlaceAll Place = "all"
)

// A TextCheck looks at text. Exactly one of Equals, Contains and Regex is set.
type TextCheck struct {
	In Place `json:"in,omitempty"`
	// Equals the whole text, but for white space around it.
	Equals *string `json:"equals,omitempty"`
	// Contains the text; IgnoreCase compares without regard to case.
	Contains   *string `json:"contains,omitempty"`
	Regex      string  `json:"regex,omitempty"` // RE2
	IgnoreCase bool    `json:"ignore_case,omitempty"`
	// Sentence marks Contains as a criterion in words, which is not looked for:
	// only a judge can decide it, and the suite names none.
	Sentence bool `json:"sentence,omitempty"`
}

// A JSONCheck looks at a JSON value: the answer as JSON, or the JSON in its
// only fenced block; with Tool the value of that tool's latest result.
type JSONCheck struct {
	Tool string `json:"tool,omitempty"`
	// Path selects a value (RFC 9535, or dotted names). Empty means all of it.
	Path string `json:"path,omitempty"`
	// Match is what the value must match, partially; it may hold matchers.
	Match JSON `json:"match,omitempty"`
	// Schema is a JSON Schema that the value must satisfy.
	Schema JSON `json:"schema,omitempty"`
	// Count is the number of items that the value must have.
	Count *int `json:"count,omitempty"`
}

// A CallPattern selects tool calls by name and, partially, by arguments. A name
// is that of the tool, of any server, or mcp__SERVER__TOOL.
type CallPattern struct {
	Tool      string `json:"tool"`
	Arguments JSON   `json:"arguments,omitempty"`
}

// A CallCheck wants calls that match a pattern: at least one, or as many as it
// says.
type CallCheck struct {
	CallPattern
	Times *int `json:"times,omitempty"`
	Min   *int `json:"min,omitempty"`
	Max   *int `json:"max,omitempty"`
}

// Bounds are how many calls are wanted; most is negative where there is no
// bound. A Max alone wants a call too, unless it is 0.
func (c CallCheck) Bounds() (least, most int) {
	least, most = 1, -1
	if c.Times != nil {
		return *c.Times, *c.Times
	}
	if c.Max != nil {
		most = *c.Max
		least = min(1, most)
	}
	if c.Min != nil {
		least = *c.Min
	}
	return least, most
}

// A RejectedCheck wants a call that was rejected, as a script's expect_error.
type RejectedCheck struct {
	Tool string `json:"tool,omitempty"`
	ExpectError
}

// A Match says how calls are compared with expected ones.
type Match string

const (
	// MatchAligned scores by the best alignment in order. It is the default.
	MatchAligned Match = "aligned"
	// MatchPositional scores position by position.
	MatchPositional Match = "positional"
	// MatchExact wants the same calls in the same order, and no others.
	MatchExact Match = "exact"
	// MatchInOrder wants the expected calls in their order; others may come between.
	MatchInOrder Match = "in_order"
	// MatchAnyOrder wants the same calls, in any order, and no others.
	MatchAnyOrder Match = "any_order"
	// MatchSubset wants no call that is not expected.
	MatchSubset Match = "subset"
	// MatchSuperset wants every expected call; others may be made too.
	MatchSuperset Match = "superset"
)

// A TrajectoryCheck compares the calls that were made with expected ones.
type TrajectoryCheck struct {
	Match Match `json:"match,omitempty"`
	// Calls are expected. With Baseline they are those of the passing repeats of
	// the case in that baseline; the most similar one counts.
	Calls    []CallPattern `json:"calls,omitempty"`
	Baseline string        `json:"baseline,omitempty"`
	// Trajectories of the baseline, filled in when a run starts.
	Trajectories [][]CallPattern `json:"trajectories,omitempty"`
	// Compare overrides how arguments are compared, by "argument" or
	// "tool.argument".
	Compare map[string]Comparison `json:"compare,omitempty"`
}

// A Comparison says how one argument is compared. Exactly one field is set.
type Comparison struct {
	// How is exact, ignore_case, ignore or set.
	How string `json:"how,omitempty"`
	// Regex that the actual value must match, as text.
	Regex string `json:"regex,omitempty"`
	// Number accepts a relative or an absolute distance.
	Number *Tolerance `json:"number,omitempty"`
}

// A Tolerance is how far two numbers may lie apart: by a share of the larger,
// or by a distance.
type Tolerance struct {
	Relative float64 `json:"relative,omitempty"`
	Absolute float64 `json:"absolute,omitempty"`
}

// A RepeatsCheck wants no call with the same tool and arguments more than Max
// times.
type RepeatsCheck struct {
	// Tool restricts the check to one tool.
	Tool string `json:"tool,omitempty"`
	// Max is how often the same call may be made. Zero means once.
	Max int `json:"max,omitempty"`
}

// An AtMostCheck bounds what a trial took. Zero means no bound, but for the
// pointers.
type AtMostCheck struct {
	Turns        *int          `json:"turns,omitempty"`
	ToolCalls    *int          `json:"tool_calls,omitempty"`
	ToolErrors   *int          `json:"tool_errors,omitempty"`
	InvalidCalls *int          `json:"invalid_calls,omitempty"`
	Tokens       *int          `json:"tokens,omitempty"`
	CostMicroUSD *int64        `json:"cost_microusd,omitempty"`
	Time         time.Duration `json:"time_ns,omitempty"`
}

// A SensitiveCheck wants no secrets and no personal data.
type SensitiveCheck struct {
	// Kinds to look for; empty means all that package sensitive knows.
	Kinds []string `json:"kinds,omitempty"`
	// In is where to look. Empty means PlaceAll.
	In Place `json:"in,omitempty"`
	// Allow are exact values that are no finding.
	Allow []string `json:"allow,omitempty"`
}

// A VerifyCheck looks at the outside state after the trial: by a step, on the
// trial's own session, or by a command.
type VerifyCheck struct {
	// Server that the step talks to; empty means the case's only one.
	Server string `json:"server,omitempty"`
	Step   *Step  `json:"step,omitempty"`
	// Command to run, with its words filled in and never by a shell. It passes
	// when it exits with 0.
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"timeout_ns,omitempty"` // zero means 30 s
}

// A ScorerCheck asks an executable: the trial as JSON on its stdin, a score as
// JSON on its stdout.
type ScorerCheck struct {
	Command []string          `json:"command"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"timeout_ns,omitempty"` // zero means 30 s
}

// A JudgeCheck asks a model for a verdict on a rubric.
type JudgeCheck struct {
	// Rubric in words.
	Rubric string `json:"rubric"`
	// Model names the model that judges.
	Model string `json:"model,omitempty"`
	// Votes are asked for, of which the majority decides. Zero means 1.
	Votes int `json:"votes,omitempty"`
	// Reference is an answer to compare with, in both orders; the trial passes
	// when its own answer is not the worse one.
	Reference string `json:"reference,omitempty"`
}
