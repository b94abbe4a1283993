package eval

// A Reason is the machine-readable cause of a verdict other than pass. People
// read the message beside it; programs and reports group by the reason.
type Reason string

// Reasons of a failed expectation.
const (
	// ReasonMismatch: a value differs from what the step expects.
	ReasonMismatch Reason = "mismatch"
	// ReasonCountMismatch: the number of items differs from expect_count.
	ReasonCountMismatch Reason = "count_mismatch"
	// ReasonUnexpectedMatch: the value matches what expect_not forbids.
	ReasonUnexpectedMatch Reason = "unexpected_match"
	// ReasonUnexpectedError: the server rejected a call that should succeed.
	ReasonUnexpectedError Reason = "unexpected_error"
	// ReasonNoError: the server accepted a call that it should reject.
	ReasonNoError Reason = "no_error"
	// ReasonWrongError: rejected, but with another kind, code or text.
	ReasonWrongError Reason = "wrong_error"
	// ReasonExtractMissing: the path of an extract leads nowhere.
	ReasonExtractMissing Reason = "extract_missing"
	// ReasonVariableMissing: a step needs a variable that nobody extracted; it
	// was not called.
	ReasonVariableMissing Reason = "variable_missing"
	// ReasonPollExhausted: repeat_until never saw its value.
	ReasonPollExhausted Reason = "poll_exhausted"
	// ReasonNotUnique: collected pages hold the same item twice.
	ReasonNotUnique Reason = "not_unique"
	// ReasonNotSame: collected pages differ from the list they must equal.
	ReasonNotSame Reason = "not_same"
	// ReasonPagesEndless: collect reached its page limit, or a cursor repeated.
	ReasonPagesEndless Reason = "pages_endless"
	// ReasonCatalogRule: the tool listing breaks a rule of a catalog case.
	ReasonCatalogRule Reason = "catalog_rule"
	// ReasonLimit: a limit of the trial left a step uncalled, or was reached with
	// on_limit: fail.
	ReasonLimit Reason = "limit"
)

// Reasons of an agent's failure.
const (
	// ReasonNotDiscovered: the tool that was needed was never found: a search did
	// not bring it up.
	ReasonNotDiscovered Reason = "not_discovered"
	// ReasonNotSelected: the tool was at hand, and the agent did not call it.
	ReasonNotSelected Reason = "not_selected"
	// ReasonUnwantedCall: the agent made a call that the check forbids.
	ReasonUnwantedCall Reason = "unwanted_call"
	// ReasonWrongArguments: the tool was called, with other arguments.
	ReasonWrongArguments Reason = "wrong_arguments"
	// ReasonWrongOrder: the calls were made, in another order.
	ReasonWrongOrder Reason = "wrong_order"
	// ReasonWrongAnswer: what the agent said is not what the check wants.
	ReasonWrongAnswer Reason = "wrong_answer"
	// ReasonGaveUp: the agent said nothing, or made no call at all.
	ReasonGaveUp Reason = "gave_up"
	// ReasonRepeatedCall: the agent made the same call too often.
	ReasonRepeatedCall Reason = "repeated_call"
	// ReasonTooMuch: the trial took more than the check allows.
	ReasonTooMuch Reason = "too_much"
	// ReasonSensitiveData: secrets or personal data where none may be.
	ReasonSensitiveData Reason = "sensitive_data"
	// ReasonWrongState: the outside state is not what the check wants.
	ReasonWrongState Reason = "wrong_state"
	// ReasonJudgedBad: a judge says no.
	ReasonJudgedBad Reason = "judged_bad"
)

// Reasons of a trial that is not judged.
const (
	// ReasonAwaitingJudge: no judge has spoken yet.
	ReasonAwaitingJudge Reason = "awaiting_judge"
	// ReasonJudgeFailed: the judge could not be reached.
	ReasonJudgeFailed Reason = "judge_failed"
	// ReasonJudgeRefused: the judge would not answer.
	ReasonJudgeRefused Reason = "judge_refused"
	// ReasonJudgeMalformed: the judge's answer holds no verdict.
	ReasonJudgeMalformed Reason = "judge_malformed"
	// ReasonJudgeTied: the judge's votes are as many for as against.
	ReasonJudgeTied Reason = "judge_tied"
	// ReasonNoJudge: the check needs a judge, and the suite names none.
	ReasonNoJudge Reason = "no_judge"
	// ReasonNoBaseline: the check compares with a baseline, which has no passing
	// repeat of the case.
	ReasonNoBaseline Reason = "no_baseline"
)

// Reasons of a server that misbehaved after initialize succeeded. In script and
// catalog cases they are a fail, because the server is under test.
const (
	// ReasonMissingTool: the listing does not have the tool that was called.
	ReasonMissingTool Reason = "missing_tool"
	// ReasonTimeout: no answer within call_timeout.
	ReasonTimeout Reason = "call_timeout"
	// ReasonServerCrashed: the process ended while a call was waiting.
	ReasonServerCrashed Reason = "server_crashed"
	// ReasonStreamCut: the connection or stdout closed while a call was waiting.
	ReasonStreamCut Reason = "stream_cut"
	// ReasonProtocolViolation: bytes arrived that are no valid answer.
	ReasonProtocolViolation Reason = "protocol_violation"
	// ReasonOversize: an answer larger than the frame limit.
	ReasonOversize Reason = "oversize"
	// ReasonHTTPStatus: an HTTP status other than success answered a call.
	ReasonHTTPStatus Reason = "http_status"
)

// Reasons of an error: no system under test could answer.
const (
	// ReasonStartFailed: the command could not be executed, or the container not be
	// started.
	ReasonStartFailed Reason = "start_failed"
	// ReasonStartExited: the process ended before initialize was answered.
	ReasonStartExited Reason = "start_exited"
	// ReasonStartTimeout: initialize was not answered within start_timeout.
	ReasonStartTimeout Reason = "start_timeout"
	// ReasonStartRefused: initialize was answered, but no session came of it:
	// an unknown protocol revision, an error, an unreadable answer.
	ReasonStartRefused Reason = "start_refused"
	// ReasonUnreachable: the URL does not answer, or says that it cannot now (429,
	// 5xx); or the container engine or the registry of an image does not.
	ReasonUnreachable Reason = "unreachable"
	// ReasonUnauthorized: the server refuses the credentials.
	ReasonUnauthorized Reason = "unauthorized"
	// ReasonModelUnavailable: the model could not be reached, or had no room for
	// us for too long.
	ReasonModelUnavailable Reason = "model_unavailable"
	// ReasonModelUnauthorized: the provider refuses the key.
	ReasonModelUnauthorized Reason = "model_unauthorized"
	// ReasonModelQuota: the provider's credit or quota is spent.
	ReasonModelQuota Reason = "model_quota"
	// ReasonModelRefused: the provider refuses the request itself.
	ReasonModelRefused Reason = "model_bad_request"
	// ReasonReplayMiss: the call to be replayed was not recorded.
	ReasonReplayMiss Reason = "replay_miss"
	// ReasonScorerFailed: a check could not be decided.
	ReasonScorerFailed Reason = "scorer_failed"
	// ReasonSecretMissing: this worker has no value for a secret.
	ReasonSecretMissing Reason = "secret_missing"
	// ReasonWorkerLost: the worker's claim expired too often.
	ReasonWorkerLost Reason = "worker_lost"
	// ReasonFarm: a failure of the farm itself; the message says which.
	ReasonFarm Reason = "farm"
)

// Reasons of an unfinished trial.
const (
	// ReasonCancelled: a person cancelled the run.
	ReasonCancelled Reason = "cancelled"
	// ReasonBudget: what the run may spend was not enough for it.
	ReasonBudget Reason = "budget"
)

// Infra says whether the reason is a failure of the farm or of a dependency, so
// that a trial which ends with it is an error and may be tried again.
func (r Reason) Infra() bool {
	switch r {
	case ReasonStartFailed, ReasonStartExited, ReasonStartTimeout, ReasonStartRefused,
		ReasonUnreachable, ReasonUnauthorized, ReasonSecretMissing, ReasonWorkerLost, ReasonFarm,
		ReasonModelUnavailable, ReasonModelUnauthorized, ReasonModelQuota, ReasonModelRefused, ReasonReplayMiss,
		ReasonScorerFailed, ReasonBudget:
		return true
	default:
		return false
	}
}

// Permanent says whether another attempt on the same worker would end alike, so
// that trying again is only a delay.
func (r Reason) Permanent() bool {
	switch r {
	case ReasonStartFailed, ReasonStartRefused, ReasonUnauthorized, ReasonSecretMissing,
		ReasonModelUnauthorized, ReasonModelQuota, ReasonModelRefused, ReasonReplayMiss, ReasonMissingTool, ReasonScorerFailed,
		ReasonBudget:
		return true
	default:
		return false
	}
}
