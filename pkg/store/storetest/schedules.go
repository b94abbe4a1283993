package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const nightly = "nightly"

// newSchedule is a schedule with something in every field that storing could lose.
func newSchedule(name string) eval.Schedule {
	return eval.Schedule{
		Name: name, Cron: "30 2 * * *", Timezone: "Europe/Berlin", Jitter: time.Minute,
		Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpAll, CatchUpLimit: 3, FinishBy: "06:00",
		Suite: "suites/<night>.yaml", With: "with.yaml", Vars: map[string]string{"team": "a \"b\""},
		Cases: []string{"order/*"}, Tags: []string{"smoke"}, Axes: map[string][]string{"model": {"haiku", "opus"}}, Repeats: 5,
		BudgetMicroUSD: 100, File: "/etc/farm.yaml", Paused: true,
	}
}

// put stores a schedule that is due at when.
func put(t tb, s store.Store, name string) {
	t.Helper()
	must(t, s.PutSchedule(t.Context(), newSchedule(name), when))
}

// firing is one of the schedule nightly that started nothing.
func firing(due time.Time, o eval.FiringOutcome) eval.Firing {
	return eval.Firing{Schedule: nightly, Due: due, At: due.Add(time.Second), Outcome: o, Message: "a <reason>"}
}

// starting is a firing that starts a run, and the run.
func starting(due time.Time, id string) (eval.Firing, *store.Start) {
	r, blobs := newRun(id, 2)
	r.Schedule, r.ScheduleMicroUSD = nightly, 100
	f := firing(due, eval.FiringStarted)
	f.Run, f.Message = id, ""
	return f, &store.Start{Run: r, Blobs: blobs}
}

// expectFired fires and says whether that was the one that counts.
func expectFired(t tb, s store.Store, want bool, f eval.Firing, next time.Time, start *store.Start) {
	t.Helper()
	won, err := s.Fire(t.Context(), f, next, start)
	must(t, err)
	equal(t, "fired", won, want)
}

func expectFirings(t tb, s store.Store, want ...eval.Firing) {
	t.Helper()
	got, err := s.Firings(t.Context(), store.FiringFilter{Schedule: nightly})
	must(t, err)
	equal(t, "firings", got, want)
}

func expectDue(t tb, s store.Store, want time.Time) {
	t.Helper()
	got, err := s.Schedule(t.Context(), nightly)
	must(t, err)
	equal(t, "due", got.Due, want)
}

func testSchedules(t *testing.T, s store.Store) {
	ctx := t.Context()
	put(t, s, nightly)
	put(t, s, "hourly")
	got, err := s.Schedules(ctx)
	must(t, err)
	equal(t, "schedules", got, []store.Schedule{
		{Schedule: newSchedule("hourly"), Due: when}, {Schedule: newSchedule(nightly), Due: when},
	})

	// In its place comes another one, which is due when that was if its times are the
	// same, and stays paused.
	later := when.Add(time.Hour)
	must(t, s.PauseSchedule(ctx, nightly))
	other := newSchedule(nightly)
	other.Suite, other.Paused = "elsewhere", false
	must(t, s.PutSchedule(ctx, other, later))
	one, err := s.Schedule(ctx, nightly)
	must(t, err)
	equal(t, "schedule", one, store.Schedule{Schedule: other, Due: when, PausedByHand: true})
	equal(t, "rests", one.Rests(), true)
	for i, change := range []func(*eval.Schedule){
		func(s *eval.Schedule) { s.Cron = "0 3 * * *" },
		func(s *eval.Schedule) { s.Timezone = "UTC" },
	} {
		change(&other)
		next := later.Add(time.Duration(i) * time.Hour)
		must(t, s.PutSchedule(ctx, other, next))
		expectDue(t, s, next)
	}

	must(t, s.ResumeSchedule(ctx, nightly, when))
	must(t, s.ResumeSchedule(ctx, nightly, later)) // it was not paused
	one, err = s.Schedule(ctx, nightly)
	must(t, err)
	equal(t, "schedule", one, store.Schedule{Schedule: other, Due: when})
	equal(t, "rests", one.Rests(), false)

	must(t, s.DeleteSchedule(ctx, nightly))
	_, err = s.Schedule(ctx, nightly)
	notFound(t, "Schedule", err)
	notFound(t, "PauseSchedule", s.PauseSchedule(ctx, nightly))
	notFound(t, "ResumeSchedule", s.ResumeSchedule(ctx, nightly, when))
	notFound(t, "DeleteSchedule", s.DeleteSchedule(ctx, nightly))
	_, err = s.Schedule(ctx, "hourly")
	must(t, err)
}

func testFire(t *testing.T, s store.Store) {
	ctx := t.Context()
	put(t, s, nightly)
	put(t, s, "hourly")
	day := 24 * time.Hour
	first, start := starting(when, "r-first")
	expectFired(t, s, true, first, when.Add(day), start)
	expectFired(t, s, false, first, when.Add(day), start) // somebody else, or the same again
	expectDue(t, s, when.Add(day))
	r, err := s.Run(ctx, "r-first")
	must(t, err)
	equal(t, "run", r, start.Run)

	// One that is not due is none, and starts nothing.
	early, start := starting(when.Add(2*day), "r-early")
	expectFired(t, s, false, early, when.Add(3*day), start)
	_, err = s.Run(ctx, "r-early")
	notFound(t, "the run of a firing that was none", err)
	unknown := firing(when, eval.FiringMissed)
	unknown.Schedule = "r-none"
	expectFired(t, s, false, unknown, when.Add(day), nil)
	expectFired(t, s, false, unknown, time.Time{}, nil)

	// One that cannot be stored as a whole is not stored at all.
	second, start := starting(when.Add(day), "r-second")
	start.Blobs = nil
	start.Run.Header = blob.Pack([]byte("nobody has it")).SHA256
	if _, err := s.Fire(ctx, second, when.Add(2*day), start); err == nil {
		t.Error("got no error for a run without its header")
	}
	expectDue(t, s, when.Add(day))
	expectFirings(t, s, first)

	overlap := firing(when.Add(day), eval.FiringOverlap)
	expectFired(t, s, true, overlap, when.Add(2*day), nil)
	byHand, start := starting(when.Add(day+time.Hour), "r-hand")
	expectFired(t, s, true, byHand, time.Time{}, start)
	expectFired(t, s, false, byHand, time.Time{}, start)
	expectDue(t, s, when.Add(2*day))
	expectFirings(t, s, byHand, overlap, first)

	limited, err := s.Firings(ctx, store.FiringFilter{Schedule: nightly, Outcome: eval.FiringStarted, Limit: 1})
	must(t, err)
	equal(t, "firings", limited, []eval.Firing{byHand})
	runs, err := s.ListRuns(ctx, store.RunFilter{Schedule: nightly, Unfinished: true})
	must(t, err)
	equal(t, "runs", len(runs), 2)
	runs, err = s.ListRuns(ctx, store.RunFilter{Schedule: "hourly"})
	must(t, err)
	equal(t, "runs of the other", len(runs), 0)

	must(t, s.DeleteSchedule(ctx, nightly))
	expectFirings(t, s)
	_, err = s.Run(ctx, "r-first")
	must(t, err)
}

// A firing that was queued is settled once.
func testFireQueued(t *testing.T, s store.Store) {
	put(t, s, nightly)
	queued := firing(when, eval.FiringQueued)
	expectFired(t, s, true, queued, when.Add(time.Hour), nil)
	expectFirings(t, s, queued)
	started, start := starting(when, "r-one")
	expectFired(t, s, true, started, time.Time{}, start)
	other, start := starting(when, "r-other")
	expectFired(t, s, false, other, time.Time{}, start)
	expectFirings(t, s, started)
	_, err := s.Run(t.Context(), "r-other")
	notFound(t, "the run of a firing that was settled", err)
	expectDue(t, s, when.Add(time.Hour))
}

// A firing may cancel what is still going on of its schedule, and nothing else.
func testFireCancels(t *testing.T, s store.Store) {
	ctx := t.Context()
	put(t, s, nightly)
	create(t, s, run1, 1)
	var start *store.Start
	for i, id := range []string{"r-done", "r-going", "r-new"} {
		var f eval.Firing
		f, start = starting(when.Add(time.Duration(i)*time.Hour), id)
		start.Cancel = id == "r-new"
		expectFired(t, s, true, f, f.Due.Add(time.Hour), start)
		if id == "r-done" {
			must(t, s.Finish(ctx, start.Run, blob.Pack(nil)))
		}
	}
	for id, want := range map[string]eval.Control{run1: eval.ControlRun, "r-done": eval.ControlRun, "r-going": eval.ControlCancel, "r-new": eval.ControlRun} {
		r, err := s.Run(ctx, id)
		must(t, err)
		equal(t, "control of "+id, r.Control, want)
	}
}

// Many who find a schedule due fire it once each time.
func testFireAtOnce(t *testing.T, s store.Store) {
	put(t, s, nightly)
	const times, schedulers = 10, 4
	var fired atomic.Int64
	var wg sync.WaitGroup
	for range schedulers {
		wg.Go(func() {
			for i := range times {
				f, start := starting(when.Add(time.Duration(i)*time.Minute), fmt.Sprintf("r-%d", i))
				won, err := s.Fire(t.Context(), f, f.Due.Add(time.Minute), start)
				if err != nil {
					t.Error(err)
				}
				if won {
					fired.Add(1)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "fired", int(fired.Load()), times)
	fs, err := s.Firings(t.Context(), store.FiringFilter{Schedule: nightly})
	must(t, err)
	equal(t, "firings", len(fs), times)
	runs, err := s.ListRuns(t.Context(), store.RunFilter{Schedule: nightly})
	must(t, err)
	equal(t, "runs", len(runs), times)
	expectDue(t, s, when.Add(times*time.Minute))
}

// The runs of a schedule share a cap with their judges, whatever becomes of them.
func testScheduleCap(t *testing.T, s store.Store) {
	ctx := t.Context()
	put(t, s, nightly)
	create(t, s, "r-alone", 1)
	mark(t, s, "r-alone", hold(0, usd(1000))) // has nothing to do with it
	g := newScheduled(t, s, "r-one", 3)
	newScheduled(t, s, "r-two", 3)
	expectTaken := func(want int64) {
		t.Helper()
		got, err := s.Schedule(ctx, nightly)
		must(t, err)
		equal(t, "taken", got.TakenMicroUSD, want)
	}
	expectTaken(0)
	mark(t, s, "r-one", hold(0, usd(40)), hold(1, usd(20)))
	expectRoom(t, s, "r-two", 0, 40, eval.ShortOfScheduleMoney)
	commit(t, s, undecidedSpending("r-one", 0, usd(10)), loses("r-one", 1, 1))
	expectTaken(30)
	expectRoom(t, s, "r-two", 0, 70, eval.ShortOfScheduleMoney)
	mark(t, s, g, hold(0, usd(25)))
	expectTaken(55)
	expectRoom(t, s, "r-two", 0, 45, eval.ShortOfScheduleMoney)
	expectMarked(t, s, "r-two", store.Marked{Short: eval.ShortOfScheduleMoney, Final: true}, hold(0, usd(71)))
	commit(t, s, spends("r-one", 1, 1, usd(5))) // late
	expectTaken(40)

	// Another schedule has money of its own, and a run without a cap pays into its
	// schedule's all the same.
	free, blobs := newRun("r-free", 1)
	free.Schedule = nightly
	must(t, s.CreateRun(ctx, free, blobs))
	mark(t, s, "r-free", hold(0, usd(30)))
	expectTaken(70)
	expectRoom(t, s, "r-two", 0, 30, eval.ShortOfScheduleMoney)

	// What was spent stays spent when its runs are deleted, and the schedule with
	// them.
	for _, id := range []string{g, "r-one", "r-free"} {
		must(t, s.Finish(ctx, eval.Run{ID: id, Finished: when}, blob.Pack(nil)))
	}
	expectTaken(70)
	for range 2 {
		_, err := s.Collect(ctx, when.Add(time.Minute), false)
		must(t, err)
		_, err = s.Run(ctx, "r-one")
		notFound(t, "a collected run", err)
		expectTaken(70)
		expectRoom(t, s, "r-two", 0, 30, eval.ShortOfScheduleMoney)
	}
	must(t, s.DeleteSchedule(ctx, nightly))
	expectRoom(t, s, "r-two", 0, 30, eval.ShortOfScheduleMoney)
	put(t, s, nightly)
	expectTaken(70)
}

// What a grading has taken counts once for its schedule, also where its row names the
// schedule as its run's does: held, charged, spent, and when it is collected.
func testScheduleGrading(t *testing.T, s store.Store) {
	ctx := t.Context()
	for _, name := range []string{"named by the run", "named by the grading too"} {
		t.Run(name, func(t *testing.T) {
			put(t, s, name)
			r, blobs := newRun(name+" a", 3)
			r.Schedule, r.ScheduleMicroUSD, r.Grading = name, 100, name+" a.g1"
			g := r
			g.ID, g.Parent, g.Grading = r.Grading, r.ID, ""
			if name == "named by the run" {
				g.Schedule, g.ScheduleMicroUSD = "", 0
			}
			must(t, s.CreateRun(ctx, r, blobs, g))
			other, blobs := newRun(name+" b", 3)
			other.Schedule, other.ScheduleMicroUSD = name, 100
			must(t, s.CreateRun(ctx, other, blobs))
			expectTaken := func(want int64) {
				t.Helper()
				got, err := s.Schedule(ctx, name)
				must(t, err)
				equal(t, "taken", got.TakenMicroUSD, want)
			}

			mark(t, s, r.ID, hold(1, eval.Amount{}))
			unpaid := undecided(r.ID, 1, 1)
			unpaid.CostMicroUSD = 0
			commit(t, s, unpaid)
			mark(t, s, g.ID, hold(1, usd(21)))
			expectTaken(21)
			_, err := s.Release(ctx, g.ID)
			must(t, err)
			expectTaken(21)
			mark(t, s, other.ID, hold(2, usd(21)), hold(1, usd(21)))
			second := store.Mark{Ordinal: 1, Attempt: 2, Hold: usd(18), Cursor: 2}
			mark(t, s, g.ID, second) // with 21 and 42 it is less than 100
			expectTaken(81)
			expectRoom(t, s, other.ID, 0, 19, eval.ShortOfScheduleMoney)
			commit(t, s, judgement(g.ID, 1, 1, true), judgement(g.ID, 1, 2, true)) // 7 each
			expectTaken(56)
			expectRoom(t, s, other.ID, 0, 44, eval.ShortOfScheduleMoney)

			for _, id := range []string{g.ID, r.ID} {
				must(t, s.Finish(ctx, eval.Run{ID: id, Finished: when}, blob.Pack(nil)))
			}
			_, err = s.Collect(ctx, when.Add(time.Minute), false)
			must(t, err)
			_, err = s.Run(ctx, g.ID)
			notFound(t, "a collected grading", err)
			expectTaken(56)
			expectRoom(t, s, other.ID, 0, 44, eval.ShortOfScheduleMoney)
		})
	}
}

// newScheduled stores a run of the schedule nightly with a grading, and returns the
// grading's id.
func newScheduled(t tb, s store.Store, id string, trials int) string {
	t.Helper()
	r, blobs := newRun(id, trials)
	r.Schedule, r.ScheduleMicroUSD, r.Grading = nightly, 100, id+".g1"
	g := r
	g.ID, g.Parent, g.Grading = r.Grading, r.ID, ""
	g.Schedule, g.ScheduleMicroUSD = "", 0
	must(t, s.CreateRun(t.Context(), r, blobs, g))
	return g.ID
}

// undecidedSpending is the record of a first attempt that waits for a judge.
func undecidedSpending(run string, ordinal int, a eval.Amount) eval.Record {
	r := undecided(run, ordinal, 1)
	r.CostMicroUSD, r.Tokens = a.MicroUSD, a.Tokens
	return r
}

// Collect forgets firings of long ago, but not those that still wait.
func testCollectFirings(t *testing.T, s store.Store) {
	put(t, s, nightly)
	queued, old, young := firing(when, eval.FiringQueued), firing(when.Add(time.Hour), eval.FiringMissed), firing(when.Add(2*time.Hour), eval.FiringFailed)
	for _, f := range []eval.Firing{queued, old, young} {
		expectFired(t, s, true, f, f.Due.Add(time.Hour), nil)
	}
	_, err := s.Collect(t.Context(), young.At, true)
	must(t, err)
	expectFirings(t, s, young, old, queued)
	_, err = s.Collect(t.Context(), young.At, false)
	must(t, err)
	expectFirings(t, s, young, queued)
}
