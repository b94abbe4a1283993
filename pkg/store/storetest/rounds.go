package storetest

import (
	"encoding/json"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// newSequential is a run whose first cell is repeated up to five times, until it is
// decided, and whose second has three repeats of its own: ordinals 0 to 4 are those up to
// the look after two rounds.
func newSequential(id string) (eval.Run, []eval.Blob) {
	c := blob.Pack([]byte(`{"id":"order/shipped"}`))
	snap := eval.Snapshot{
		Variants: []eval.Variant{{ID: "default"}, {ID: "other"}},
		Cases:    []eval.CaseRef{{ID: "order/shipped", Kind: eval.KindAgent, Blob: c.SHA256}},
		Plan:     eval.Plan{Cells: []eval.Cell{{Repeats: 5, Sequential: true}, {Variant: 1, Repeats: 3}}, Looks: []int{2, 3, 4, 5}},
	}
	plain, err := json.Marshal(snap)
	if err != nil {
		panic(err) // plain data
	}
	header := blob.Pack(plain)
	r, _ := newRun(id, 8)
	r.Header = header.SHA256
	return r, []eval.Blob{header, c}
}

func testRounds(t *testing.T, s store.Store) {
	ctx := t.Context()
	r, blobs := newSequential("r-20260301-aaaaaa")
	must(t, s.CreateRun(ctx, r, blobs))
	g := r
	g.ID, g.Parent = r.ID+".g1", r.ID
	_, err := s.CreateGrading(ctx, g, nil, false)
	must(t, err)

	notFound(t, "the end of no run", s.SetRounds(ctx, "r-none", 2))
	notFound(t, "the end of a grading", s.SetRounds(ctx, g.ID, 2))
	for _, rounds := range []int{0, -1, 5, 9} {
		if err := s.SetRounds(ctx, r.ID, rounds); err == nil {
			t.Errorf("after %d of 5 rounds: got no error, want one", rounds)
		}
	}
	_, err = s.Dispatch(ctx, r.ID, []store.Mark{{Ordinal: 5, Attempt: 1, Cursor: 6}})
	must(t, err)
	must(t, s.SetRounds(ctx, r.ID, 2))
	got, err := s.Run(ctx, r.ID)
	must(t, err)
	equal(t, "rounds and trials of a run that was dispatched beyond the look", [2]int{got.Rounds, got.Trials}, [2]int{0, 8})

	must(t, s.SetRounds(ctx, r.ID, 3))
	must(t, s.SetRounds(ctx, r.ID, 4)) // by another leader, who is late
	got, err = s.Run(ctx, r.ID)
	must(t, err)
	equal(t, "rounds and trials of a decided run", [2]int{got.Rounds, got.Trials}, [2]int{3, 6})
	if _, err := s.Dispatch(ctx, r.ID, []store.Mark{{Ordinal: 6, Attempt: 1, Cursor: 7}}); err == nil {
		t.Error("a trial behind the end: got no error, want one")
	}

	r, blobs = newSequential("r-20260301-bbbbbb")
	must(t, s.CreateRun(ctx, r, blobs))
	r.State = eval.RunFinalizing
	must(t, s.Finish(ctx, r, blob.Pack([]byte("{}"))))
	must(t, s.SetRounds(ctx, r.ID, 2))
	got, err = s.Run(ctx, r.ID)
	must(t, err)
	equal(t, "rounds of a run that was done", got.Rounds, 0)
}
