// Package asynqjobs carries out the contract of package jobs on asynq and
// Redis.
//
// asynq delivers, and delivers again: it is used for dispatch, lease and retry
// only. It has no fencing, runs a task twice when a worker was frozen, and
// cancels work when Redis is away for half a minute, so what an attempt may do
// is decided by scripts of our own beside it, and handlers run on a context that
// asynq cannot cancel. Nothing of asynq is used that keeps results: no unique
// locks, groups, retention, result writer, scheduler or archive.
//
// The scripts are idempotent, because the client sends a command again when a
// connection breaks. Keys share one hash tag, so they live on one node of a
// cluster. Everything about a run is forgotten a week after it was last touched,
// if Forget did not come first.
package asynqjobs

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// Options tune a Queue. Only Namespace is required.
type Options struct {
	// Namespace keeps farms apart that share a Redis: the id of the store. It must
	// not be empty nor contain braces.
	Namespace string
	// Lease is how long a claim, and a worker, live without a beat; 45 s by
	// default. Workers beat, and the scheduler audits, at least every third of it.
	Lease time.Duration
	// Capabilities of a worker, beside what any has. OnlyCapable keeps it from jobs
	// that require nothing.
	Capabilities []string
	OnlyCapable  bool
	// CheckInterval is how often an idle worker looks for jobs; 100 ms by default.
	CheckInterval time.Duration
	// ForwardInterval is how often deliveries that were put off are looked at;
	// 500 ms by default.
	ForwardInterval time.Duration
	// Backoff is the pause after a first failure of a handler; it doubles up to 60
	// times itself, with jitter. 5 s by default.
	Backoff time.Duration
	// Logger defaults to one that discards.
	Logger *slog.Logger
}

// A Queue is one farm's queue on a Redis. It is all three sides of the contract
// and safe for concurrent use.
type Queue struct {
	client  redis.UniversalClient
	o       Options
	keys    keys
	scripts scripts
	contact contact
	absent  absences
}

var (
	_ jobs.Queue     = (*Queue)(nil)
	_ jobs.Workplace = (*Queue)(nil)
	_ jobs.Stream    = (*Queue)(nil)
)

// New makes a queue on an open Redis, which must be of version 6.2 or newer and
// must not evict keys (see package broker). It panics if the namespace cannot be
// part of a key.
func New(client redis.UniversalClient, o Options) *Queue {
	if o.Namespace == "" || strings.ContainsAny(o.Namespace, "{}") {
		panic(fmt.Sprintf("asynqjobs: %q cannot be a namespace", o.Namespace))
	}
	if o.Lease <= 0 {
		o.Lease = 45 * time.Second
	}
	if o.CheckInterval <= 0 {
		o.CheckInterval = 100 * time.Millisecond
	}
	if o.ForwardInterval <= 0 {
		o.ForwardInterval = 500 * time.Millisecond
	}
	if o.Backoff <= 0 {
		o.Backoff = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{
		client:  client,
		o:       o,
		keys:    keys{namespace: o.Namespace},
		scripts: loadScripts(),
		contact: contact{lease: o.Lease},
		absent:  absences{lease: o.Lease},
	}
}

// Lease is how long a claim lives without a beat.
func (q *Queue) Lease() time.Duration { return q.o.Lease }
