// Package jobstest is the conformance suite of package jobs: whatever claims to
// be a queue passes it, on every Redis that it is meant to run on.
package jobstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// A Farm is all sides of one queue.
type Farm interface {
	jobs.Queue
	jobs.Workplace
	jobs.Stream
}

// A Backend is a queue under test.
type Backend struct {
	// Open returns a queue of a namespace, each time as another process would have
	// it. Its lease is short (2 s is a good one), and its pauses are shorter.
	Open func(namespace string) Farm
	// Able returns a queue as a worker with capabilities has it, that takes what
	// requires nothing too, unless only is set.
	Able func(namespace string, only bool, capabilities ...string) Farm
	// Wipe makes the server forget everything.
	Wipe func()
	// Kill kills the server without warning and Restart brings it back with what it
	// knew. Both nil if the server cannot die alone.
	Kill, Restart func()
	// Freeze stops the server without closing connections, Thaw lets it go on. Both
	// nil if it cannot be frozen.
	Freeze, Thaw func()
}

// Exercise runs the suite. open makes a backend of its own for a test that
// disturbs its server, and is called once for all that do not.
func Exercise(t *testing.T, open func(t *testing.T) Backend) {
	t.Helper()
	gentle := open(t)
	// They wait for leases to end most of the time, so they do it together; that is
	// more than t.Parallel allows on a small machine.
	var together sync.WaitGroup
	t.Run("gentle", func(t *testing.T) {
		for _, c := range []struct {
			name string
			test func(*testing.T, *bench)
		}{
			{"EnqueueDelivers", enqueueDelivers},
			{"EnqueueOrders", enqueueOrders},
			{"EnqueueTwice", enqueueTwice},
			{"Delete", deletes},
			{"Claim", claims},
			{"ClaimOnceEver", claimOnceEver},
			{"ClaimFollowsControl", claimFollowsControl},
			{"Return", returns},
			{"Beat", beats},
			{"Slots", slots},
			{"Commit", commits},
			{"CommitSuperseded", commitSuperseded},
			{"Passages", passages},
			{"Capabilities", capabilities},
			{"Finish", finishes},
			{"Audit", audits},
			{"AuditMissing", auditMissing},
			{"AuditUnclaimed", auditUnclaimed},
			{"Supersede", supersedes},
			{"Forget", forgets},
			{"Later", laterIsNoFailure},
			{"FailureComesBack", failureComesBack},
			{"SlotsBoundHandlers", slotsBoundHandlers},
			{"Drain", drains},
			{"ReceiveRepeats", receiveRepeats},
			{"ReceiveTakesOver", receiveTakesOver},
			{"Namespaces", namespaces},
			{"Model", model},
		} {
			together.Go(func() { t.Run(c.name, func(t *testing.T) { c.test(t, newBench(t, gentle)) }) })
		}
		together.Wait()
	})
	t.Run("rough", func(t *testing.T) {
		for _, c := range []struct {
			name string
			can  func(Backend) bool
			test func(*testing.T, *bench)
		}{
			{"Wipe", func(Backend) bool { return true }, wiped},
			{"Kill", func(b Backend) bool { return b.Kill != nil }, killed},
			{"Freeze", func(b Backend) bool { return b.Freeze != nil }, frozen},
			{"Chaos", func(Backend) bool { return true }, chaos},
		} {
			together.Go(func() {
				t.Run(c.name, func(t *testing.T) {
					if b := open(t); c.can(b) {
						c.test(t, newBench(t, b))
					}
				})
			})
		}
		together.Wait()
	})
}

// A bench is one test's place: a namespace of its own.
type bench struct {
	Backend
	t    *testing.T
	ctx  context.Context
	name string
	farm Farm
}

func newBench(t *testing.T, b Backend) *bench {
	t.Helper()
	name := strings.NewReplacer("/", "-", "#", "-").Replace(t.Name())
	return &bench{Backend: b, t: t, ctx: t.Context(), name: name, farm: b.Open(name)}
}

// again is the same queue as another process has it.
func (b *bench) again() Farm { return b.Open(b.name) }

const run = "r-20260101-abcdef"

func job(ordinal, attempt int) jobs.Job {
	return jobs.Job{Run: run, Ordinal: ordinal, Attempt: attempt, Header: strings.Repeat("ab", 32)}
}

func attempts(n int) []jobs.Job {
	js := make([]jobs.Job, n)
	for i := range js {
		js[i] = job(i, 1)
	}
	return js
}

func claim(j jobs.Job, uid string) jobs.Claim {
	return jobs.Claim{Job: j, UID: uid, Worker: "w|1"}
}

func record(c jobs.Claim) eval.Record {
	return eval.Record{
		UID: c.UID, Run: c.Job.Run, Ordinal: c.Job.Ordinal, N: c.Job.Attempt, Worker: c.Worker,
		Outcome: eval.AttemptDone, Result: eval.Result{Verdict: eval.Pass, Message: "ü\x00\"|"},
		Blobs: []eval.Blob{{SHA256: "00", Zstd: []byte{0, 255, 10}}},
	}
}

// must fails the test at an error.
func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// check notes an error and goes on.
func (b *bench) check(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Error(err)
	}
}

// claim asks for an attempt and wants an answer.
func (b *bench) claim(f Farm, c jobs.Claim, want jobs.Grant) {
	b.t.Helper()
	got, err := f.Claim(b.ctx, c)
	if err != nil {
		b.t.Fatal(err)
	}
	if got != want {
		b.t.Errorf("claim of %s as %s: got %s, want %s", c.Job.Key(), c.UID, got, want)
	}
}

// audit wants standings.
func (b *bench) audit(js []jobs.Job, want ...jobs.Standing) {
	b.t.Helper()
	got, err := b.farm.Audit(b.ctx, run, js)
	if err != nil {
		b.t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("audit (-want +got):\n%s", d)
	}
}

// becomes audits until a job has a standing, and returns every standing that it
// had before. Meanwhile it calls beat, if there is one.
func (b *bench) becomes(j jobs.Job, want jobs.Standing, beat func()) []jobs.Standing {
	b.t.Helper()
	var seen []jobs.Standing
	b.eventually(fmt.Sprintf("%s is %s", j.Key(), want), func() bool {
		if beat != nil {
			beat()
		}
		got, err := b.farm.Audit(b.ctx, run, []jobs.Job{j})
		if err != nil {
			return false
		}
		if got[0] == want {
			return true
		}
		seen = append(seen, got[0])
		return false
	})
	return slices.Compact(seen)
}

// eventually waits for something, longer than anything here should take.
func (b *bench) eventually(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(60 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			b.t.Fatalf("waited in vain: %s", what)
		case <-b.ctx.Done():
			b.t.Fatalf("test ended: %s", what)
		case <-tick.C:
		}
	}
}

// outlast lets time pass: one lease and a little, on the server's clock as seen
// from an expiring claim.
func (b *bench) outlast(f Farm) {
	b.t.Helper()
	select {
	case <-time.After(f.Lease() + f.Lease()/10):
	case <-b.ctx.Done():
	}
}

// hold waits for a signal. A test that fails meanwhile lets go too, or its worker
// would never end.
func (b *bench) hold(signal <-chan struct{}) {
	select {
	case <-signal:
	case <-b.ctx.Done():
	}
}

// serve runs a worker until stop is called, which returns what Serve did.
func (b *bench) serve(f Farm, slots int, h jobs.Handler) (stop func() error) {
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Serve(ctx, "w", slots, h) }()
	var once atomic.Bool
	stop = func() error {
		cancel()
		if once.Swap(true) {
			return nil
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(60 * time.Second):
			return errors.New("the workplace does not stop serving")
		}
	}
	b.t.Cleanup(func() { b.check(stop()) })
	return stop
}

// receive runs an aggregator until the test ends.
func (b *bench) receive(f Farm, put func(context.Context, []eval.Record) error) {
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() { ended <- f.Receive(ctx, put) }()
	b.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				b.t.Errorf("Receive: got %v, want nil when its context ends", err)
			}
		case <-time.After(60 * time.Second):
			b.t.Error("Receive did not return")
		}
	})
}

// insist tries something until it works or the test ends.
func (b *bench) insist(try func() error) {
	for b.ctx.Err() == nil {
		if try() == nil {
			return
		}
	}
}
