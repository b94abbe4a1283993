package eval

import "time"

// A Run is one invocation of a suite. It owns trials.
type Run struct {
	// ID is "r-YYYYMMDD-" and six base32 letters.
	ID        string   `json:"id"`
	Suite     string   `json:"suite"`
	SuiteHash string   `json:"suite_hash"`
	SuitePath string   `json:"suite_path,omitempty"`
	State     RunState `json:"state"`
	// Control is what a person asked for; the scheduler follows it.
	Control Control `json:"control"`
	// Header is the sha256 of the snapshot blob.
	Header string `json:"header"`
	// Trials in the plan; Cursor is the first ordinal never dispatched.
	Trials int `json:"trials"`
	Cursor int `json:"cursor"`
	// Rounds is the look after which a run of sequential repeats stopped because it was
	// decided; Trials is that of the shorter plan from then on. 0: it has not stopped.
	Rounds int `json:"rounds,omitempty"`
	// Attempts is how many reported failures of the farm end a trial as an error;
	// MaxLost is how many lost claims do.
	Attempts int `json:"attempts"`
	MaxLost  int `json:"max_lost"`
	// Priority weighs the run against others of its tenant; 1 is usual.
	Priority int `json:"priority"`
	// Tenant on whose account the run is: its share of a farm. Empty is that of all
	// runs that name none.
	Tenant string `json:"tenant,omitempty"`
	// Carrier is who is to carry the run out.
	Carrier Carrier `json:"carrier,omitempty"`
	// Key under which the run was asked for, so that whoever asks again gets this run:
	// the only one of its tenant with the key. Asked is the sha256 of what was asked
	// for. Without a key both are empty.
	Key   string `json:"idempotency_key,omitempty"`
	Asked string `json:"asked,omitempty"`
	// Grading is the id of the grading whose scores count, if the run has judge
	// checks. Parent is set for a grading: the run that it scores. A grading is
	// kept and carried out like a run, with an ordinal for each trial that it
	// scores.
	Grading string `json:"grading,omitempty"`
	Parent  string `json:"parent,omitempty"`
	// Confirms is set for a run that tries the suspects of another one again, and names
	// that: it is carried out with it, under its caps, and never among its trials.
	Confirms string `json:"confirms,omitempty"`
	// Reserve is the part of the Budget that the run leaves to the one that confirms its
	// suspects.
	Reserve Amount `json:"reserve,omitzero"`
	// Budget of the run, with its gradings. DayMicroUSD bounds all runs of a UTC day
	// beside it.
	Budget      Budget `json:"budget,omitzero"`
	DayMicroUSD int64  `json:"day_microusd,omitempty"`
	// Schedule that started the run, if one did. ScheduleMicroUSD bounds all runs of
	// it.
	Schedule         string `json:"schedule,omitempty"`
	ScheduleMicroUSD int64  `json:"schedule_microusd,omitempty"`
	// Notify names the targets that are told of the run's end, as far as it is an
	// occasion for them. None means those that want to be told of its suite.
	Notify  []string   `json:"notify,omitempty"`
	Outcome RunOutcome `json:"outcome,omitempty"`
	// Short is what ran out, when the outcome is budget_exhausted.
	Short    Shortage   `json:"short,omitempty"`
	Verdict  RunVerdict `json:"verdict,omitempty"`
	ExitCode int        `json:"exit_code"`
	// Summary is the sha256 of the summary blob of a finished run.
	Summary  string    `json:"summary,omitempty"`
	Created  time.Time `json:"created"`
	Finished time.Time `json:"finished,omitzero"`
}

// Confirmation is the id of the run that tries the suspects of this one again, if it has
// any.
func (r Run) Confirmation() string { return r.ID + ".c1" }

// Own is the Budget without the Reserve: what the run and its gradings may take.
func (r Run) Own() Budget {
	b := r.Budget
	b.MicroUSD, b.Tokens = b.MicroUSD-r.Reserve.MicroUSD, b.Tokens-r.Reserve.Tokens
	return b
}

// Capped says whether what trials may take has to be held before they begin.
func (r Run) Capped() bool { return r.Budget.Tokens > 0 || r.CapsMoney() }

// CapsMoney says whether a cap counts what the run spends: its own, that of the day,
// or that of its schedule.
func (r Run) CapsMoney() bool {
	return r.Budget.MicroUSD > 0 || r.DayMicroUSD > 0 || r.ScheduleMicroUSD > 0
}

// Hold is the part of an amount that the run has to hold: what its caps count.
func (r Run) Hold(a Amount) Amount {
	if !r.CapsMoney() {
		a.MicroUSD = 0
	}
	if r.Budget.Tokens == 0 {
		a.Tokens = 0
	}
	return a
}

// A Carrier carries runs out.
type Carrier string

const (
	// CarrierProcess is the process that made the run, or one that resumes it. Empty
	// is the same.
	CarrierProcess Carrier = "process"
	// CarrierService is whichever scheduler leads the farm.
	CarrierService Carrier = "service"
)

// A RunState says where a run is. It moves forward only, but for retry, which
// takes a done run back to running.
type RunState string

const (
	RunQueued     RunState = "queued"     // planned, nothing dispatched
	RunRunning    RunState = "running"    // trials are dispatched
	RunPaused     RunState = "paused"     // nothing new is dispatched
	RunFinalizing RunState = "finalizing" // all trials are in; the summary is made
	RunDone       RunState = "done"       // the summary is stored
)

// A Control is what a person wants of a run.
type Control string

const (
	ControlRun    Control = "run"
	ControlPause  Control = "pause"
	ControlCancel Control = "cancel"
)

// A RunOutcome says how a run ended.
type RunOutcome string

const (
	OutcomeComplete        RunOutcome = "complete"
	OutcomeRunCancelled    RunOutcome = "cancelled"
	OutcomeBudgetExhausted RunOutcome = "budget_exhausted"
	OutcomeInterrupted     RunOutcome = "interrupted"
)

// A RunVerdict is what a run proves.
type RunVerdict string

const (
	RunPass         RunVerdict = "pass"
	RunFail         RunVerdict = "fail"
	RunError        RunVerdict = "error"
	RunInconclusive RunVerdict = "inconclusive"
)

// An Event is one thing that happened to a run, numbered for readers that
// follow along.
type Event struct {
	Seq  int64     `json:"seq"`
	Run  string    `json:"run"`
	Kind string    `json:"kind"` // "state" or "result"
	At   time.Time `json:"at"`
	// Ordinal and Verdict of a result; State of a state change.
	Ordinal int      `json:"ordinal,omitempty"`
	Verdict Verdict  `json:"verdict,omitempty"`
	State   RunState `json:"state,omitempty"`
}
