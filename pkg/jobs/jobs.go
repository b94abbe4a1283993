// Package jobs is the contract between those who plan trials, those who carry
// them out and those who keep the results.
//
// The store is the truth, the queue is not: whatever is in the queue may be
// lost at any moment and is put back from the store. A job is delivered at
// least once. Claims make sure that an attempt is carried out at most once, and
// the store decides which result of a trial counts.
//
// The life of an attempt: the scheduler numbers and enqueues it; a worker
// claims it, beats while it works, and commits; or it returns it untouched. A
// claim whose lease runs out is expired: the scheduler then enqueues the next
// attempt.
package jobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Format of jobs and of what they refer to: snapshots, cases, trajectories. It is raised
// when a worker of the version before could not carry out what a scheduler dispatches.
// Workers take jobs of their own format and of older ones.
const Format = 1

// A Job refers to one attempt at one trial. It carries no content: the worker
// finds everything under Header.
type Job struct {
	Run     string `json:"run"`
	Ordinal int    `json:"ordinal"`
	// Attempt is the number of the attempt, from 1.
	Attempt int `json:"attempt"`
	// Header is the sha256 of the run's snapshot blob.
	Header string `json:"header"`
	// Subject is the sha256 of the trajectory to score, when the run is a grading.
	Subject string `json:"subject,omitempty"`
	// Requires is what a worker must have to be handed the job; see
	// [eval.JoinCapabilities].
	Requires string `json:"requires,omitempty"`
	// Hold is what the attempt may take at most; zero is no bound.
	Hold eval.Amount `json:"hold,omitzero"`
	// Format of the job; zero is that of a time before it was told.
	Format int `json:"format,omitempty"`
	// Dispatched is when the scheduler let go of the attempt, in Unix
	// milliseconds by its clock. It only tells how long the attempt queued.
	Dispatched int64 `json:"dispatched,omitempty"`
	// Traceparent is the W3C trace context of the dispatch. It travels in a header
	// beside the job, and decides nothing.
	Traceparent string `json:"-"`
}

// Key names the attempt. Enqueueing a key twice is the same as once.
func (j Job) Key() string { return fmt.Sprintf("%s:%d:a%d", j.Run, j.Ordinal, j.Attempt) }

// ParseKey reads the run, ordinal and attempt of a key back.
func ParseKey(key string) (Job, bool) {
	f := strings.Split(key, ":")
	if len(f) != 3 || !strings.HasPrefix(f[2], "a") {
		return Job{}, false
	}
	ordinal, err1 := strconv.Atoi(f[1])
	attempt, err2 := strconv.Atoi(f[2][1:])
	return Job{Run: f[0], Ordinal: ordinal, Attempt: attempt}, err1 == nil && err2 == nil
}

// A Claim is a worker's hold on an attempt.
type Claim struct {
	Job Job
	// UID names the attempt for ever; the worker mints it, so it does not depend
	// on what Redis remembers.
	UID    string
	Worker string
}

// A Grant answers a claim.
type Grant string

const (
	// Granted: the attempt is the worker's.
	Granted Grant = "granted"
	// Refused: the attempt is done, claimed before, or no longer the current
	// one; the delivery is to be dropped.
	Refused Grant = "refused"
	// Held: the run is paused; the delivery is to come back later.
	Held Grant = "held"
	// Dropped: the run is cancelled; the delivery is to be dropped.
	Dropped Grant = "dropped"
)

// A Word is what a beat brings back for one claim.
type Word struct {
	UID string
	// Control is what a person wants of the claim's run.
	Control eval.Control
	// Superseded is true when another attempt has become the current one: the
	// work may end, its result can no longer count.
	Superseded bool
}

// A Passage is how far a committed record has come.
type Passage string

const (
	// Underway: the record is on the way to the aggregator.
	Underway Passage = "underway"
	// Stored: the aggregator has stored it.
	Stored Passage = "stored"
	// Unheard: the queue knows nothing of it. It was never committed, or the queue
	// has forgotten; committing it again is right.
	Unheard Passage = "unheard"
)

// A Standing is what the queue knows of an attempt that the store takes for
// outstanding.
type Standing string

const (
	// Queued: waiting in the queue, or just handed to a worker.
	Queued Standing = "queued"
	// Claimed: a worker holds it and beats.
	Claimed Standing = "claimed"
	// Committed: its record is on the way to the aggregator.
	Committed Standing = "committed"
	// Expired: its claim's lease ran out.
	Expired Standing = "expired"
	// Missing: the queue knows nothing of it, and did not for a whole lease.
	Missing Standing = "missing"
)

// A Queue is the scheduler's side.
type Queue interface {
	// Enqueue puts attempts into the queue, in order. A key that is there already is
	// no error.
	Enqueue(ctx context.Context, js []Job) error
	// Delete takes attempts out that no worker holds. It is best effort.
	Delete(ctx context.Context, js []Job) error
	// Audit says how attempts of one run stand, in the order of js. After an
	// outage or a wipe of the queue it reports neither Expired nor Missing until
	// one full lease has passed since it first answered again, so that beats can
	// restore what was lost. It is due at least every third of a lease.
	Audit(ctx context.Context, run string, js []Job) ([]Standing, error)
	// Supersede makes job.Attempt the current attempt of its trial: older ones
	// can neither be claimed nor beaten for.
	Supersede(ctx context.Context, js []Job) error
	// Control tells workers what a person wants of a run.
	Control(ctx context.Context, run string, c eval.Control) error
	// Slots is the number of trials that the living workers can carry out at once.
	Slots(ctx context.Context) (int, error)
	// Capabilities lists what each of the living workers has.
	Capabilities(ctx context.Context) ([][]string, error)
	// Forget drops all that the queue remembers of a run that is over. Deliveries of
	// it that come late are dropped too, until Control says what is wanted of it.
	Forget(ctx context.Context, run string) error
	// Activities lists what the living workers' attempts are doing, as far as they
	// have told.
	Activities(ctx context.Context) ([]eval.Activity, error)
}

// A Handler carries out one delivery. nil means that the delivery is dealt with,
// whatever the verdict. A [*LaterError] brings it back later; any other error is
// a failure of the queue's surroundings and brings it back with backoff.
type Handler func(ctx context.Context, j Job) error

// A LaterError asks for the same delivery again after a while. It is no failure.
type LaterError struct{ After time.Duration }

func (e *LaterError) Error() string { return fmt.Sprintf("deliver again in %s", e.After) }

// A Workplace is the worker's side.
type Workplace interface {
	// Serve delivers jobs to h that the worker has the capabilities for, slots at a
	// time, until ctx ends; it then takes
	// no more and returns once every handler has returned. Handlers get a
	// context that does not end with ctx, nor with an outage of the queue.
	Serve(ctx context.Context, worker string, slots int, h Handler) error
	// Claim asks for an attempt.
	Claim(ctx context.Context, c Claim) (Grant, error)
	// Return gives a claimed attempt back as if it had never been claimed.
	Return(ctx context.Context, c Claim) error
	// Beat renews the leases of claims and brings word of each, in order. It
	// restores the claim of a current attempt that the queue has forgotten. With
	// no claims it still shows that the worker lives; with no slots, that it takes
	// no more. It is due at least every third of a lease.
	Beat(ctx context.Context, worker string, slots int, cs []Claim) ([]Word, error)
	// Tell shows what the worker's attempts are doing, for people. It is forgotten
	// unless it is told again within a lease.
	Tell(ctx context.Context, worker string, as []eval.Activity) error
	// Commit puts the record on the result stream and ends the claim, in one
	// step. Sending it again is harmless.
	Commit(ctx context.Context, c Claim, r eval.Record) error
	// Passages says how far the records of claims have come, in their order. A
	// worker keeps what is not stored, and commits again what is unheard.
	Passages(ctx context.Context, cs []Claim) ([]Passage, error)
	// Discard forgets the passages of stored records that no worker keeps any more.
	Discard(ctx context.Context, cs []Claim) error
	// Finish ends the claim of an attempt whose record is stored already.
	Finish(ctx context.Context, c Claim) error
	// Lease is how long a claim lives without a beat.
	Lease() time.Duration
}

// A Stream is the aggregator's side.
type Stream interface {
	// Receive hands batches of records to put until ctx ends, and forgets a
	// batch only after put returned nil. Batches that another receiver left
	// behind are handed over again.
	Receive(ctx context.Context, put func(context.Context, []eval.Record) error) error
}
