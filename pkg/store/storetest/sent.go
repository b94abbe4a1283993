package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Each attempt keeps when it was dispatched, the last time of several; of one that was
// overtaken before its record came nobody knows.
func testSent(t *testing.T, s store.Store) {
	create(t, s, run1, 1)
	mark := func(attempt int) time.Time {
		before := time.Now().Truncate(time.Microsecond)
		_, err := s.Dispatch(t.Context(), run1, []store.Mark{{Ordinal: 0, Attempt: attempt}})
		must(t, err)
		return before
	}
	mark(1)
	must(t, s.TakeBack(t.Context(), run1, []store.Mark{{Ordinal: 0, Attempt: 1}}))
	first := mark(1)
	failed := record(run1, 0, 1, eval.Error)
	failed.Outcome = eval.AttemptFailed
	_, err := s.Commit(t.Context(), []eval.Record{failed})
	must(t, err)
	must(t, s.Next(t.Context(), run1, 0, 1, time.Now()))
	second := mark(2)
	must(t, s.Next(t.Context(), run1, 0, 2, time.Now()))
	third := mark(3)
	stored, err := s.Commit(t.Context(), []eval.Record{record(run1, 0, 2, eval.Pass), record(run1, 0, 3, eval.Pass)})
	must(t, err)
	as, err := s.Attempts(t.Context(), run1, 0)
	must(t, err)
	if len(as) != 3 || as[0].Sent.Before(first) || as[0].Sent.After(second) || !as[1].Sent.IsZero() || as[2].Sent.Before(third) {
		t.Errorf("got %+v, want attempts sent from %v, unknown, from %v", as, first, third)
	}
	if !stored[0].Sent.IsZero() || !stored[1].Sent.Equal(as[2].Sent) {
		t.Errorf("Commit says %v and %v, want unknown and %v", stored[0].Sent, stored[1].Sent, as[2].Sent)
	}
}
