package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// testConfirming: a run leaves a part of its caps to the run that tries its suspects
// again. That is found by its name, and listed nowhere.
func testConfirming(t *testing.T, s store.Store) {
	r, blobs := newRun(run1, 3)
	r.Budget = eval.Budget{MicroUSD: 100, Tokens: 1000}
	r.Reserve = eval.Amount{MicroUSD: 30, Tokens: 200}
	r.Carrier = eval.CarrierService
	must(t, s.CreateRun(t.Context(), r, blobs))
	child := r
	child.ID, child.Confirms, child.Reserve, child.Budget = r.Confirmation(), r.ID, eval.Amount{}, eval.Budget{MicroUSD: 30, Tokens: 200}
	must(t, s.CreateRun(t.Context(), child, nil))
	must(t, s.CreateRun(t.Context(), child, nil)) // whoever made it was killed

	mark(t, s, r.ID, hold(0, eval.Amount{MicroUSD: 70, Tokens: 800}))
	expectMarked(t, s, r.ID, store.Marked{Short: eval.ShortOfMoney}, hold(1, usd(1)))
	expectMarked(t, s, r.ID, store.Marked{Short: eval.ShortOfTokens}, hold(1, eval.Amount{Tokens: 1}))
	mark(t, s, child.ID, hold(0, eval.Amount{MicroUSD: 30, Tokens: 200}))
	expectMarked(t, s, child.ID, store.Marked{Short: eval.ShortOfMoney}, hold(1, usd(1)))

	// Both come to their ends, the second one with an error: they are tried again together.
	for _, of := range []string{child.ID, r.ID} {
		for i := range 3 {
			mark(t, s, of, hold(i, eval.Amount{}))
			v := eval.Pass
			if of == child.ID && i == 1 {
				v = eval.Error
			}
			_, err := s.Commit(t.Context(), []eval.Record{record(of, i, 1, v)})
			must(t, err)
		}
		must(t, s.Finish(t.Context(), eval.Run{ID: of, Outcome: eval.OutcomeComplete}, blob.Pack([]byte("{}"))))
	}
	n, err := s.Retry(t.Context(), r.ID, []eval.Verdict{eval.Error})
	must(t, err)
	for _, of := range []string{child.ID, r.ID} {
		got, err := s.Run(t.Context(), of)
		must(t, err)
		equal(t, "state of "+of+" that is tried again", got.State, eval.RunRunning)
	}
	equal(t, "trials that are due", n, 1)

	list, err := s.ListRuns(t.Context(), store.RunFilter{})
	must(t, err)
	service, err := s.ServiceRuns(t.Context())
	must(t, err)
	equal(t, "how many are listed, and are for the service to take up", [2]int{len(list), len(service)}, [2]int{1, 1})
}

// testCollectConfirming: what confirms a run is kept as long as that, and goes with it,
// its gradings too. It is no last green run that would let go of the real one.
func testCollectConfirming(t *testing.T, s store.Store) {
	old := time.Now().Add(-time.Hour)
	family := func(id string, verdict eval.RunVerdict, finished time.Time) []string {
		r, blobs := newRun(id, 1)
		must(t, s.CreateRun(t.Context(), r, blobs))
		child := r
		child.ID, child.Confirms, child.Grading = r.Confirmation(), r.ID, r.Confirmation()+".g1"
		grading := child
		grading.ID, grading.Parent, grading.Confirms, grading.Grading = child.Grading, child.ID, "", ""
		must(t, s.CreateRun(t.Context(), child, nil, grading))
		ids := []string{grading.ID, child.ID, r.ID}
		for _, of := range ids {
			end := eval.Run{ID: of, Outcome: eval.OutcomeComplete, Verdict: eval.RunPass, Finished: old.Add(-time.Hour)}
			if of == r.ID {
				end.Verdict, end.Finished = verdict, finished
			}
			must(t, s.Finish(t.Context(), end, blob.Pack([]byte("summary of "+of))))
		}
		return ids
	}
	old1 := family("r-old", eval.RunFail, old.Add(-time.Minute))
	young := family("r-young", eval.RunFail, old.Add(time.Minute))
	green := family("r-green", eval.RunPass, old.Add(-time.Minute))

	dry, err := s.Collect(t.Context(), old, true)
	must(t, err)
	got, err := s.Collect(t.Context(), old, false)
	must(t, err)
	equal(t, "runs that are collected, and would be", [2]int{got.Runs, dry.Runs}, [2]int{1, 1})
	for _, id := range old1 {
		_, err := s.Run(t.Context(), id)
		notFound(t, "old "+id, err)
	}
	for _, id := range append(young, green...) {
		if _, err := s.Run(t.Context(), id); err != nil {
			t.Errorf("got %v for %s, want it kept with its run", err, id)
		}
	}
}
