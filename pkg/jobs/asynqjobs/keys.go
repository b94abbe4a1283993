package asynqjobs

import "github.com/evalfarm/evalfarm/pkg/jobs"

// keys names everything that a queue keeps in Redis.
type keys struct{ namespace string }

// queue is the name of the asynq queue of jobs that require something.
func (k keys) queue(requires string) string {
	if requires == "" {
		return "trials-" + k.namespace
	}
	return "trials-" + k.namespace + "." + requires
}

// requires is a ZSET of what jobs require, by when one was last enqueued: the
// queues that there are beside the plain one.
func (k keys) requires() string { return k.global("requires") }

func (k keys) global(name string) string { return "evalfarm:{" + k.namespace + "}:" + name }

// workers is a HASH of worker → "till|slots|capabilities".
func (k keys) workers() string { return k.global("workers") }

// doing is a STRING for each worker: what its attempts do, as JSON.
func (k keys) doing(worker string) string { return k.global("doing:" + worker) }

// results is the STREAM of records.
func (k keys) results() string { return k.global("results") }

// epoch is a STRING that changes when Redis has lost its memory.
func (k keys) epoch() string { return k.global("epoch") }

// claims is a HASH of ordinal → claim, of attempts in flight.
func (k keys) claims(run string) string { return k.global("claims:" + run) }

// current is a HASH of ordinal → number of the current attempt, where it is not
// the first.
func (k keys) current(run string) string { return k.global("current:" + run) }

// done is a BITMAP by ordinal of trials whose current attempt is done: a million
// trials are 125 KB.
func (k keys) done(run string) string { return k.global("done:" + run) }

// passages is a HASH of uid → how far a committed record has come, until its
// worker has let go of it. It outlives Forget, or what a worker keeps would be
// sent once more.
func (k keys) passages(run string) string { return k.global("passages:" + run) }

// control is a STRING, absent when the run may run; "cancel" for a while after it
// was forgotten.
func (k keys) control(run string) string { return k.global("control:" + run) }

// What follows is asynq's own. Reading it beats asking its inspector, which
// takes two round trips and a script for every task; the canary test notices
// when asynq changes it.

func (k keys) asynq(requires, name string) string {
	return "asynq:{" + k.queue(requires) + "}:" + name
}

// task is the HASH of the task of a job, with its state.
func (k keys) task(j jobs.Job) string { return k.asynq(j.Requires, "t:"+j.Key()) }

// asynqQueues is the SET of queue names that asynq's inspector believes in.
const asynqQueues = "asynq:queues"
