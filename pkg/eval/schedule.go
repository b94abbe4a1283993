package eval

import "time"

// A Schedule starts a run of a suite again and again, at the times of a cron
// expression.
type Schedule struct {
	Name string `json:"name"`
	// Cron is when it is due, on the clocks of Timezone, an IANA name. Jitter bounds
	// how much later a firing begins.
	Cron     string        `json:"cron"`
	Timezone string        `json:"timezone"`
	Jitter   time.Duration `json:"jitter_ns,omitempty"`
	// Overlap is what to do while a run of the schedule is not done.
	Overlap Overlap `json:"overlap"`
	// CatchUp is what to do about firings that were missed, and CatchUpLimit how many
	// of them CatchUpAll makes up for: the latest.
	CatchUp      CatchUp `json:"catch_up"`
	CatchUpLimit int     `json:"catch_up_limit,omitempty"`
	// FinishBy is a time of day in Timezone, such as 06:00. The first one after a
	// firing is due is the latest moment at which it begins, and at which its run
	// begins anything. Empty is no bound.
	FinishBy string `json:"finish_by,omitempty"`

	// Suite is the path of the suite, which is loaded anew each time; With that of a
	// file that completes it.
	Suite string            `json:"suite"`
	With  string            `json:"with,omitempty"`
	Vars  map[string]string `json:"vars,omitempty"`
	// Cases, Tags and Axes select from it; Repeats is that of every selected case, and
	// zero what the suite says.
	Cases   []string            `json:"cases,omitempty"`
	Tags    []string            `json:"tags,omitempty"`
	Axes    map[string][]string `json:"axes,omitempty"`
	Repeats int                 `json:"repeats,omitempty"`
	// Baseline that its runs are compared with, and Gate, the path of a policy file,
	// which is loaded anew each time. Empty is what the suite says.
	Baseline string `json:"baseline,omitempty"`
	Gate     string `json:"gate,omitempty"`
	// BudgetMicroUSD bounds all runs of the schedule together, for ever. Zero is no
	// bound.
	BudgetMicroUSD int64 `json:"budget_microusd,omitempty"`

	// Tenant on whose account its runs are, and their Priority; zero means 1.
	Tenant   string `json:"tenant,omitempty"`
	Priority int    `json:"priority,omitempty"`
	// Notifications names the targets that are told of its runs. None means those that
	// want to be told of its suite.
	Notifications []string `json:"notifications,omitempty"`

	// File is the farm file that it is written in; empty if it was added by command.
	File string `json:"file,omitempty"`
	// Paused is true if that file says so.
	Paused bool `json:"paused,omitempty"`
}

// An Overlap is what becomes of a firing while a run of its schedule is not done.
type Overlap string

const (
	OverlapSkip   Overlap = "skip"   // it starts nothing
	OverlapQueue  Overlap = "queue"  // it waits for its turn
	OverlapCancel Overlap = "cancel" // the run before it is cancelled
)

// A CatchUp is what becomes of firings that were due when nobody was there.
type CatchUp string

const (
	CatchUpSkip CatchUp = "skip" // nothing
	CatchUpOnce CatchUp = "once" // one run for all of them
	CatchUpAll  CatchUp = "all"  // a run for each of the latest
)

// A Firing is what became of a schedule at one of the times at which it was due.
type Firing struct {
	Schedule string `json:"schedule"`
	// Due is the time of the cron expression, without jitter; of a firing by hand, when
	// it was asked for.
	Due time.Time `json:"due"`
	// At is when the outcome was decided.
	At      time.Time     `json:"at"`
	Outcome FiringOutcome `json:"outcome"`
	// Run that was started.
	Run string `json:"run,omitempty"`
	// Message says why, for people.
	Message string `json:"message,omitempty"`
}

// A FiringOutcome says what became of a firing.
type FiringOutcome string

const (
	FiringStarted FiringOutcome = "started" // a run was started
	FiringQueued  FiringOutcome = "queued"  // it waits until the run before it is done
	FiringOverlap FiringOutcome = "overlap" // skipped: the run before it was not done
	FiringLate    FiringOutcome = "late"    // skipped: it was later than finish_by
	FiringMissed  FiringOutcome = "missed"  // skipped: no scheduler was there in time
	FiringPaused  FiringOutcome = "paused"  // skipped: the schedule was paused
	FiringFailed  FiringOutcome = "failed"  // the run could not be started
)
