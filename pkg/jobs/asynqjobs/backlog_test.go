package asynqjobs_test

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
)

func TestBacklog(t *testing.T) {
	t.Parallel()
	for _, on := range []struct {
		name string
		open func() broker.Options
	}{
		{"embedded", func() broker.Options { return broker.Options{} }},
		{"redis", func() broker.Options { return broker.Options{URL: redistest.Start(t).URL()} }},
	} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			q := asynqjobs.New(open(t, on.open()).Client(), asynqjobs.Options{Namespace: "store1"})
			look := func() asynqjobs.Backlog {
				b, err := q.Backlog(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			if b := look(); b != (asynqjobs.Backlog{}) {
				t.Errorf("of an empty queue: %+v", b)
			}
			plain, gpu := jobs.Job{Run: "r", Ordinal: 1, Attempt: 1}, jobs.Job{Run: "r", Ordinal: 2, Attempt: 1, Requires: "gpu"}
			if err := q.Enqueue(t.Context(), []jobs.Job{plain, gpu, {Run: "r", Ordinal: 3, Attempt: 1}}); err != nil {
				t.Fatal(err)
			}
			enqueued := time.Now()
			for worker, slots := range map[string]int{"w1": 4, "w2": 2, "draining": 0} {
				if _, err := q.Beat(t.Context(), worker, slots, nil); err != nil {
					t.Fatal(err)
				}
			}
			c := jobs.Claim{Job: jobs.Job{Run: "r", Ordinal: 9, Attempt: 1}, UID: "u", Worker: "w1"}
			if g, err := q.Claim(t.Context(), c); err != nil || g != jobs.Granted {
				t.Fatal(g, err)
			}
			if err := q.Commit(t.Context(), c, eval.Record{UID: "u", Run: "r", Ordinal: 9, N: 1}); err != nil {
				t.Fatal(err)
			}
			least := time.Since(enqueued)
			b := look()
			if b.Oldest < least.Truncate(time.Millisecond) || b.Oldest > time.Since(enqueued)+time.Hour {
				t.Errorf("the oldest waits for %s, want %s at least", b.Oldest, least)
			}
			b.Oldest = 0
			if want := (asynqjobs.Backlog{Jobs: 3, Records: 1, Workers: 2, Slots: 6}); b != want {
				t.Errorf("got %+v, want %+v", b, want)
			}
			if err := q.Delete(t.Context(), []jobs.Job{plain, gpu, {Run: "r", Ordinal: 3, Attempt: 1}}); err != nil {
				t.Fatal(err)
			}
			if b := look(); b.Jobs != 0 || b.Oldest != 0 {
				t.Errorf("once nothing waits: %+v", b)
			}
		})
	}
}
