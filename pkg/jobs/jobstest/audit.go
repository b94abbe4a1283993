package jobstest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

func after(d time.Duration) <-chan time.Time { return time.After(d) }

func audits(t *testing.T, b *bench) {
	js := attempts(5)
	b.must(b.farm.Enqueue(b.ctx, js[:3]))
	b.claim(b.farm, claim(js[1], "u1"), jobs.Granted)
	b.claim(b.farm, claim(js[2], "u2"), jobs.Granted)
	b.must(b.farm.Commit(b.ctx, claim(js[2], "u2"), record(claim(js[2], "u2"))))
	b.claim(b.farm, claim(js[3], "u3"), jobs.Granted)
	b.audit(js[:4], jobs.Queued, jobs.Claimed, jobs.Committed, jobs.Claimed)
	b.audit([]jobs.Job{js[2], js[0]}, jobs.Committed, jobs.Queued)
	b.audit(nil)
	// One is beaten for, the other expires. The clock starts at the first contact.
	beat := func() {
		if _, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{claim(js[1], "u1")}); err != nil {
			t.Error(err)
		}
	}
	if seen := b.becomes(js[3], jobs.Expired, beat); !slices.Equal(seen, []jobs.Standing{jobs.Claimed}) {
		t.Errorf("before it expired: got %v, want claimed only", seen)
	}
	b.audit(js[:4], jobs.Queued, jobs.Claimed, jobs.Committed, jobs.Expired)
	// The scheduler's answer.
	next := job(3, 2)
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{next}))
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{next}))
	b.audit([]jobs.Job{next}, jobs.Queued)
}

// auditMissing: an attempt that nobody knows is missing after a whole lease, not
// before.
func auditMissing(t *testing.T, b *bench) {
	j := job(0, 1)
	start := time.Now()
	if seen := b.becomes(j, jobs.Missing, nil); !slices.Equal(seen, []jobs.Standing{jobs.Queued}) {
		t.Errorf("before it was missing: got %v, want queued only", seen)
	}
	if d := time.Since(start); d < b.farm.Lease() {
		t.Errorf("missing after %s, want not before a lease of %s", d, b.farm.Lease())
	}
	// A process that has just come up knows less.
	fresh := b.again()
	got, err := fresh.Audit(b.ctx, run, []jobs.Job{j})
	b.must(err)
	if got[0] != jobs.Queued {
		t.Errorf("first audit of another process: got %s, want queued", got[0])
	}
	// It turns up.
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{j}))
	b.audit([]jobs.Job{j}, jobs.Queued)
	// Done but never stored is missing too, in the end.
	c := claim(job(1, 1), "u")
	b.claim(b.farm, c, jobs.Granted)
	b.must(b.farm.Finish(b.ctx, c))
	if seen := b.becomes(c.Job, jobs.Missing, nil); !slices.Equal(seen, []jobs.Standing{jobs.Committed}) {
		t.Errorf("before it was missing: got %v, want committed only", seen)
	}
}

// auditUnclaimed: a delivery that a worker holds without a claim is missing after
// a while.
func auditUnclaimed(t *testing.T, b *bench) {
	j := job(0, 1)
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{j}))
	started, release := make(chan struct{}), make(chan struct{})
	b.serve(b.again(), 1, func(context.Context, jobs.Job) error {
		close(started)
		b.hold(release)
		return nil
	})
	defer close(release)
	<-started
	if seen := b.becomes(j, jobs.Missing, nil); !slices.Equal(seen, []jobs.Standing{jobs.Queued}) {
		t.Errorf("before it was missing: got %v, want queued only", seen)
	}
	b.claim(b.farm, claim(j, "u"), jobs.Granted)
	b.audit([]jobs.Job{j}, jobs.Claimed)
}

func forgets(t *testing.T, b *bench) {
	js := attempts(3)
	next := job(2, 2)
	b.must(b.farm.Enqueue(b.ctx, js))
	b.claim(b.farm, claim(js[0], "u1"), jobs.Granted)
	b.must(b.farm.Finish(b.ctx, claim(js[0], "u1")))
	b.claim(b.farm, claim(js[1], "u2"), jobs.Granted)
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{next}))
	b.must(b.farm.Control(b.ctx, run, eval.ControlCancel))
	kept := js[0]
	kept.Run = run + "-other"
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{kept}))
	b.claim(b.farm, claim(kept, "u3"), jobs.Granted)

	b.must(b.farm.Forget(b.ctx, run))
	b.must(b.farm.Forget(b.ctx, run))
	b.claim(b.farm, claim(kept, "u4"), jobs.Refused)
	var l log
	stop := b.serve(b.again(), 1, l.handler)
	b.eventually("the other run's job is delivered", func() bool { return l.all()[kept] > 0 })
	b.must(stop())
	if n := l.len(); n != 1 {
		t.Errorf("deliveries: got %v, want only that of the other run", l.all())
	}
	// What comes late is dropped, and what is wanted again is as new.
	b.must(b.farm.Enqueue(b.ctx, js[:1]))
	b.claim(b.farm, claim(js[0], "u5"), jobs.Dropped)
	b.must(b.farm.Control(b.ctx, run, eval.ControlRun))
	for _, j := range js {
		b.claim(b.farm, claim(j, "u5"), jobs.Granted)
	}
}
