package jobstest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// An inbox keeps what arrives.
type inbox struct {
	mu      sync.Mutex // guards records
	records []eval.Record
}

func (in *inbox) put(_ context.Context, rs []eval.Record) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.records = append(in.records, rs...)
	return nil
}

func (in *inbox) all() []eval.Record {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Clone(in.records)
}

func (in *inbox) uids() []string {
	var out []string
	for _, r := range in.all() {
		out = append(out, r.UID)
	}
	slices.Sort(out)
	return out
}

func commits(t *testing.T, b *bench) {
	c := claim(job(0, 1), "u1")
	b.claim(b.farm, c, jobs.Granted)
	b.must(b.farm.Commit(b.ctx, c, record(c)))
	b.must(b.farm.Commit(b.ctx, c, record(c))) // sent again
	b.claim(b.farm, claim(c.Job, "u2"), jobs.Refused)
	b.claim(b.farm, c, jobs.Refused)
	b.audit([]jobs.Job{c.Job}, jobs.Committed)
	words, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{c})
	b.must(err)
	if !words[0].Superseded {
		t.Error("beat for a committed attempt: got not superseded, want superseded")
	}
	// It stays committed for as long as the aggregator does not come.
	b.outlast(b.farm)
	b.audit([]jobs.Job{c.Job}, jobs.Committed)

	var in inbox
	b.receive(b.again(), in.put)
	last := claim(job(1, 1), "u3")
	b.must(b.farm.Commit(b.ctx, last, record(last))) // without a claim, as after a wipe
	b.eventually("both arrive", func() bool { return len(in.all()) >= 2 })
	if d := cmp.Diff([]eval.Record{record(c), record(last)}, in.all()); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	b.claim(b.farm, claim(c.Job, "u4"), jobs.Refused)
	b.claim(b.farm, claim(last.Job, "u4"), jobs.Refused)
	// Offered again after it was stored: it may come again, and changes nothing.
	b.must(b.farm.Commit(b.ctx, c, record(c)))
	b.claim(b.farm, claim(c.Job, "u5"), jobs.Refused)
	b.claim(b.farm, claim(job(0, 2), "u6"), jobs.Granted)
}

func commitSuperseded(t *testing.T, b *bench) {
	old, now := claim(job(0, 1), "u1"), claim(job(0, 2), "u2")
	b.claim(b.farm, old, jobs.Granted)
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{now.Job}))
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{now.Job}))
	b.must(b.farm.Commit(b.ctx, old, record(old))) // what it cost counts
	b.audit([]jobs.Job{now.Job}, jobs.Queued)
	b.claim(b.farm, now, jobs.Granted)
	b.must(b.farm.Commit(b.ctx, old, record(old)))
	b.audit([]jobs.Job{now.Job}, jobs.Claimed)
	var in inbox
	b.receive(b.again(), in.put)
	b.must(b.farm.Commit(b.ctx, now, record(now)))
	b.eventually("both arrive", func() bool {
		return slices.Contains(in.uids(), "u1") && slices.Contains(in.uids(), "u2")
	})
	// That the old record is stored says nothing about the new one.
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{job(0, 3)}))
	b.claim(b.farm, claim(job(0, 3), "u3"), jobs.Granted)
	if n := len(in.all()); n < 2 || n > 3 {
		t.Errorf("records: got %d, want 2, or 3 with the repeated one", n)
	}
}

// passages: a worker hears how far the records that it keeps have come.
func passages(t *testing.T, b *bench) {
	kept, old, other := claim(job(0, 1), "u1"), claim(job(1, 1), "u2"), claim(job(2, 1), "u3")
	all := []jobs.Claim{kept, old, other}
	want := func(ps ...jobs.Passage) {
		t.Helper()
		got, err := b.farm.Passages(b.ctx, all)
		b.must(err)
		if d := cmp.Diff(ps, got); d != "" {
			t.Errorf("passages (-want +got):\n%s", d)
		}
	}
	want(jobs.Unheard, jobs.Unheard, jobs.Unheard)
	b.claim(b.farm, kept, jobs.Granted)
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{job(1, 2)}))
	for range 2 { // offered again while it is on the way, it goes there once
		b.must(b.farm.Commit(b.ctx, kept, record(kept)))
		b.must(b.farm.Commit(b.ctx, old, record(old)))
	}
	want(jobs.Underway, jobs.Underway, jobs.Unheard)
	var in inbox
	b.receive(b.again(), in.put)
	b.eventually("both are stored", func() bool {
		got, err := b.farm.Passages(b.ctx, all[:2])
		return err == nil && got[0] == jobs.Stored && got[1] == jobs.Stored
	})
	// Forgetting the run does not make its worker send them again, nor does a
	// commit that comes late.
	b.must(b.farm.Forget(b.ctx, run))
	b.must(b.farm.Commit(b.ctx, kept, record(kept)))
	want(jobs.Stored, jobs.Stored, jobs.Unheard)
	b.claim(b.farm, claim(kept.Job, "u4"), jobs.Refused)
	b.must(b.farm.Discard(b.ctx, all[:2]))
	want(jobs.Unheard, jobs.Unheard, jobs.Unheard)
	b.must(b.farm.Commit(b.ctx, other, record(other)))
	b.eventually("the last one arrives", func() bool { return slices.Contains(in.uids(), "u3") })
	if d := cmp.Diff([]string{"u1", "u2", "u3"}, in.uids()); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if ps, err := b.farm.Passages(b.ctx, nil); err != nil || len(ps) != 0 {
		t.Errorf("passages of nothing: got %v, %v, want none", ps, err)
	}
}

func receiveRepeats(t *testing.T, b *bench) {
	const n = 450 // more than a batch
	var want []string
	for i := range n {
		c := claim(job(i, 1), "u"+strconv.Itoa(i))
		b.must(b.farm.Commit(b.ctx, c, record(c)))
		want = append(want, c.UID)
	}
	slices.Sort(want)
	var in inbox
	var mu sync.Mutex
	refused := map[string]bool{}
	b.receive(b.again(), func(ctx context.Context, rs []eval.Record) error {
		mu.Lock()
		first := !refused[rs[0].UID]
		refused[rs[0].UID] = true
		mu.Unlock()
		if first {
			return errors.New("disk full")
		}
		return in.put(ctx, rs)
	})
	b.eventually("all arrive", func() bool { return len(in.all()) >= n })
	if d := cmp.Diff(want, in.uids()); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
}

// receiveTakesOver: a receiver that died in the middle of a batch leaves it to
// the next one, and one that lives on takes what another leaves behind.
func receiveTakesOver(t *testing.T, b *bench) {
	commit := func(ordinal int, uid string) {
		c := claim(job(ordinal, 1), uid)
		b.must(b.farm.Commit(b.ctx, c, record(c)))
	}
	// dieAt receives until a record comes, and dies with it in hand.
	dieAt := func(uid string) {
		ctx, cancel := context.WithCancel(b.ctx)
		ended := make(chan error, 1)
		go func() {
			ended <- b.again().Receive(ctx, func(ctx context.Context, rs []eval.Record) error {
				if slices.ContainsFunc(rs, func(r eval.Record) bool { return r.UID == uid }) {
					cancel()
				}
				return ctx.Err()
			})
		}()
		if err := <-ended; err != nil {
			t.Errorf("Receive: got %v, want nil", err)
		}
	}
	commit(0, "u0")
	dieAt("u0")
	var in inbox
	entered, release := make(chan struct{}, 1), make(chan struct{})
	b.receive(b.again(), func(ctx context.Context, rs []eval.Record) error {
		if slices.ContainsFunc(rs, func(r eval.Record) bool { return r.UID == "u1" }) {
			entered <- struct{}{}
			b.hold(release)
		}
		return in.put(ctx, rs)
	})
	b.eventually("the batch of the first arrives", func() bool { return slices.Contains(in.uids(), "u0") })
	// While this one is busy, another takes the next record and dies.
	commit(1, "u1")
	<-entered
	commit(2, "u2")
	dieAt("u2")
	close(release)
	b.eventually("the batch of the second arrives", func() bool { return slices.Contains(in.uids(), "u2") })
}
