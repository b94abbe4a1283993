package jobstest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

func claims(t *testing.T, b *bench) {
	j := job(7, 1)
	b.claim(b.farm, claim(j, "u1"), jobs.Granted)
	b.claim(b.farm, claim(j, "u1"), jobs.Granted) // sent again
	b.claim(b.again(), claim(j, "u2"), jobs.Refused)
	b.claim(b.farm, claim(job(8, 1), "u3"), jobs.Granted)
	// A later attempt is current from its first claim.
	b.claim(b.farm, claim(job(7, 3), "u4"), jobs.Granted)
	b.claim(b.farm, claim(job(7, 2), "u5"), jobs.Refused)
	b.claim(b.farm, claim(j, "u1"), jobs.Refused)
	b.claim(b.farm, claim(job(7, 3), "u4"), jobs.Granted)
	// Done.
	b.must(b.farm.Finish(b.ctx, claim(job(7, 3), "u4")))
	b.claim(b.farm, claim(job(7, 3), "u6"), jobs.Refused)
	b.claim(b.farm, claim(job(7, 4), "u7"), jobs.Granted)
	// One that cannot be kept is no claim.
	for _, uid := range []string{"", "a|b"} {
		if g, err := b.farm.Claim(b.ctx, claim(job(9, 1), uid)); err == nil {
			t.Errorf("claim with uid %q: got %s, want an error", uid, g)
		}
	}
}

func claimOnceEver(_ *testing.T, b *bench) {
	j := job(0, 1)
	b.claim(b.farm, claim(j, "u1"), jobs.Granted)
	b.outlast(b.farm)
	b.claim(b.farm, claim(j, "u2"), jobs.Refused)
	b.claim(b.farm, claim(j, "u1"), jobs.Granted)
	b.audit([]jobs.Job{j}, jobs.Claimed)
}

func claimFollowsControl(_ *testing.T, b *bench) {
	b.must(b.farm.Control(b.ctx, run, eval.ControlRun))
	b.claim(b.again(), claim(job(0, 1), "u0"), jobs.Granted)
	b.must(b.farm.Control(b.ctx, run, eval.ControlPause))
	b.claim(b.again(), claim(job(1, 1), "u1"), jobs.Held)
	b.claim(b.again(), claim(job(0, 1), "u0"), jobs.Granted) // it has it
	b.must(b.farm.Control(b.ctx, run, eval.ControlCancel))
	b.claim(b.again(), claim(job(1, 1), "u1"), jobs.Dropped)
	other := job(1, 1)
	other.Run = "r-20260101-others"
	b.claim(b.again(), claim(other, "u2"), jobs.Granted)
	b.must(b.farm.Control(b.ctx, run, eval.ControlRun))
	b.claim(b.again(), claim(job(1, 1), "u1"), jobs.Granted)
}

func returns(t *testing.T, b *bench) {
	j := job(0, 1)
	c := claim(j, "u1")
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{j}))
	b.claim(b.farm, c, jobs.Granted)
	b.must(b.farm.Return(b.ctx, claim(j, "u2"))) // not its to give
	b.claim(b.farm, claim(j, "u2"), jobs.Refused)
	b.must(b.farm.Return(b.ctx, c))
	b.must(b.farm.Return(b.ctx, c))
	b.audit([]jobs.Job{j}, jobs.Queued)
	// A beat that was under way does not take it back.
	words, err := b.farm.Beat(b.ctx, c.Worker, 1, []jobs.Claim{c})
	b.must(err)
	if !words[0].Superseded {
		t.Error("beat for a returned attempt: got not superseded, want superseded")
	}
	b.claim(b.farm, claim(j, "u3"), jobs.Granted)
	b.must(b.farm.Return(b.ctx, c)) // sent again, late
	b.claim(b.farm, claim(j, "u4"), jobs.Refused)
	b.audit([]jobs.Job{j}, jobs.Claimed)
	// Of a later attempt too.
	c = claim(job(0, 2), "u5")
	b.claim(b.farm, c, jobs.Granted)
	b.must(b.farm.Return(b.ctx, c))
	b.claim(b.farm, claim(j, "u6"), jobs.Refused)
	b.claim(b.farm, claim(job(0, 2), "u6"), jobs.Granted)
}

func beats(t *testing.T, b *bench) {
	cs := []jobs.Claim{claim(job(0, 1), "a"), claim(job(1, 1), "b"), claim(job(2, 1), "c")}
	other := claim(job(0, 1), "d")
	other.Job.Run = "r-20260101-others"
	all := []jobs.Claim{cs[0], other, cs[1], cs[2]}
	for _, c := range all {
		b.claim(b.farm, c, jobs.Granted)
	}
	// Kept alive beyond the lease.
	for range 4 {
		select {
		case <-b.ctx.Done():
		case <-after(b.farm.Lease() * 3 / 10):
		}
		if _, err := b.farm.Beat(b.ctx, "w|1", 4, all); err != nil {
			t.Fatal(err)
		}
	}
	b.audit([]jobs.Job{cs[0].Job}, jobs.Claimed)

	b.must(b.farm.Control(b.ctx, run, eval.ControlPause))
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{job(1, 2)}))
	b.must(b.farm.Finish(b.ctx, cs[2]))
	got, err := b.again().Beat(b.ctx, "w|1", 4, all)
	b.must(err)
	want := []jobs.Word{
		{UID: "a", Control: eval.ControlPause},
		{UID: "d", Control: eval.ControlRun},
		{UID: "b", Control: eval.ControlPause, Superseded: true},
		{UID: "c", Control: eval.ControlPause, Superseded: true}, // it is done
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
	// A claim that was never made is one that was forgotten; one that another has
	// is not.
	forgotten := claim(job(5, 2), "e")
	got, err = b.farm.Beat(b.ctx, "w|1", 4, []jobs.Claim{forgotten, claim(job(0, 1), "f")})
	b.must(err)
	want = []jobs.Word{
		{UID: "e", Control: eval.ControlPause},
		{UID: "f", Control: eval.ControlPause, Superseded: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("words (-want +got):\n%s", d)
	}
	b.must(b.farm.Control(b.ctx, run, eval.ControlRun))
	b.claim(b.farm, claim(job(5, 2), "g"), jobs.Refused)
	b.claim(b.farm, claim(job(5, 1), "h"), jobs.Refused)
	b.audit([]jobs.Job{forgotten.Job}, jobs.Claimed)
}

func slots(t *testing.T, b *bench) {
	count := func(want int) {
		t.Helper()
		got, err := b.farm.Slots(b.ctx)
		b.must(err)
		if got != want {
			t.Errorf("slots: got %d, want %d", got, want)
		}
	}
	count(0)
	for _, w := range []struct {
		worker string
		slots  int
		want   int
	}{{"a", 4, 4}, {"b", 3, 7}, {"a", 2, 5}, {"a", 0, 3}, {"c|d", 1, 4}} {
		words, err := b.again().Beat(b.ctx, w.worker, w.slots, nil)
		b.must(err)
		if len(words) != 0 {
			t.Errorf("words without claims: got %v, want none", words)
		}
		count(w.want)
	}
	b.eventually("dead workers are not counted", func() bool {
		n, err := b.farm.Slots(b.ctx)
		return err == nil && n == 0
	})
}

func finishes(_ *testing.T, b *bench) {
	c := claim(job(3, 1), "u1")
	b.must(b.farm.Enqueue(b.ctx, []jobs.Job{c.Job}))
	b.claim(b.farm, c, jobs.Granted)
	b.must(b.farm.Finish(b.ctx, c))
	b.must(b.farm.Finish(b.ctx, c))
	b.claim(b.farm, claim(c.Job, "u2"), jobs.Refused)
	b.audit([]jobs.Job{c.Job}, jobs.Committed)
	// That an attempt is done does not stop the next, even one that was not
	// announced.
	b.claim(b.farm, claim(job(3, 2), "u3"), jobs.Granted)
	b.must(b.farm.Finish(b.ctx, c)) // late
	b.audit([]jobs.Job{job(3, 2)}, jobs.Claimed)
	// Finished without a claim, as after a wipe.
	b.must(b.farm.Finish(b.ctx, claim(job(4, 2), "u4")))
	b.claim(b.farm, claim(job(4, 2), "u5"), jobs.Refused)
	b.claim(b.farm, claim(job(4, 1), "u5"), jobs.Refused)
}

func supersedes(t *testing.T, b *bench) {
	b.claim(b.farm, claim(job(0, 1), "u1"), jobs.Granted)
	next := []jobs.Job{job(0, 2), job(1, 3), job(2, 1)}
	b.must(b.farm.Supersede(b.ctx, next))
	b.must(b.farm.Supersede(b.ctx, next))
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{job(1, 2)})) // never back
	b.must(b.farm.Supersede(b.ctx, nil))
	for _, c := range []struct {
		j    jobs.Job
		want jobs.Grant
	}{
		{job(0, 1), jobs.Refused},
		{job(1, 2), jobs.Refused},
		{job(0, 2), jobs.Granted},
		{job(1, 3), jobs.Granted},
		{job(2, 1), jobs.Granted},
	} {
		b.claim(b.farm, claim(c.j, "u2"), c.want)
	}
	words, err := b.farm.Beat(b.ctx, "w", 1, []jobs.Claim{claim(job(0, 1), "u1"), claim(job(0, 2), "u2")})
	b.must(err)
	if !words[0].Superseded || words[1].Superseded {
		t.Errorf("superseded: got %t, %t, want true, false", words[0].Superseded, words[1].Superseded)
	}
	// A trial that is done and asked for again.
	b.must(b.farm.Finish(b.ctx, claim(job(0, 2), "u2")))
	b.must(b.farm.Supersede(b.ctx, []jobs.Job{job(0, 3)}))
	b.claim(b.farm, claim(job(0, 2), "u3"), jobs.Refused)
	b.claim(b.farm, claim(job(0, 3), "u3"), jobs.Granted)
}
