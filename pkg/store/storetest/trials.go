package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const run1 = "r-20260301-aaaaaa"

func testDispatch(t *testing.T, s store.Store) {
	create(t, s, run1, 5)
	if got := outstanding(t, s, run1); len(got) != 0 {
		t.Errorf("got %v before anything was dispatched, want nothing", got)
	}
	marks := []store.Mark{{Ordinal: 1, Attempt: 1, Hold: eval.Amount{MicroUSD: 70, Tokens: 7}, Cursor: 2}, {Ordinal: 0, Attempt: 1}}
	for range 2 {
		mark(t, s, run1, marks...)
	}
	want := []store.Trial{
		{Run: run1, Ordinal: 0, Attempt: 1, State: store.Dispatched},
		{Run: run1, Ordinal: 1, Attempt: 1, State: store.Dispatched, Hold: eval.Amount{MicroUSD: 70, Tokens: 7}},
	}
	equal(t, "outstanding", outstanding(t, s, run1), want)
	mark(t, s, run1)
	r, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "cursor", r.Cursor, 2)

	for name, bad := range map[string]store.Mark{
		"a negative ordinal":        {Ordinal: -1, Attempt: 1},
		"an ordinal after the last": {Ordinal: 5, Attempt: 1},
		"a negative hold":           {Ordinal: 3, Attempt: 1, Hold: eval.Amount{MicroUSD: -1}},
		"negative tokens":           {Ordinal: 3, Attempt: 1, Hold: eval.Amount{Tokens: -1}},
	} {
		if _, err := s.Dispatch(t.Context(), run1, []store.Mark{{Ordinal: 2, Attempt: 1, Cursor: 3}, bad}); err == nil {
			t.Errorf("got no error for %s", name)
		}
	}
	equal(t, "outstanding after a refused dispatch", outstanding(t, s, run1), want)

	// Marks of a scheduler that has been overtaken change nothing.
	must(t, s.Next(t.Context(), run1, 0, 1, when))
	commit(t, s, record(run1, 1, 1, eval.Pass))
	mark(t, s, run1, marks...)
	waiting := store.Trial{Run: run1, Ordinal: 0, Attempt: 2, State: store.Waiting, NotBefore: when}
	equal(t, "outstanding after old marks", outstanding(t, s, run1), []store.Trial{waiting})

	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 2, Hold: eval.Amount{MicroUSD: 30}})
	equal(t, "outstanding after the next mark", outstanding(t, s, run1),
		[]store.Trial{{Run: run1, Ordinal: 0, Attempt: 2, State: store.Dispatched, Hold: eval.Amount{MicroUSD: 30}}})
}

// A scheduler that wakes up after a run has ended begins nothing of it.
func testDispatchOverDone(t *testing.T, s store.Store) {
	create(t, s, run1, 2)
	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 1, Cursor: 1})
	must(t, s.Finish(t.Context(), eval.Run{ID: run1, Outcome: eval.OutcomeRunCancelled}, blob.Pack([]byte("{}"))))
	before := outstanding(t, s, run1)
	expectDone(t, s, run1, store.Mark{Ordinal: 1, Attempt: 1, Hold: eval.Amount{MicroUSD: 5}, Cursor: 2})
	if err := s.SetState(t.Context(), run1, eval.RunRunning); !errors.Is(err, store.ErrDone) {
		t.Errorf("state of a done run: got %v, want ErrDone", err)
	}
	equal(t, "outstanding", outstanding(t, s, run1), before)
	l, err := s.Ledger(t.Context(), run1)
	must(t, err)
	equal(t, "held", l.Held, eval.Amount{})
}

// A scheduler whose view is old is told which of its marks say nothing.
func testDispatchOvertaken(t *testing.T, s store.Store) {
	create(t, s, run1, 6)
	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1},
		store.Mark{Ordinal: 2, Attempt: 1}, store.Mark{Ordinal: 3, Attempt: 1, Cursor: 4})
	commit(t, s, record(run1, 0, 1, eval.Pass))
	must(t, s.Next(t.Context(), run1, 1, 1, when))
	commit(t, s, failed(2, 1, eval.AttemptFailed))
	got, err := s.Dispatch(t.Context(), run1, []store.Mark{
		{Ordinal: 0, Attempt: 1}, {Ordinal: 1, Attempt: 1}, {Ordinal: 2, Attempt: 1}, {Ordinal: 3, Attempt: 1}, {Ordinal: 4, Attempt: 1, Cursor: 5},
	})
	must(t, err)
	// The first is done, the second and third have or want a later attempt; the fourth
	// is out already, the fifth is now.
	equal(t, "marked", got, store.Marked{Marks: 5, Moot: []int{0, 1, 2}})
}

func testNext(t *testing.T, s store.Store) {
	create(t, s, run1, 2)
	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 1, Hold: eval.Amount{MicroUSD: 70}})
	commit(t, s, failed(0, 1, eval.AttemptFailed))
	equal(t, "reported", outstanding(t, s, run1),
		[]store.Trial{{Run: run1, Ordinal: 0, Attempt: 1, State: store.Dispatched, Failures: 1, Reported: true}})

	due := when.Add(time.Minute)
	for range 2 { // the second time n is no longer current
		must(t, s.Next(t.Context(), run1, 0, 1, due))
	}
	equal(t, "waiting", outstanding(t, s, run1),
		[]store.Trial{{Run: run1, Ordinal: 0, Attempt: 2, State: store.Waiting, NotBefore: due, Failures: 1}})

	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 2})
	commit(t, s, record(run1, 0, 2, eval.Pass))
	must(t, s.Next(t.Context(), run1, 0, 2, due))
	if got := outstanding(t, s, run1); len(got) != 0 {
		t.Errorf("got %v after Next on a trial with a result, want nothing outstanding", got)
	}
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1})
}

func testRelease(t *testing.T, s store.Store) {
	create(t, s, run1, 5)
	dispatch(t, s, run1, 4)
	commit(t, s, record(run1, 0, 1, eval.Pass), failed(1, 1, eval.AttemptFailed), failed(2, 1, eval.AttemptFailed))
	must(t, s.Next(t.Context(), run1, 2, 1, when))
	n, err := s.Release(t.Context(), run1)
	must(t, err)
	equal(t, "released", n, 2)
	want := []store.Trial{
		{Run: run1, Ordinal: 1, Attempt: 2, State: store.Waiting, Failures: 1},
		{Run: run1, Ordinal: 2, Attempt: 2, State: store.Waiting, Failures: 1, NotBefore: when},
		{Run: run1, Ordinal: 3, Attempt: 2, State: store.Waiting},
	}
	equal(t, "outstanding", outstanding(t, s, run1), want)
	n, err = s.Release(t.Context(), run1)
	must(t, err)
	equal(t, "released by a second Release", n, 0)

	// The former owner's worker was not dead after all.
	equal(t, "final", commit(t, s, record(run1, 3, 1, eval.Fail)), []bool{false})
	equal(t, "outstanding after a late record", outstanding(t, s, run1), want)
}

func testRetryVerdicts(t *testing.T, s store.Store) {
	r := create(t, s, run1, 6)
	must(t, s.SetState(t.Context(), run1, eval.RunRunning))
	dispatch(t, s, run1, 6)
	vs := []eval.Verdict{eval.Pass, eval.Fail, eval.Error, eval.Unjudged, eval.Unfinished, eval.Skipped}
	for i, v := range vs {
		commit(t, s, record(run1, i, 1, v))
	}
	must(t, s.SetControl(t.Context(), run1, eval.ControlCancel))
	r.Outcome, r.Verdict, r.ExitCode = eval.OutcomeComplete, eval.RunError, 3
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))

	for _, v := range []eval.Verdict{eval.Pass, eval.Fail, eval.Skipped, "nonsense"} {
		if _, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error, v}); err == nil {
			t.Errorf("got no error for a retry of %s, which would bias the rates", v)
		}
	}
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1, Fail: 1, Error: 1, Unjudged: 1, Unfinished: 1, Skipped: 1})

	n, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error, eval.Unfinished})
	must(t, err)
	equal(t, "retried", n, 2)
	equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{
		{Run: run1, Ordinal: 2, Attempt: 2, State: store.Waiting},
		{Run: run1, Ordinal: 4, Attempt: 2, State: store.Waiting},
	})
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1, Fail: 1, Unjudged: 1, Skipped: 1})
	_, err = s.Result(t.Context(), run1, 2)
	notFound(t, "a result that was cleared", err)

	got, err := s.Run(t.Context(), run1)
	must(t, err)
	want, _ := newRun(run1, 6)
	want.State, want.Cursor = eval.RunRunning, 6
	equal(t, "run", got, want)
	es, err := s.Events(t.Context(), run1, 0, 0)
	must(t, err)
	if last := es[len(es)-1]; last.Kind != "state" || last.State != eval.RunRunning {
		t.Errorf("got last event %+v, want the state running", last)
	}

	n, err = s.Retry(t.Context(), run1, []eval.Verdict{eval.Error, eval.Unfinished})
	must(t, err)
	equal(t, "outstanding after a second Retry", n, 2)

	// The attempt that was retried can count no more, the next one does.
	late := record(run1, 2, 1, eval.Pass)
	late.UID = "late"
	equal(t, "final", commit(t, s, late, record(run1, 2, 2, eval.Pass)), []bool{false, true})
	as, err := s.Attempts(t.Context(), run1, 2)
	must(t, err)
	var counting []string
	for _, a := range as {
		if a.Counts {
			counting = append(counting, a.UID)
		}
	}
	equal(t, "attempts", len(as), 3)
	equal(t, "counting attempts", counting, []string{run1 + ":2:a2"})
	expectSpent(t, s, run1, 800)
}

func testRetryCancelled(t *testing.T, s store.Store) {
	// Six trials: one with a result, one reported, one waiting, one with a worker
	// that was told to stop, two never dispatched.
	r := create(t, s, run1, 6)
	dispatch(t, s, run1, 4)
	commit(t, s, record(run1, 0, 1, eval.Pass), failed(1, 1, eval.AttemptFailed), failed(2, 1, eval.AttemptLost))
	must(t, s.Next(t.Context(), run1, 2, 1, when))
	must(t, s.SetControl(t.Context(), run1, eval.ControlCancel))
	r.Outcome = eval.OutcomeRunCancelled
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))

	n, err := s.Retry(t.Context(), run1, nil)
	must(t, err)
	equal(t, "due, apart from the two never dispatched", n, 3)
	equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{
		{Run: run1, Ordinal: 1, Attempt: 2, State: store.Waiting},
		{Run: run1, Ordinal: 2, Attempt: 2, State: store.Waiting},
		{Run: run1, Ordinal: 3, Attempt: 2, State: store.Waiting},
	})
	got, err := s.Run(t.Context(), run1)
	must(t, err)
	want, _ := newRun(run1, 6)
	want.State, want.Cursor = eval.RunRunning, 4
	equal(t, "run", got, want)
}

func testRetryNothing(t *testing.T, s store.Store) {
	r := create(t, s, run1, 1)
	dispatch(t, s, run1, 1)
	commit(t, s, record(run1, 0, 1, eval.Fail))
	r.Verdict = eval.RunFail
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))
	before, err := s.Run(t.Context(), run1)
	must(t, err)
	n, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error})
	must(t, err)
	equal(t, "due", n, 0)
	after, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "run", after, before)
}

// A run was cancelled when all that it had dispatched was in.
func testRetryNeverDispatched(t *testing.T, s store.Store) {
	r := create(t, s, run1, 2)
	dispatch(t, s, run1, 1)
	commit(t, s, record(run1, 0, 1, eval.Pass))
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))
	n, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error})
	must(t, err)
	equal(t, "due", n, 0)
	got, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "state", got.State, eval.RunRunning)
	equal(t, "cursor", got.Cursor, 1)
}

// Retry while the run goes on leaves attempts that are out alone.
func testRetryRunning(t *testing.T, s store.Store) {
	create(t, s, run1, 3)
	must(t, s.SetState(t.Context(), run1, eval.RunPaused))
	dispatch(t, s, run1, 3)
	commit(t, s, record(run1, 0, 1, eval.Error), record(run1, 1, 1, eval.Pass))
	n, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error})
	must(t, err)
	equal(t, "due", n, 2)
	equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{
		{Run: run1, Ordinal: 0, Attempt: 2, State: store.Waiting},
		{Run: run1, Ordinal: 2, Attempt: 1, State: store.Dispatched},
	})
	got, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "state", got.State, eval.RunPaused)
}
