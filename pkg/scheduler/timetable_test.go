package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A night is a store with one schedule, and timetables that look at it by a clock
// that the test moves.
type night struct {
	t     *testing.T
	path  string
	store store.Store

	mu   sync.Mutex // guards what follows
	now  time.Time
	runs []eval.Run // that were started
	// request makes what is run; nil makes a suite of one case.
	request func(eval.Schedule) (scheduler.Request, error)
	// ends ends each run at once.
	ends bool
}

// newNight stores the schedule nightly, which is due for the first time after a
// moment.
func newNight(t *testing.T, now string, s eval.Schedule) *night {
	t.Helper()
	n := &night{t: t, path: filepath.Join(t.TempDir(), "evalfarm.db"), ends: true}
	n.store = n.open()
	n.set(now)
	s.Name = "nightly"
	if s.Timezone == "" {
		s.Timezone = "UTC"
	}
	if err := scheduler.PutSchedule(t.Context(), n.store, s, n.time()); err != nil {
		t.Fatal(err)
	}
	return n
}

// open opens the store as another process would.
func (n *night) open() store.Store {
	n.t.Helper()
	s, err := sqlitestore.Open(n.t.Context(), n.path)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { s.Close() })
	return s
}

func (n *night) set(now string) {
	n.t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		n.t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = at
}

func (n *night) pass(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now = n.now.Add(d)
}

func (n *night) time() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// timetable is that of another process.
func (n *night) timetable() *scheduler.Timetable {
	n.t.Helper()
	s := n.open()
	return scheduler.NewTimetable(s, scheduler.TimetableOptions{
		Now: n.time,
		Request: func(_ context.Context, of eval.Schedule) (scheduler.Request, error) {
			if n.request != nil {
				return n.request(of)
			}
			return plainRequest(), nil
		},
		Started: func(ctx context.Context, r eval.Run) {
			n.mu.Lock()
			n.runs = append(n.runs, r)
			n.mu.Unlock()
			if n.ends {
				n.end(s, r)
			}
		},
	})
}

func plainRequest() scheduler.Request {
	return scheduler.Request{Suite: &suite.Loaded{
		Suite: eval.Suite{Name: "made", Cases: []eval.Case{{ID: "a", Kind: eval.KindScript}}, CaseRepeats: map[string]int{"a": 1}}, Hash: "hash",
	}}
}

func (n *night) end(s store.Store, r eval.Run) {
	n.t.Helper()
	if err := s.Finish(n.t.Context(), r, blob.Pack(nil)); err != nil {
		n.t.Error(err)
	}
}

func (n *night) look(of ...*scheduler.Timetable) {
	n.t.Helper()
	var wg sync.WaitGroup
	for _, t := range of {
		wg.Go(func() {
			if err := t.Look(n.t.Context()); err != nil {
				n.t.Error(err)
			}
		})
	}
	wg.Wait()
}

// history lists what became of firings, the oldest first: "when outcome".
func (n *night) history(layout string) []string {
	n.t.Helper()
	fs, err := n.store.Firings(n.t.Context(), store.FiringFilter{Schedule: "nightly"})
	if err != nil {
		n.t.Fatal(err)
	}
	var lines []string
	for _, f := range slices.Backward(fs) {
		lines = append(lines, f.Due.Format(layout)+" "+string(f.Outcome))
	}
	return lines
}

func (n *night) expect(layout string, want ...string) {
	n.t.Helper()
	if diff := cmp.Diff(want, n.history(layout)); diff != "" {
		n.t.Errorf("firings (-want +got):\n%s", diff)
	}
	started := 0
	for _, line := range want {
		if strings.HasSuffix(line, " started") {
			started++
		}
	}
	runs, err := n.store.ListRuns(n.t.Context(), store.RunFilter{})
	if err != nil {
		n.t.Fatal(err)
	}
	if len(runs) != started || len(n.runs) != started {
		n.t.Errorf("got %d runs, and %d were told of; want %d", len(runs), len(n.runs), started)
	}
}

const clock = "15:04:05"

// Two schedulers look at each moment; one after the other is killed, and another one
// comes. Every minute fires once.
func TestSchedulersFireOnce(t *testing.T) {
	n := newNight(t, "2026-03-01T12:00:30Z", eval.Schedule{Cron: "* * * * *", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpOnce})
	first, second, third := n.timetable(), n.timetable(), n.timetable()
	for range 5 * 6 {
		n.pass(10 * time.Second)
		switch at := n.time(); {
		case at.Minute() < 3:
			n.look(first, second)
		case at.Minute() > 3:
			n.look(third, second)
		case at.Second() >= 30: // the first was killed, and it took until now
			n.look(second)
		}
	}
	n.expect(clock, "12:01:00 started", "12:02:00 started", "12:03:00 started", "12:04:00 started", "12:05:00 started")
	ids := map[string]bool{}
	for _, r := range n.runs {
		ids[r.ID] = true
		if r.Schedule != "nightly" || !strings.HasPrefix(r.ID, "r-20260301-") {
			t.Errorf("got run %s of the schedule %q", r.ID, r.Schedule)
		}
	}
	if len(ids) != 5 {
		t.Errorf("got %d ids of runs, want 5", len(ids))
	}
}

// What is due on the days on which the clocks change is due once.
func TestNightsOfTheChangeOfClocks(t *testing.T) {
	for from, want := range map[string][]string{
		"2026-03-28T12:00:00Z": {"2026-03-29T01:00:00Z started", "2026-03-30T00:30:00Z started"},
		"2026-10-24T12:00:00Z": {"2026-10-25T00:30:00Z started", "2026-10-26T01:30:00Z started"},
	} {
		t.Run(from[:10], func(t *testing.T) {
			n := newNight(t, from, eval.Schedule{Cron: "30 2 * * *", Timezone: "Europe/Berlin", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpSkip})
			one, other := n.timetable(), n.timetable()
			for range 2 * 24 * 6 {
				n.pass(10 * time.Minute)
				n.look(one, other)
			}
			n.expect(time.RFC3339, want...)
		})
	}
}

// Nobody was there from 00:30 to 05:20; what is due hourly was missed five times.
func TestMissedFirings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		s     eval.Schedule
		until string
		want  []string
	}{
		{"skip", eval.Schedule{CatchUp: eval.CatchUpSkip}, "05:20", []string{"01:00:00 missed"}},
		{"skip, but for the one that is due", eval.Schedule{CatchUp: eval.CatchUpSkip}, "05:01", []string{"01:00:00 missed", "05:00:00 started"}},
		{"once", eval.Schedule{CatchUp: eval.CatchUpOnce}, "05:20", []string{"01:00:00 missed", "05:00:00 started"}},
		{"once, of one", eval.Schedule{CatchUp: eval.CatchUpOnce}, "01:20", []string{"01:00:00 started"}},
		{"once, which is the one that is due", eval.Schedule{CatchUp: eval.CatchUpOnce}, "05:01", []string{"01:00:00 missed", "05:00:00 started"}},
		{"all of the latest three", eval.Schedule{CatchUp: eval.CatchUpAll, CatchUpLimit: 3, Overlap: eval.OverlapQueue}, "05:20", []string{"01:00:00 missed", "03:00:00 started", "04:00:00 started", "05:00:00 started"}},
		{"all of two", eval.Schedule{CatchUp: eval.CatchUpAll, CatchUpLimit: 3, Overlap: eval.OverlapQueue}, "02:20", []string{"01:00:00 started", "02:00:00 started"}},
		{"paused", eval.Schedule{CatchUp: eval.CatchUpAll, CatchUpLimit: 3, Overlap: eval.OverlapQueue, Paused: true}, "05:00", []string{"01:00:00 paused"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.Cron = "0 * * * *"
			n := newNight(t, "2026-03-01T00:30:00Z", tt.s)
			one, other := n.timetable(), n.timetable()
			n.set("2026-03-01T" + tt.until + ":00Z")
			for range 6 {
				n.look(one, other)
			}
			n.expect(clock, tt.want...)
			s, err := n.store.Schedule(t.Context(), "nightly")
			if err != nil {
				t.Fatal(err)
			}
			if want := n.time().Truncate(time.Hour).Add(time.Hour); !s.Due.Equal(want) {
				t.Errorf("it is due at %s, want %s", s.Due, want)
			}
		})
	}
}

func TestMissedMinutesAreOneEntry(t *testing.T) {
	n := newNight(t, "2025-03-01T00:00:00Z", eval.Schedule{Cron: "* * * * *", CatchUp: eval.CatchUpSkip})
	n.set("2026-03-01T00:00:00Z")
	n.look(n.timetable())
	fs, err := n.store.Firings(t.Context(), store.FiringFilter{Schedule: "nightly", Outcome: eval.FiringMissed})
	if err != nil || len(fs) != 1 {
		t.Fatalf("got %d firings, %v; want one", len(fs), err)
	}
	want := "no scheduler was there in time; the same of 525597 more, up to that of 2026-02-28T23:58:00Z"
	if fs[0].Message != want {
		t.Errorf("got %q, want %q", fs[0].Message, want)
	}
}

// The run of 01:00 goes on until it is 03:30.
func TestOverlap(t *testing.T) {
	for _, tt := range []struct {
		overlap   eval.Overlap
		meanwhile []string
		after     []string
	}{
		{eval.OverlapSkip, []string{"01:00:00 started", "02:00:00 overlap", "03:00:00 overlap"}, []string{"04:00:00 started"}},
		{eval.OverlapQueue, []string{"01:00:00 started", "02:00:00 queued", "03:00:00 queued"}, []string{"01:00:00 started", "02:00:00 started", "03:00:00 queued", "04:00:00 queued"}},
		{eval.OverlapCancel, []string{"01:00:00 started", "02:00:00 started", "03:00:00 started"}, []string{"04:00:00 started"}},
	} {
		t.Run(string(tt.overlap), func(t *testing.T) {
			n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 * * * *", Overlap: tt.overlap, CatchUp: eval.CatchUpSkip})
			n.ends = false
			one, other := n.timetable(), n.timetable()
			for range 3 {
				n.pass(30 * time.Minute)
				n.look(one, other)
				n.pass(30 * time.Minute)
				n.look(one, other)
			}
			n.expect(clock, tt.meanwhile...)
			for i, r := range n.runs {
				got, err := n.store.Run(t.Context(), r.ID)
				if err != nil {
					t.Fatal(err)
				}
				want := eval.ControlRun
				if tt.overlap == eval.OverlapCancel && i < len(n.runs)-1 {
					want = eval.ControlCancel
				}
				if got.Control != want {
					t.Errorf("run %d is asked to %s, want %s", i, got.Control, want)
				}
				n.end(n.store, got)
			}
			n.look(one, other) // 03:30
			n.pass(30 * time.Minute)
			n.look(one, other)
			if got := n.history(clock); !slices.Equal(got[max(0, len(got)-len(tt.after)):], tt.after) {
				t.Errorf("got %q, want %q at its end", got, tt.after)
			}
		})
	}
}

// A queue of a schedule whose runs never end does not grow for ever.
func TestQueueIsBounded(t *testing.T) {
	n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 * * * *", Overlap: eval.OverlapQueue, CatchUp: eval.CatchUpSkip})
	n.ends = false
	timetable := n.timetable()
	for range 14 {
		n.pass(30 * time.Minute)
		n.look(timetable)
		n.pass(30 * time.Minute)
		n.look(timetable)
	}
	counts := map[string]int{}
	for _, line := range n.history(clock) {
		_, outcome, _ := strings.Cut(line, " ")
		counts[outcome]++
	}
	if diff := cmp.Diff(map[string]int{"started": 1, "queued": 10, "overlap": 3}, counts); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

// What keeps a run from being started is told in the history, and the next one is
// tried.
func TestRunThatCannotBeStarted(t *testing.T) {
	n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 * * * *", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpSkip})
	timetable := n.timetable()
	requests := []func() (scheduler.Request, error){
		func() (scheduler.Request, error) {
			return scheduler.Request{}, errors.New("suite.yaml:3:1: unknown \x00key\xff " + strings.Repeat("ö", 4000))
		},
		func() (scheduler.Request, error) {
			r := plainRequest()
			r.Selection.Cases = []string{"none"}
			return r, nil
		},
		func() (scheduler.Request, error) {
			r := scheduler.Request{Suite: loaded(eval.Case{ID: "a", Kind: eval.KindAgent, Model: "paid"})}
			r.DayMicroUSD = 1
			return r, nil
		},
		func() (scheduler.Request, error) { return plainRequest(), nil },
	}
	n.request = func(eval.Schedule) (scheduler.Request, error) {
		return requests[n.time().Hour()-1]()
	}
	for range requests {
		n.pass(30 * time.Minute)
		n.look(timetable)
		n.pass(30 * time.Minute)
	}
	n.expect(clock, "01:00:00 failed", "02:00:00 failed", "03:00:00 failed", "04:00:00 started")
	fs, err := n.store.Firings(t.Context(), store.FiringFilter{Schedule: "nightly", Outcome: eval.FiringFailed})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"budgets and limits cannot be kept", "there is nothing to run", "suite.yaml:3:1: unknown key ö"} {
		if got := fs[i].Message; !strings.HasPrefix(got, want) || len(got) > 4100 {
			t.Errorf("got %.100q in %d bytes, want %q", got, len(got), want)
		}
	}
}

func TestFinishBy(t *testing.T) {
	n := newNight(t, "2026-03-01T21:00:00Z", eval.Schedule{Cron: "0 22 * * *", FinishBy: "06:00", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpOnce})
	timetable := n.timetable()
	n.set("2026-03-02T05:00:00Z")
	n.look(timetable)
	n.set("2026-03-03T06:00:00Z")
	n.look(timetable)
	n.set("2026-03-03T22:00:00Z")
	n.request = func(eval.Schedule) (scheduler.Request, error) {
		r := plainRequest()
		r.Budget.Time = time.Hour
		return r, nil
	}
	n.look(timetable)
	n.expect(time.RFC3339, "2026-03-01T22:00:00Z started", "2026-03-02T22:00:00Z late", "2026-03-03T22:00:00Z started")
	for i, want := range []time.Duration{time.Hour, time.Hour} { // until six; its own, which is shorter
		if got := n.runs[i].Budget.Time; got != want {
			t.Errorf("run %d begins nothing more after %s, want %s", i, got, want)
		}
	}
}

func TestJitterDelaysAFiring(t *testing.T) {
	n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 * * * *", Jitter: 50 * time.Minute, Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpSkip})
	timetable := n.timetable()
	for range 30 * 60 {
		n.pass(time.Minute)
		n.look(timetable)
	}
	fs, err := n.store.Firings(t.Context(), store.FiringFilter{Schedule: "nightly"})
	if err != nil {
		t.Fatal(err)
	}
	delays := map[time.Duration]bool{}
	for _, f := range fs {
		delay := f.At.Sub(f.Due)
		delays[delay] = true
		if f.Outcome != eval.FiringStarted || delay < 0 || delay > 51*time.Minute {
			t.Errorf("the firing of %s is %s after %s", f.Due, f.Outcome, delay)
		}
	}
	if len(fs) < 29 || len(delays) < 10 {
		t.Errorf("got %d firings with %d delays", len(fs), len(delays))
	}
}

func TestFireByHand(t *testing.T) {
	n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 1 * * *", FinishBy: "00:40", BudgetMicroUSD: 500, Tenant: "ci", Priority: 3, Notifications: []string{"on-call"}, Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpSkip, Paused: true})
	s, err := n.store.Schedule(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("it does not load")
	answer := broken
	request := func(context.Context, eval.Schedule) (scheduler.Request, error) { return plainRequest(), answer }
	if _, err := scheduler.FireByHand(t.Context(), n.store, s, n.time(), request); !errors.Is(err, broken) {
		t.Errorf("got %v, want what keeps it from being started", err)
	}
	answer = nil
	run, err := scheduler.FireByHand(t.Context(), n.store, s, n.time(), request)
	if err != nil {
		t.Fatal(err)
	}
	if run.ScheduleMicroUSD != 500 || run.Schedule != "nightly" {
		t.Errorf("got %+v, want the schedule and its cap", run)
	}
	if run.Tenant != "ci" || run.Priority != 3 || !slices.Equal(run.Notify, []string{"on-call"}) {
		t.Errorf("got %+v, want the tenant, the priority and whom to tell", run)
	}
	n.runs = append(n.runs, run)
	n.expect(clock, "00:30:00 started")
	if after, err := n.store.Schedule(t.Context(), "nightly"); err != nil || !after.Due.Equal(s.Due) {
		t.Errorf("it is due at %s, %v; want %s as before", after.Due, err, s.Due)
	}
	if err := n.store.DeleteSchedule(t.Context(), "nightly"); err != nil {
		t.Fatal(err)
	}
	if _, err := scheduler.FireByHand(t.Context(), n.store, s, n.time().Add(1), request); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v for a schedule that is gone", err)
	}
}

func TestReconcile(t *testing.T) {
	n := newNight(t, "2026-03-01T00:30:00Z", eval.Schedule{Cron: "0 1 * * *", File: "farm.yaml"})
	ctx := t.Context()
	if err := scheduler.PutSchedule(ctx, n.store, eval.Schedule{Name: "by-command", Cron: "0 1 * * *", Timezone: "UTC"}, n.time()); err != nil {
		t.Fatal(err)
	}
	names := func() string {
		t.Helper()
		all, err := n.store.Schedules(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range all {
			out = append(out, fmt.Sprintf("%s %s %t", s.Name, s.Due.Format("15:04"), s.Rests()))
		}
		return strings.Join(out, ", ")
	}
	if err := n.store.PauseSchedule(ctx, "nightly"); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		of   []eval.Schedule
		want string
	}{
		{[]eval.Schedule{
			{Name: "nightly", Cron: "0 1 * * *", Timezone: "UTC"},
			{Name: "new", Cron: "0 3 * * *", Timezone: "UTC"},
		}, "by-command 01:00 false, new 03:00 false, nightly 01:00 true"},
		{[]eval.Schedule{{Name: "new", Cron: "0 4 * * *", Timezone: "UTC", Paused: true}}, "by-command 01:00 false, new 04:00 true"},
		{nil, "by-command 01:00 false"},
	} {
		for range 2 {
			if err := scheduler.Reconcile(ctx, n.store, "farm.yaml", step.of, n.time()); err != nil {
				t.Fatal(err)
			}
			if got := names(); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		}
	}
	if err := scheduler.Reconcile(ctx, n.store, "farm.yaml", []eval.Schedule{{Name: "bad", Cron: "0 0 31 2 *", Timezone: "UTC"}}, n.time()); err == nil {
		t.Error("got no error for a schedule that is never due")
	}
}

// What a run of a schedule may spend has to be known, and a trial may not be dearer
// than all that the schedule ever has.
func TestBudgetOfAScheduleThatCannotBeKept(t *testing.T) {
	b := setup(t, scheduler.Options{})
	for want, c := range map[string]eval.Case{
		"":                             agentCase("a", "paid", dollars(500)),
		"schedule's whole budget of $": agentCase("a", "paid", dollars(501)),
		"nothing bounds":               agentCase("a", "paid", eval.Limits{}),
		"the price list has no model":  agentCase("a", "unknown", dollars(10)),
	} {
		_, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: loaded(c), Schedule: "nightly", ScheduleMicroUSD: 500})
		switch refused, ok := errors.AsType[*scheduler.BudgetError](err); {
		case want == "" && err != nil, want != "" && (!ok || !strings.Contains(refused.Error(), want)):
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
