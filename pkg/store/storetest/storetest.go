// Package storetest is the behaviour that every store must show.
//
// A store passes if [Exercise] does. What it asks goes beyond single calls: a
// writer may be killed and repeat itself, two may write at once, records arrive
// late, twice, or for trials that the store has forgotten; whatever happens, no
// trial has two results, no cost is lost or counted twice, and no cap is exceeded.
package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Exercise runs the whole suite. open returns an empty store that is closed when
// the test ends, and that takes the time of its days from now.
func Exercise(t *testing.T, open func(t *testing.T, now func() time.Time) store.Store) {
	for _, test := range []struct {
		name string
		fn   func(t *testing.T, s store.Store)
	}{
		{"NotFound", testNotFound},
		{"Runs/RoundTrip", testRunRoundTrip},
		{"Runs/CreateTwice", testCreateTwice},
		{"Runs/Keys", testKeys},
		{"Results/Pages", testPages},
		{"Runs/CreateNeedsItsBlobs", testCreateNeedsBlobs},
		{"Runs/List", testList},
		{"Runs/Service", testServiceRuns},
		{"Runs/State", testState},
		{"Runs/Finish", testFinish},
		{"Trials/Dispatch", testDispatch},
		{"Trials/DispatchOverDone", testDispatchOverDone},
		{"Trials/DispatchOvertaken", testDispatchOvertaken},
		{"Trials/Next", testNext},
		{"Trials/Release", testRelease},
		{"Trials/RetryVerdicts", testRetryVerdicts},
		{"Trials/RetryCancelled", testRetryCancelled},
		{"Trials/RetryNothing", testRetryNothing},
		{"Trials/RetryNeverDispatched", testRetryNeverDispatched},
		{"Trials/RetryRunning", testRetryRunning},
		{"Results/RoundTrip", testResultRoundTrip},
		{"Results/Sent", testSent},
		{"Results/Duplicates", testDuplicates},
		{"Results/Superseded", testSuperseded},
		{"Results/Failures", testFailures},
		{"Results/Losses", testLosses},
		{"Results/LateButCurrent", testLateButCurrent},
		{"Results/Forgotten", testForgotten},
		{"Results/Damaged", testDamaged},
		{"Results/HostileText", testHostileText},
		{"Results/EachResult", testEachResult},
		{"Results/Cancelled", testCancelled},
		{"Gradings/Judged", testGrading},
		{"Gradings/Again", testRegrading},
		{"Gradings/DecidedAnyway", testDecidedAnyway},
		{"Gradings/CarryOver", testCarryOver},
		{"Gradings/Retry", testRetryJudged},
		{"Gradings/RetryOnlyUnjudged", testRetryOnlyUnjudged},
		{"Gradings/RetryUnderAGrading", testRetryUnderAGrading},
		{"Gradings/Finalizing", testFinalizing},
		{"Ledger/Budget", testBudget},
		{"Ledger/DayCap", testDayCap},
		{"Ledger/Caps", testCaps},
		{"Ledger/MarksAgain", testMarksAgain},
		{"Ledger/Holds", testHolds},
		{"Ledger/Imported", testImported},
		{"Ledger/Returned", testReturned},
		{"Ledger/TakeBack", testTakeBack},
		{"Ledger/Family", testFamily},
		{"Ledger/JudgeGivenUp", testJudgeGivenUp},
		{"Ledger/Uncounted", testUncounted},
		{"Ledger/RetryUncounted", testRetryUncounted},
		{"Ledger/Exhausted", testExhausted},
		{"Ledger/AtOnce", func(t *testing.T, s store.Store) { ShareCap(t, s) }},
		{"Runs/Rounds", testRounds},
		{"Runs/Confirming", testConfirming},
		{"Live", testLive},
		{"Baselines", testBaselines},
		{"Baselines/RunsInUse", testRunsInUse},
		{"Quarantines", testQuarantines},
		{"Schedules/Table", testSchedules},
		{"Schedules/Fire", testFire},
		{"Schedules/FireQueued", testFireQueued},
		{"Schedules/FireCancels", testFireCancels},
		{"Schedules/FireAtOnce", testFireAtOnce},
		{"Schedules/Cap", testScheduleCap},
		{"Schedules/GradingCountsOnce", testScheduleGrading},
		{"Schedules/CollectFirings", testCollectFirings},
		{"Notices/RoundTrip", testNotices},
		{"Notices/OfARetriedRun", testNoticesOfARetriedRun},
		{"Notices/OfAllRuns", testNoticesOfAllRuns},
		{"Notices/AtOnce", testNoticesAtOnce},
		{"Blobs", testBlobs},
		{"Events/Order", testEvents},
		{"Events/Follow", testFollow},
		{"Collect", testCollect},
		{"CollectConfirming", testCollectConfirming},
		{"Concurrent", testConcurrent},
		{"AnySequence", testAnySequence},
	} {
		t.Run(test.name, func(t *testing.T) { test.fn(t, open(t, time.Now)) })
	}
	for _, test := range []struct {
		name string
		fn   func(t *testing.T, s store.Store, c *clock)
	}{
		{"Ledger/Day", testDay},
		{"Ledger/LateOnAnotherDay", testLateOnAnotherDay},
		{"Ledger/CollectDays", testCollectDays},
		{"Ledger/AnySpending", testAnySpending},
		{"Leases", testLeases},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &clock{at: when}
			test.fn(t, open(t, c.now), c)
		})
	}
}

// A clock stands still until it is moved.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) nextDay() { c.at = c.at.AddDate(0, 0, 1) }

// tb is what *testing.T, *testing.B and *rapid.T have in common.
type tb interface {
	Helper()
	Context() context.Context
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Fatal(args ...any)
}

// when is a moment with microseconds, the resolution that a store keeps.
var when = time.Date(2026, 3, 1, 2, 0, 0, 123456000, time.UTC)

// newRun is a run of one cell with so many trials, with its blobs: the header
// and one case.
func newRun(id string, trials int) (eval.Run, []eval.Blob) {
	c := blob.Pack([]byte(`{"id":"order/shipped"}`))
	snap := eval.Snapshot{
		Version:  "0.1.0",
		Suite:    "quickstart",
		Variants: []eval.Variant{{ID: "default"}},
		Cases:    []eval.CaseRef{{ID: "order/shipped", Kind: eval.KindScript, Blob: c.SHA256}},
		Plan:     eval.Plan{Seed: 1, Cells: []eval.Cell{{Repeats: trials}}},
	}
	plain, err := json.Marshal(snap)
	if err != nil {
		panic(err) // plain data
	}
	header := blob.Pack(plain)
	return eval.Run{
		ID:        id,
		Suite:     "quickstart",
		SuiteHash: "5eed",
		SuitePath: "suites/quickstart.yaml",
		State:     eval.RunQueued,
		Control:   eval.ControlRun,
		Header:    header.SHA256,
		Trials:    trials,
		Attempts:  3,
		MaxLost:   2,
		Priority:  1,
		Created:   when,
	}, []eval.Blob{header, c}
}

// create stores a run of so many trials.
func create(t tb, s store.Store, id string, trials int) eval.Run {
	t.Helper()
	r, blobs := newRun(id, trials)
	must(t, s.CreateRun(t.Context(), r, blobs))
	return r
}

// dispatch marks the first attempts of the first trials of a run.
func dispatch(t tb, s store.Store, run string, trials int) {
	t.Helper()
	var marks []store.Mark
	for i := range trials {
		marks = append(marks, store.Mark{Ordinal: i, Attempt: 1, Cursor: i + 1})
	}
	mark(t, s, run, marks...)
}

// mark writes marks that all fit.
func mark(t tb, s store.Store, run string, marks ...store.Mark) {
	t.Helper()
	d, err := s.Dispatch(t.Context(), run, marks)
	must(t, err)
	d.Moot = nil
	equal(t, "dispatched", d, store.Marked{Marks: len(marks)})
}

// expectDone wants a run to be done, so that nothing of it begins.
func expectDone(t tb, s store.Store, run string, marks ...store.Mark) {
	t.Helper()
	if d, err := s.Dispatch(t.Context(), run, marks); !errors.Is(err, store.ErrDone) {
		t.Errorf("dispatch of run %s, which is done: got %+v, %v, want ErrDone", run, d, err)
	}
}

// record is what attempt n at a trial hands in.
func record(run string, ordinal, n int, v eval.Verdict) eval.Record {
	return eval.Record{
		UID:          fmt.Sprintf("%s:%d:a%d", run, ordinal, n),
		Run:          run,
		Ordinal:      ordinal,
		N:            n,
		Worker:       "w1",
		Outcome:      eval.AttemptDone,
		Result:       eval.Result{Verdict: v},
		CostMicroUSD: 100,
		Started:      when,
		Ended:        when.Add(time.Second),
	}
}

// failed is a record of an attempt of run1 that the farm failed or lost.
func failed(ordinal, n int, o eval.AttemptOutcome) eval.Record {
	r := record(run1, ordinal, n, eval.Error)
	r.Outcome = o
	r.Result.Reason = eval.ReasonFarm
	if o == eval.AttemptLost {
		r.Result.Reason = eval.ReasonWorkerLost
	}
	return r
}

// commit commits records and says which of them are final.
func commit(t tb, s store.Store, rs ...eval.Record) []bool {
	t.Helper()
	stored := commitAll(t, s, rs...)
	final := make([]bool, len(rs))
	for i, st := range stored {
		final[i] = st.Final
	}
	return final
}

// commitAll stores records and returns what became of them.
func commitAll(t tb, s store.Store, rs ...eval.Record) []store.Stored {
	t.Helper()
	stored, err := s.Commit(t.Context(), rs)
	must(t, err)
	if len(stored) != len(rs) {
		t.Fatalf("got %d answers to %d records", len(stored), len(rs))
	}
	for i, st := range stored {
		if st.UID != rs[i].UID || st.Run != rs[i].Run || st.Ordinal != rs[i].Ordinal || st.N != rs[i].N {
			t.Errorf("got answer %d for attempt %s, want one for %s", i, st.UID, rs[i].UID)
		}
	}
	return stored
}

// fates says what became of records, a word for each.
func fates(stored []store.Stored) []string {
	words := make([]string, len(stored))
	for i, st := range stored {
		switch {
		case !st.New && !st.Final && !st.Superseded:
			words[i] = "known"
		case st.New && st.Final && !st.Superseded:
			words[i] = "final"
		case st.New && st.Superseded && !st.Final:
			words[i] = "superseded"
		case st.New:
			words[i] = "reported"
		default:
			words[i] = fmt.Sprintf("%+v", st)
		}
	}
	return words
}

// outstanding returns the trials that are not done.
func outstanding(t tb, s store.Store, run string) []store.Trial {
	t.Helper()
	ts, err := s.Outstanding(t.Context(), run)
	must(t, err)
	return ts
}

// expectCounts compares the counts, and what EachResult gives, with want.
func expectCounts(t tb, s store.Store, run string, want eval.VerdictCounts) {
	t.Helper()
	got, err := s.Counts(t.Context(), run)
	must(t, err)
	equal(t, "counts", got, want)
	var each eval.VerdictCounts
	must(t, s.EachResult(t.Context(), run, func(r store.Row) error {
		each.Add(r.Result.Verdict, 1)
		return nil
	}))
	equal(t, "counts over EachResult", each, want)
}

func expectSpent(t tb, s store.Store, run string, want int64) {
	t.Helper()
	got, err := s.Ledger(t.Context(), run)
	must(t, err)
	equal(t, "spent", got.Spent.MicroUSD, want)
}

func must(t tb, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t tb, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got + and want -:\n%s", what, diff)
	}
}

// notFound lets a test go on only with the error that callers test for.
func notFound(t tb, what string, err error) {
	t.Helper()
	if !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%s: got error %v, want ErrNotFound", what, err)
	}
}

func testNotFound(t *testing.T, s store.Store) {
	ctx := t.Context()
	_, err := s.Run(ctx, "r-none")
	notFound(t, "Run", err)
	notFound(t, "SetState", s.SetState(ctx, "r-none", eval.RunRunning))
	notFound(t, "SetControl", s.SetControl(ctx, "r-none", eval.ControlPause))
	notFound(t, "Finish", s.Finish(ctx, eval.Run{ID: "r-none"}, blob.Pack(nil)))
	_, err = s.Dispatch(ctx, "r-none", nil)
	notFound(t, "Dispatch", err)
	notFound(t, "TakeBack", s.TakeBack(ctx, "r-none", nil))
	notFound(t, "SetBudget", s.SetBudget(ctx, "r-none", eval.Budget{}))
	notFound(t, "SetDayCap", s.SetDayCap(ctx, "r-none", 0))
	notFound(t, "SetLive", s.SetLive(ctx, "r-none", eval.Live{}))
	_, err = s.Live(ctx, "r-none")
	notFound(t, "Live", err)
	_, err = s.Outstanding(ctx, "r-none")
	notFound(t, "Outstanding", err)
	_, err = s.Release(ctx, "r-none")
	notFound(t, "Release", err)
	_, err = s.Retry(ctx, "r-none", nil)
	notFound(t, "Retry", err)
	_, err = s.Counts(ctx, "r-none")
	notFound(t, "Counts", err)
	_, err = s.Ledger(ctx, "r-none")
	notFound(t, "Ledger", err)
	_, err = s.Attempts(ctx, "r-none", 0)
	notFound(t, "Attempts", err)
	notFound(t, "EachResult", s.EachResult(ctx, "r-none", func(store.Row) error { return nil }))
	_, err = s.Schedule(ctx, "none")
	notFound(t, "Schedule", err)
	_, err = s.GetBlob(ctx, blob.Pack(nil).SHA256)
	notFound(t, "GetBlob", err)

	create(t, s, "r-some", 2)
	dispatch(t, s, "r-some", 1)
	_, err = s.Result(ctx, "r-some", 0)
	notFound(t, "Result of a trial without one", err)
	notFound(t, "Next of a trial never dispatched", s.Next(ctx, "r-some", 1, 1, when))
	got, err := s.Attempts(ctx, "r-some", 0)
	if err != nil || len(got) != 0 {
		t.Errorf("Attempts of a trial without any: got %v, %v, want none", got, err)
	}
}
