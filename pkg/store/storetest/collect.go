package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testCollect(t *testing.T, s store.Store) {
	// Blobs carry the time at which they were put, so the border lies ahead.
	before := time.Now().Add(time.Hour)
	ctx := t.Context()
	fill := func(id string, trials int) (eval.Run, []eval.Blob) {
		r, blobs := newRun(id, trials)
		must(t, s.CreateRun(ctx, r, blobs))
		dispatch(t, s, id, trials)
		rec := record(id, 0, 1, eval.Pass)
		trajectory := blob.Pack([]byte("trajectory of " + id))
		rec.Blobs = []eval.Blob{trajectory}
		rec.Result.Trajectory = trajectory.SHA256
		rec.Result.Scores = []eval.Score{{Check: "status", Value: 1, Pass: true}}
		frames := blob.Pack([]byte("frames of " + id)) // came before the record
		must(t, s.PutBlobs(ctx, frames))
		rec.Result.Frames = frames.SHA256
		commit(t, s, rec)
		return r, append(blobs, trajectory, frames)
	}
	end := func(r eval.Run, at time.Time) eval.Blob {
		summary := blob.Pack([]byte("summary of " + r.ID))
		r.Finished = at
		must(t, s.Finish(ctx, r, summary))
		return summary
	}
	old, oldBlobs := fill("r-old", 1)
	oldBlobs = append(oldBlobs, end(old, before.Add(-time.Second)))
	young, youngBlobs := fill("r-young", 2)
	youngBlobs = append(youngBlobs, end(young, before.Add(time.Second)))
	_, openBlobs := fill("r-open", 3)
	stray := blob.Pack([]byte("nobody's"))
	must(t, s.PutBlobs(ctx, stray))

	none, err := s.Collect(ctx, when, false)
	must(t, err)
	equal(t, "collected before anything ended", none, store.Collected{})

	shared := oldBlobs[1] // the case, which the other runs have too
	gone := []eval.Blob{oldBlobs[0], oldBlobs[2], oldBlobs[3], oldBlobs[4], stray}
	want := store.Collected{Runs: 1, Blobs: len(gone)}
	for _, b := range gone {
		want.Bytes += int64(len(b.Zstd))
	}
	dry, err := s.Collect(ctx, before, true)
	must(t, err)
	equal(t, "counted by a dry run", dry, want)
	if _, err := s.Run(ctx, "r-old"); err != nil {
		t.Errorf("got %v after a dry run, want the run", err)
	}
	wet, err := s.Collect(ctx, before, false)
	must(t, err)
	equal(t, "collected", wet, want)

	_, err = s.Run(ctx, "r-old")
	notFound(t, "the old run", err)
	for _, b := range gone {
		_, err := s.GetBlob(ctx, b.SHA256)
		notFound(t, "a blob of the old run", err)
	}
	for _, b := range append(append(youngBlobs, openBlobs...), shared) {
		if _, err := s.GetBlob(ctx, b.SHA256); err != nil {
			t.Errorf("got %v, want a blob that is needed", err)
		}
	}
	for _, id := range []string{"r-young", "r-open"} {
		expectCounts(t, s, id, eval.VerdictCounts{Pass: 1})
		expectSpent(t, s, id, 100)
	}
	if es, err := s.Events(ctx, "r-old", 0, 0); err != nil || len(es) != 0 {
		t.Errorf("got events %v, %v of the old run, want none", es, err)
	}
	again, err := s.Collect(ctx, before, false)
	must(t, err)
	equal(t, "collected again", again, store.Collected{})

	// A late record does not bring the run back, and its id is free.
	late := record("r-old", 0, 1, eval.Fail)
	late.UID = "late"
	equal(t, "final for a late record", commit(t, s, late), []bool{false})
	create(t, s, "r-old", 1)
	expectCounts(t, s, "r-old", eval.VerdictCounts{})
	expectSpent(t, s, "r-old", 0)
	if as, err := s.Attempts(ctx, "r-old", 0); err != nil || len(as) != 0 {
		t.Errorf("got attempts %v, %v at the new run, want none", as, err)
	}
}
