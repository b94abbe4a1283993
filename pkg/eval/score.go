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
	// Reason and Message of a score that did not pass.
	Reason  Reason `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Expected and Actual show the difference; each may be cut short.
	Expected JSON `json:"expected,omitempty"`
	Actual   JSON `json:"actual,omitempty"`
	// LatencyMS of the calls that the step made, their waits left out.
	LatencyMS float64 `json:"latency_ms,omitempty"`
	// Tool or URI that the step used.
	Target string `json:"target,omitempty"`
}
