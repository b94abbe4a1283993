package eval

// A Verdict says how one trial ended. The six are never collapsed into fewer.
type Verdict string

const (
	// Pass: the system under test did what the case asks. Counted in rates.
	Pass Verdict = "pass"
	// Fail: the system under test did not do it. Counted in rates.
	Fail Verdict = "fail"
	// Error: the farm or a dependency failed before the system under test could
	// answer. Never in a rate, counted beside it.
	Error Verdict = "error"
	// Unjudged: the work is there, but the judge failed or refused. It can be
	// judged again.
	Unjudged Verdict = "unjudged"
	// Unfinished: stopped by the run's budget, its time or a cancel. It makes a
	// gate inconclusive, never by itself red.
	Unfinished Verdict = "unfinished"
	// Skipped: filtered out before the run.
	Skipped Verdict = "skipped"
)

// Verdicts lists every verdict in the order in which counts are printed.
func Verdicts() []Verdict {
	return []Verdict{Pass, Fail, Error, Unjudged, Unfinished, Skipped}
}

// A StopReason says why an attempt ended.
type StopReason string

const (
	// StopDone: every step was carried out.
	StopDone StopReason = "done"
	// StopFailed: the case asked to stop at its first failing step.
	StopFailed StopReason = "stop_on_failure"
	// StopServerLost: the server's session ended before the last step.
	StopServerLost StopReason = "server_lost"
	// StopTimeLimit: the trial's own time limit ran out.
	StopTimeLimit StopReason = "time_limit"
	// StopToolCallLimit: the trial's own limit on tool calls was reached.
	StopToolCallLimit StopReason = "tool_call_limit"
	// StopCancelled: a person, a budget or a drain stopped the trial.
	StopCancelled StopReason = "cancelled"
	// StopNotStarted: the server under test could not be reached.
	StopNotStarted StopReason = "not_started"

	// Of an agent, beside the limits above.

	// StopTurnLimit, StopTokenLimit, StopCostLimit: the trial's own limit on
	// turns, tokens or money was reached.
	StopTurnLimit  StopReason = "turn_limit"
	StopTokenLimit StopReason = "token_limit"
	StopCostLimit  StopReason = "cost_limit"
	// StopLoop: the agent made the same call again and again.
	StopLoop StopReason = "loop"
	// StopUser: the model that plays the user ended the conversation.
	StopUser StopReason = "user_stop"
	// StopRefused: the provider's content filter, or the model itself, refused.
	StopRefused StopReason = "refused"
	// StopOutputLimit: an answer was cut by the model's own limit.
	StopOutputLimit StopReason = "output_limit"
	// StopContextLimit: the conversation no longer fits the model.
	StopContextLimit StopReason = "context_limit"
	// StopModelLost: the model could not be reached any more.
	StopModelLost StopReason = "model_lost"
)
