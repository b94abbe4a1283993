package eval

import "time"

// A Result is all that a trial produced. It never changes once it is stored.
type Result struct {
	Verdict Verdict    `json:"verdict"`
	Reason  Reason     `json:"reason,omitempty"`
	Message string     `json:"message,omitempty"`
	Stop    StopReason `json:"stop,omitempty"`
	Scores  []Score    `json:"scores,omitempty"`
	// Broken is why a call of a dependency got no answer, if one did: a trial that
	// fails then is an error, because nobody can tell whose doing it was.
	Broken Reason `json:"broken,omitempty"`
	// Threshold of the case, which folding the scores again needs.
	Threshold *float64 `json:"threshold,omitempty"`
	Counts    Counts   `json:"counts"`
	// Usage of the agent's model, of the model that plays the user, and of
	// judges, each apart.
	Usage      Usage `json:"usage,omitzero"`
	UserUsage  Usage `json:"user_usage,omitzero"`
	JudgeUsage Usage `json:"judge_usage,omitzero"`
	// CostMicroUSD of the agent's model and of the one that plays the user, and
	// JudgeCostMicroUSD of judges. Null when no model was asked, or one that has no
	// price: an unknown cost is never zero.
	CostMicroUSD      *int64 `json:"cost_microusd,omitempty"`
	JudgeCostMicroUSD *int64 `json:"judge_cost_microusd,omitempty"`
	// UnansweredMicroUSD is the part of either that is counted for calls whose answer
	// was lost, each at its most.
	UnansweredMicroUSD int64 `json:"unanswered_microusd,omitempty"`
	Times              Times `json:"times"`
	// Tools holds the latency of every call by tool name, for percentiles over
	// a run without opening trajectories.
	Tools    []ToolUse  `json:"tools,omitempty"`
	Listing  *Listing   `json:"listing,omitempty"`
	Findings []Finding  `json:"findings,omitempty"`
	Server   ServerInfo `json:"server,omitzero"`
	// Trajectory and Frames are blobs, by sha256.
	Trajectory string `json:"trajectory,omitempty"`
	Frames     string `json:"frames,omitempty"`
	// TrajectoryHash is [Trajectory.Hash]: the sha256, in hex, of the trajectory
	// with its times left out, for comparing what two runs did.
	TrajectoryHash string `json:"trajectory_hash,omitempty"`
	// Stderr is the head of what the server wrote to stderr, for reports, when
	// the trial did not pass. The trajectory has more of it.
	Stderr string `json:"stderr,omitempty"`
}

// Counts of one trial. Steps are those of a script.
type Counts struct {
	StepsPass int `json:"steps_pass"`
	StepsFail int `json:"steps_fail"`
	Turns     int `json:"turns"`
	ToolCalls int `json:"tool_calls"`
	// ToolErrors are results with isError.
	ToolErrors int `json:"tool_errors"`
	// InvalidArguments are calls rejected for their arguments (-32602, or a
	// result that says so).
	InvalidArguments int `json:"invalid_arguments"`
	// Retries are calls that repeat a failed call of the same tool.
	Retries       int `json:"retries"`
	ResourceReads int `json:"resource_reads"`
	// Polls are the calls of a repeat_until after its first.
	Polls         int `json:"polls"`
	ResponseBytes int `json:"response_bytes"`
	// ContextTokens estimates what the answers would cost in a context:
	// (bytes+3)/4. It is no tokenizer's count.
	ContextTokens int `json:"context_tokens"`

	// Of an agent. InvalidCalls went back to the model uncalled: an unknown tool,
	// arguments that are no JSON or break the tool's schema.
	InvalidCalls int `json:"invalid_calls,omitempty"`
	// ToolSearches are calls of the tool that searches for tools.
	ToolSearches int `json:"tool_searches,omitempty"`
	// InitialToolTokens and LoadedToolTokens estimate what tool definitions cost
	// in the context: those of the first turn, and those that a search added.
	InitialToolTokens int `json:"initial_tool_tokens,omitempty"`
	LoadedToolTokens  int `json:"loaded_tool_tokens,omitempty"`
	// CutResults are tool results that the model was not shown whole.
	CutResults int `json:"cut_results,omitempty"`
	// Injections are tool results that try to instruct the model or a judge.
	Injections int `json:"injections,omitempty"`
}

// Times of one trial, in milliseconds, each kind apart.
type Times struct {
	QueueMS       float64 `json:"queue_ms"`
	LimiterMS     float64 `json:"limiter_ms"`
	BackoffMS     float64 `json:"backoff_ms"`
	ServerStartMS float64 `json:"server_start_ms"`
	ModelMS       float64 `json:"model_ms"`
	UserMS        float64 `json:"user_ms,omitempty"`
	ToolMS        float64 `json:"tool_ms"`
	JudgeMS       float64 `json:"judge_ms"`
	// TotalMS from claim to commit.
	TotalMS float64 `json:"total_ms"`
}

// A ToolUse is one call in short.
type ToolUse struct {
	Tool      string  `json:"tool"`
	LatencyMS float64 `json:"latency_ms"`
	Error     bool    `json:"error,omitempty"`
}

// An AttemptOutcome says what one try at a trial came to.
type AttemptOutcome string

const (
	// AttemptDone: the attempt carries a result.
	AttemptDone AttemptOutcome = "done"
	// AttemptFailed: the farm or a dependency failed; the trial is tried again
	// until its attempts are used up.
	AttemptFailed AttemptOutcome = "failed"
	// AttemptLost: the claim expired, so the worker is taken for dead.
	AttemptLost AttemptOutcome = "lost"
	// AttemptReturned: the attempt was given back after it had spent something. It
	// is no failure; another one follows.
	AttemptReturned AttemptOutcome = "returned"
)

// A Record is what one attempt hands to the aggregator. It is the payload of
// the result stream.
type Record struct {
	// UID is minted by the worker, unique for ever.
	UID     string `json:"uid"`
	Run     string `json:"run"`
	Ordinal int    `json:"ordinal"`
	// N is the number of the attempt, from 1, given by the scheduler.
	N       int            `json:"n"`
	Worker  string         `json:"worker"`
	Outcome AttemptOutcome `json:"outcome"`
	// Result of an attempt that is done. A failed or lost attempt carries the
	// error result that stands if no further attempt is left.
	Result Result `json:"result"`
	// CostMicroUSD and Tokens are what the attempt took, whatever it came to.
	CostMicroUSD int64 `json:"cost_microusd"`
	Tokens       int64 `json:"tokens,omitempty"`
	// TraceID is the trace that has the spans of the attempt, in hex; empty if nobody
	// kept them.
	TraceID string `json:"trace_id,omitempty"`
	// Blobs that the result refers to and that are small enough to travel with
	// it; larger ones went to the blob store before.
	Blobs   []Blob    `json:"blobs,omitempty"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
}

// A Blob is content stored under the sha256 of its plain bytes, in hex.
type Blob struct {
	SHA256 string `json:"sha256"`
	// Zstd is the content, compressed.
	Zstd []byte `json:"zstd"`
}
