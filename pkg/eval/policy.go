package eval

// A Policy is what the scripted model does: a list of moves for each case, one
// for each turn of the conversation. What it does depends on the case, on the
// seed of the trial and on the conversation alone, so any process that asks
// again gets the same answer.
type Policy struct {
	// Cases by case id. A key may be a glob of path.Match; an exact id goes
	// before a glob, a longer glob before a shorter one.
	Cases map[string][]Move `json:"cases,omitempty"`
	// Default is for cases that no key matches.
	Default []Move `json:"default,omitempty"`
}

// A Move is one thing that the scripted model does. Exactly one of Say with
// Calls, Choose, If and Fail is set; Say may stand alone or beside Calls. After
// its last move the model says nothing more.
//
// Say and the strings in the arguments of calls may hold {{last}}, the text of
// the latest tool result, {{last.PATH}}, a value of it by JSON path, and
// {{prompt}}, the first thing that the user said.
type Move struct {
	Say string `json:"say,omitempty"`
	// Calls are made at once, in parallel.
	Calls []ScriptedCall `json:"calls,omitempty"`
	// Times makes the move again in the following turns, so many in all. Zero
	// means once, -1 for ever.
	Times int `json:"times,omitempty"`

	// Choose continues with the moves of one choice, by weight and the trial's seed.
	Choose []Choice `json:"choose,omitempty"`

	// If continues with Then when it holds of the conversation, else with Else.
	If   *Condition `json:"if,omitempty"`
	Then []Move     `json:"then,omitempty"`
	Else []Move     `json:"else,omitempty"`

	// Fail makes the call to the model fail.
	Fail *ScriptedFailure `json:"fail,omitempty"`

	// Usage to report; nil means an estimate of four bytes a token.
	Usage *Usage `json:"usage,omitempty"`
	// LatencyMS is how long the answer takes.
	LatencyMS int `json:"latency_ms,omitempty"`
}

// A ScriptedCall is one tool call of a move.
type ScriptedCall struct {
	Tool      string `json:"tool"`
	Arguments JSON   `json:"arguments,omitempty"`
	// Raw is sent as the arguments as it stands, to be malformed on purpose.
	Raw *string `json:"raw,omitempty"`
}

// A Choice is one of several ways to go on.
type Choice struct {
	// Weight relative to the other choices.
	Weight float64 `json:"weight"`
	Moves  []Move  `json:"moves,omitempty"`
}

// A Condition looks at the latest message that is not the model's own.
type Condition struct {
	// Contains is a text that the message must hold.
	Contains string `json:"contains,omitempty"`
	// Error wants a tool result that is an error.
	Error bool `json:"error,omitempty"`
}

// A ScriptedFailure is how a call to the scripted model fails.
type ScriptedFailure struct {
	// Kind as in llm.Kind: rate_limit, overloaded, quota, auth, bad_request,
	// context_length, content_filter or network.
	Kind string `json:"kind"`
	// RetryAfterMS is the wait that the provider asks for.
	RetryAfterMS int `json:"retry_after_ms,omitempty"`
}
