// Package store is the contract of what is kept: runs, trials, attempts,
// results, scores, blobs and events, and what all of it costs.
//
// The store is the truth of a farm. Who writes what: the scheduler writes runs, the
// dispatch marks of trials and notices; the aggregator alone writes attempts,
// results and scores. Every write is idempotent, because every writer may be
// killed and repeat itself.
//
// A cap holds because money is held before it can be spent. A mark holds what its
// attempt may take at most, and is written only if it fits. The attempt's record
// puts what was really taken in place of the hold; an attempt that ends unseen is
// charged its whole hold, until a record of it comes after all. So at no moment is
// more spent, charged and held than the caps of a run allow, or those of a day;
// and whatever workers did, it is in the ledger.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

var (
	// ErrNotFound is returned for a run, a blob or a trial that does not exist.
	ErrNotFound = errors.New("not found")
	// ErrDone is returned when something is to begin of a run that is done.
	ErrDone = errors.New("the run is done")
	// ErrKeyTaken is returned for a run whose key another run of its tenant has.
	ErrKeyTaken = errors.New("the idempotency key is taken")
)

// A TrialState says where a trial stands that has been dispatched at least
// once. Trials never dispatched have no row.
type TrialState string

const (
	// Waiting: the next attempt is to be dispatched, not before a time.
	Waiting TrialState = "waiting"
	// Dispatched: the current attempt is in the queue or with a worker.
	Dispatched TrialState = "dispatched"
	// Done: a result stands.
	Done TrialState = "done"
)

// A Trial is the dispatch mark of one trial.
type Trial struct {
	Run     string
	Ordinal int
	// Attempt is the number of the current attempt, from 1.
	Attempt int
	State   TrialState
	// NotBefore is when a waiting trial may be dispatched.
	NotBefore time.Time
	// Hold is what is held for the current attempt while it is out and has no
	// record.
	Hold eval.Amount
	// Subject is the sha256 of the trajectory that a trial of a grading scores.
	Subject string
	// Failures and Losses count earlier attempts that the farm failed or lost
	// since the trial was last asked to run.
	Failures int
	Losses   int
	// Reported is true when the current attempt has been recorded as failed, lost or
	// returned, so that the next one is due.
	Reported bool
}

// A Row is the standing result of a trial, with the scores of the run's grading
// folded in.
type Row struct {
	Ordinal int `json:"ordinal"`
	// UID and N of the attempt that carries the result.
	UID          string `json:"uid"`
	N            int    `json:"n"`
	Worker       string `json:"worker"`
	CostMicroUSD int64  `json:"cost_microusd"`
	Tokens       int64  `json:"tokens"`
	// TraceID of the attempt or, where that was not traced, of what judged it.
	TraceID string `json:"trace_id,omitempty"`
	// TraceURL is where people see the trace. No store keeps it: who shows the row
	// fills it in.
	TraceURL string      `json:"trace_url,omitempty"`
	Started  time.Time   `json:"started"`
	Ended    time.Time   `json:"ended"`
	Result   eval.Result `json:"result"`
}

// An Attempt is one try at a trial.
type Attempt struct {
	UID          string              `json:"uid"`
	Run          string              `json:"run"`
	Ordinal      int                 `json:"ordinal"`
	N            int                 `json:"n"`
	Worker       string              `json:"worker"`
	Outcome      eval.AttemptOutcome `json:"outcome"`
	Verdict      eval.Verdict        `json:"verdict,omitempty"`
	Reason       eval.Reason         `json:"reason,omitempty"`
	Message      string              `json:"message,omitempty"`
	CostMicroUSD int64               `json:"cost_microusd"`
	Tokens       int64               `json:"tokens"`
	TraceID      string              `json:"trace_id,omitempty"`
	TraceURL     string              `json:"trace_url,omitempty"` // as that of a Row
	// Sent is when it was dispatched, by the store's clock. Zero if that is not known:
	// of an attempt whose record came after the next one had been dispatched.
	Sent    time.Time `json:"-"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"`
	// Counts is true for the attempt whose result stands.
	Counts bool `json:"counts"`
}

// A Stored says what became of a committed record.
type Stored struct {
	Run          string
	Ordinal      int
	N            int
	UID          string
	Worker       string
	Outcome      eval.AttemptOutcome
	CostMicroUSD int64
	// Sent is when the attempt was dispatched, by the store's clock; zero if that is not
	// known, or the record was stored before. Started and Ended are what the worker says.
	Sent, Started, Ended time.Time
	// Final is true when the record's result now stands for its trial. It is
	// false for a superseded attempt, for one that will be followed by another,
	// and for a record that was stored before.
	Final  bool
	Result eval.Result
	// New is false for a record that was stored before, or whose run does not exist.
	New bool
	// Superseded is true when the record is new and came too late: its trial has a
	// result, or a later attempt.
	Superseded bool
	// Parent is the run whose trial was scored, when Run is a grading. Result is
	// then that of the trial, folded.
	Parent string
	// Was is the verdict that the run showed of the trial until then, when Run is a
	// grading.
	Was eval.Verdict
	// Shown is true when Run is a grading, and the one that its run shows.
	Shown bool
	// Judging is the number of the attempt with which the trial now waits for a
	// judge in the run's grading; 0 if it does not.
	Judging int
	// TraceID is that of the record.
	TraceID string
}

// A RunFilter selects runs, newest first.
type RunFilter struct {
	Suite string
	// Prefix of the run id.
	Prefix string
	// Schedule keeps only runs that it started.
	Schedule string
	// Tenant keeps only runs on its account.
	Tenant string
	// Branch keeps only runs whose suite was on this branch of git.
	Branch string
	// Unfinished keeps only runs that are not done.
	Unfinished bool
	// Green keeps only what may be the last-green run: complete ones of a whole suite
	// that passed.
	Green bool
	// Until keeps only runs that were created then or before. Zero is no bound.
	Until time.Time
	Limit int
}

// A Mark dispatches one attempt: it creates the trial's row or moves it to
// Dispatched, and holds what the attempt may take.
type Mark struct {
	Ordinal int
	Attempt int
	Hold    eval.Amount
	// Cursor of the run once this mark is written.
	Cursor int
}

// Marked says how far Dispatch came.
type Marked struct {
	// Marks is how many were written, from the first.
	Marks int
	// Moot lists, by their index, those among them whose attempt is not out now: a
	// result stands, or a later attempt is the current one.
	Moot []int
	// Short is what the next mark's hold did not fit; empty if all were written.
	Short eval.Shortage
	// Final is true when that hold would not fit either if all that is held now
	// came back unspent. Of a day's money it is true until the day ends.
	Final bool
}

// Store is the whole contract. No service asks for all of it; each declares the
// part that it uses.
type Store interface {
	// ID names this store for ever; keys in shared places carry it.
	ID() string
	Close() error

	Blobs
	Runs
	Trials
	Results
	Baselines
	Quarantines
	Schedules
	Leases
	Notices

	// Collect deletes done runs that finished before a time and are in no use, blobs
	// that nothing refers to, and firings that were decided before it. A baseline is in
	// use, and so is the run that one which is not done compares with, the last green
	// run of a suite, and that of each branch on which the suite has been run in the 90
	// days before that time. With dryRun it only counts.
	Collect(ctx context.Context, before time.Time, dryRun bool) (Collected, error)
}

// Collected counts what Collect deleted.
type Collected struct {
	Runs, Blobs int
	Bytes       int64
}

// A Baseline is a run to compare with, under a name.
type Baseline struct {
	Suite string `json:"suite"`
	Name  string `json:"name"`
	// Branch of git whose baseline it is; empty for any.
	Branch string    `json:"branch,omitempty"`
	Run    string    `json:"run"`
	Made   time.Time `json:"made"`
	// Note says why, for people.
	Note string `json:"note,omitempty"`
}

// Baselines is the table of baselines.
type Baselines interface {
	// SetBaseline gives a done run a name, or the name another run.
	SetBaseline(ctx context.Context, b Baseline) error
	// Baseline returns the baseline of a suite that has a name on a branch, else the
	// one that has it on any, or ErrNotFound.
	Baseline(ctx context.Context, suite, name, branch string) (Baseline, error)
	// Baselines returns all, by suite, name and branch.
	Baselines(ctx context.Context) ([]Baseline, error)
	// DeleteBaseline takes a name away, of exactly this branch. One that is not there
	// is ErrNotFound.
	DeleteBaseline(ctx context.Context, suite, name, branch string) error
}

// Blobs are kept by the sha256 of their plain content.
type Blobs interface {
	// PutBlobs stores blobs; one that is there already is left alone. A blob
	// whose content does not have its sha256 is an error.
	PutBlobs(ctx context.Context, bs ...eval.Blob) error
	// GetBlob returns a blob, or ErrNotFound.
	GetBlob(ctx context.Context, sha256 string) (eval.Blob, error)
}

// Runs is the table of runs, with the rows of their cells.
type Runs interface {
	// CreateRun stores a run with its header and case blobs, in one step. A
	// grading that the run names is stored with it. A run with a Key that its tenant
	// has used for another one is ErrKeyTaken.
	CreateRun(ctx context.Context, r eval.Run, blobs []eval.Blob, gradings ...eval.Run) error
	// CreateGrading stores a further grading of a run. It scores the trials that
	// have judge checks; those that are judged already keep what the run's current
	// grading says, unless all is set. It returns how many trials are to be scored.
	CreateGrading(ctx context.Context, g eval.Run, blobs []eval.Blob, all bool) (int, error)
	// Run returns a run or a grading by its full id, or ErrNotFound.
	Run(ctx context.Context, id string) (eval.Run, error)
	// RunOfKey returns the run that a tenant has asked for under a key, or ErrNotFound.
	RunOfKey(ctx context.Context, tenant, key string) (eval.Run, error)
	// ListRuns returns runs without gradings, and without those that confirm others;
	// Gradings those of one run, oldest first.
	ListRuns(ctx context.Context, f RunFilter) ([]eval.Run, error)
	// ServiceRuns returns the ids of the runs that a service is to carry out and that
	// are not done, oldest first, without gradings and without those that confirm others:
	// they come with their runs. It is asked for every second, and
	// costs nothing for runs that are done.
	ServiceRuns(ctx context.Context) ([]string, error)
	Gradings(ctx context.Context, run string) ([]eval.Run, error)
	// SetState moves a run to a state, and adds an event. A grading that is
	// finalizing has come to its end and becomes its run's current one.
	SetState(ctx context.Context, run string, s eval.RunState) error
	// SetControl records what a person wants of a run.
	SetControl(ctx context.Context, run string, c eval.Control) error
	// SetRounds ends the plan of a run after a look, because the run is decided: its
	// Rounds are set, and its Trials are those of the plan until then. A run that has
	// an end already keeps it; one that has been dispatched beyond, or is done, stays
	// as it is. A grading is ErrNotFound.
	SetRounds(ctx context.Context, run string, rounds int) error
	// SetBudget gives a run other caps. What it has taken already stays taken. A
	// grading is ErrNotFound: it has the budget of its run.
	SetBudget(ctx context.Context, run string, b eval.Budget) error
	// SetDayCap gives a run another bound of what all runs of a day spend, in
	// micro-dollars; 0 is none. A grading is ErrNotFound: it has that of its run.
	SetDayCap(ctx context.Context, run string, microUSD int64) error
	// Finish stores the outcome, what ran out, the verdict, exit code and summary of
	// a run, makes it done, and adds an event. Attempts that are still out are
	// charged what they hold. A grading that is complete becomes its run's current
	// one. The State of r is that in which the summary was made: unless it is done, a
	// run that is done already keeps the end that it has. Notices of the run go into the outbox with it, waiting; one that the run
	// has for a target already stays as it is.
	Finish(ctx context.Context, r eval.Run, summary eval.Blob, notices ...Notice) error
	// Events returns events of a run (of all runs for "") after a sequence
	// number, at most limit.
	Events(ctx context.Context, run string, after int64, limit int) ([]eval.Event, error)
	// SetLive replaces what is known of what a run is doing right now, until it is
	// done; of a done run nothing is kept. It adds no event.
	SetLive(ctx context.Context, run string, l eval.Live) error
	// Live returns what SetLive stored last, or ErrNotFound.
	Live(ctx context.Context, run string) (eval.Live, error)
}

// Trials is the table of dispatch marks.
type Trials interface {
	// Dispatch writes marks with their holds, in order and in one step, up to the
	// first whose hold does not fit the caps: those of the run's Budget without its
	// Reserve, which the run shares with its gradings, and its DayMicroUSD, which counts what was
	// stored today and what all runs of the store hold, and its ScheduleMicroUSD, which
	// counts what all runs of its Schedule have ever taken. A hold of nothing always
	// fits. A mark of an attempt that is out already, or that has been overtaken,
	// changes nothing and counts as written. The cursor never moves back. Of a run
	// that is done nothing is dispatched: that is ErrDone.
	//
	// Nobody else's dispatch comes between the look at the caps and the marks, of
	// this process or of another one.
	Dispatch(ctx context.Context, run string, marks []Mark) (Marked, error)
	// TakeBack undoes marks whose attempts nobody has begun: the same attempt waits
	// again, due at once, and what it held is free. A mark whose attempt is not the
	// current one, or is not out, or is Reported, changes nothing. Holds and cursors
	// of the marks do not matter.
	TakeBack(ctx context.Context, run string, marks []Mark) error
	// Outstanding returns the trials that are not done, by ordinal: all that are
	// dispatched, and the first few thousand that wait.
	Outstanding(ctx context.Context, run string) ([]Trial, error)
	// Next makes attempt n+1 of a trial due at a time, if n is still its current
	// attempt and no result stands. It is how the scheduler answers a failed, lost
	// or returned attempt. One that is out and has no record is charged what it
	// holds.
	Next(ctx context.Context, run string, ordinal, n int, notBefore time.Time) error
	// Release takes every dispatched trial back to waiting with the next attempt
	// number, for a run whose former owner is known to be gone. Attempts without a
	// record are charged what they hold.
	Release(ctx context.Context, run string) (int, error)
	// Retry makes every trial with one of the verdicts due again, clears its
	// standing result, with what judges said of it, and takes a done run back to
	// running, with its grading. The verdicts are those that the run shows: what a
	// judge has decided is not unjudged. Attempts that are given up by that, also
	// those of gradings, are charged what they hold. The run that confirms this one is
	// retried with it. It returns how many trials are due.
	Retry(ctx context.Context, run string, vs []eval.Verdict) (int, error)
}

// Results is what the aggregator writes and what reports read.
type Results interface {
	// Commit stores records with their blobs, in one step. The first record of
	// the current attempt that is final stands: one that is done, or the failure
	// that uses up the run's Attempts, or the loss that uses up MaxLost. It says
	// what became of each, in order.
	//
	// What a record's attempt took is counted once for its UID, whether it stands or
	// not, and however much was held: as spent by the run, and on the day of the
	// store's clock, in UTC. It replaces the hold of the current attempt, or the
	// charge of an earlier one. A charge is corrected on the day that it was made
	// on, so that a record that comes late never takes a later day's money; only
	// what goes beyond it counts on the day that it came. What an imported run took
	// counts on no day. A loss is no word of what
	// the attempt took: what it holds is charged, unless a record of its worker is
	// stored.
	Commit(ctx context.Context, rs []eval.Record) ([]Stored, error)
	// EachResult calls fn with every standing result of a run, by ordinal, in
	// constant memory.
	EachResult(ctx context.Context, run string, fn func(Row) error) error
	// Results returns the standing results after an ordinal, at most limit, by
	// ordinal. The first page is after -1.
	Results(ctx context.Context, run string, after, limit int) ([]Row, error)
	// Result returns the standing result of one trial, or ErrNotFound.
	Result(ctx context.Context, run string, ordinal int) (Row, error)
	// Counts counts standing results by verdict.
	Counts(ctx context.Context, run string) (eval.VerdictCounts, error)
	// Attempts returns every attempt at a trial, by number.
	Attempts(ctx context.Context, run string, ordinal int) ([]Attempt, error)
	// Ledger returns what a run and its gradings have taken. That of a grading is
	// its run's.
	Ledger(ctx context.Context, run string) (eval.Ledger, error)
	// Day returns what all runs have taken of the current UTC day's money, by the
	// store's clock, as Dispatch counts it.
	Day(ctx context.Context) (eval.Day, error)
}
