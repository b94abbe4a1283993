package storetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func usd(n int64) eval.Amount { return eval.Amount{MicroUSD: n} }

// createCapped stores a run of so many trials with caps.
func createCapped(t tb, s store.Store, id string, trials int, b eval.Budget, day int64) eval.Run {
	t.Helper()
	r, blobs := newRun(id, trials)
	r.Budget, r.DayMicroUSD = b, day
	must(t, s.CreateRun(t.Context(), r, blobs))
	return r
}

// hold is a mark of a trial's first attempt.
func hold(ordinal int, a eval.Amount) store.Mark {
	return store.Mark{Ordinal: ordinal, Attempt: 1, Hold: a, Cursor: ordinal + 1}
}

// spends is the record of an attempt that passed and took an amount.
func spends(run string, ordinal, n int, a eval.Amount) eval.Record {
	r := record(run, ordinal, n, eval.Pass)
	r.CostMicroUSD, r.Tokens = a.MicroUSD, a.Tokens
	return r
}

// loses is what a scheduler hands in when a claim expires.
func loses(run string, ordinal, n int) eval.Record {
	r := record(run, ordinal, n, eval.Error)
	r.UID, r.Worker, r.Outcome, r.CostMicroUSD = "lost "+r.UID, "", eval.AttemptLost, 0
	return r
}

func expectLedger(t tb, s store.Store, run string, want eval.Ledger) {
	t.Helper()
	got, err := s.Ledger(t.Context(), run)
	must(t, err)
	equal(t, "ledger", got, want)
}

// expectMarked dispatches marks and compares how far that came.
func expectMarked(t tb, s store.Store, run string, want store.Marked, marks ...store.Mark) {
	t.Helper()
	got, err := s.Dispatch(t.Context(), run, marks)
	must(t, err)
	got.Moot = nil
	equal(t, "dispatched", got, want)
}

// expectRoom says how much money a further hold of a run may be: exactly so much.
// The trial is one that can be marked and taken back.
func expectRoom(t tb, s store.Store, run string, ordinal int, room int64, short eval.Shortage) {
	t.Helper()
	got, err := s.Dispatch(t.Context(), run, []store.Mark{hold(ordinal, usd(room+1))})
	must(t, err)
	if got.Marks != 0 || got.Short != short {
		t.Errorf("got %+v for a hold of %d, want it short of %s", got, room+1, short)
	}
	mark(t, s, run, hold(ordinal, usd(room)))
	must(t, s.TakeBack(t.Context(), run, []store.Mark{hold(ordinal, usd(room))}))
}

func testBudget(t *testing.T, s store.Store) {
	first := eval.Budget{MicroUSD: 100, Tokens: 2000, Time: time.Hour}
	createCapped(t, s, run1, 3, first, 500)
	mark(t, s, run1, hold(0, usd(100)))
	expectMarked(t, s, run1, store.Marked{Short: eval.ShortOfMoney}, hold(1, usd(1)))
	second := eval.Budget{MicroUSD: 101}
	must(t, s.SetBudget(t.Context(), run1, second))
	r, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "budget", r.Budget, second)
	equal(t, "cap of the day", r.DayMicroUSD, 500)
	mark(t, s, run1, hold(1, eval.Amount{MicroUSD: 1, Tokens: 1 << 50}))

	// Less than what is taken already: it stays taken, and nothing fits.
	must(t, s.SetBudget(t.Context(), run1, eval.Budget{MicroUSD: 50}))
	expectMarked(t, s, run1, store.Marked{Short: eval.ShortOfMoney}, hold(2, usd(1)))
	expectLedger(t, s, run1, eval.Ledger{Held: eval.Amount{MicroUSD: 101, Tokens: 1 << 50}})

	for _, b := range []eval.Budget{{MicroUSD: -1}, {Tokens: -1}, {Time: -1}} {
		if err := s.SetBudget(t.Context(), run1, b); err == nil {
			t.Errorf("got no error for the budget %+v", b)
		}
		bad, blobs := newRun("r-bad", 1)
		bad.Budget = b
		if err := s.CreateRun(t.Context(), bad, blobs); err == nil {
			t.Errorf("got no error for a run with the budget %+v", b)
		}
	}
	createGraded(t, s, 1)
	notFound(t, "the budget of a grading", s.SetBudget(t.Context(), grading1, eval.Budget{}))
}

// testCaps: marks are written up to the first whose hold does not fit.
func testCaps(t *testing.T, s store.Store) {
	for name, tc := range map[string]struct {
		budget eval.Budget
		day    int64
		marks  []eval.Amount // held, after 10 and 20 tokens were spent and 30 and 40 are held
		want   store.Marked
	}{
		"no cap":               {marks: []eval.Amount{usd(1 << 60), {Tokens: 1 << 60}}, want: store.Marked{Marks: 2}},
		"just fits":            {budget: eval.Budget{MicroUSD: 100, Tokens: 160}, marks: []eval.Amount{{MicroUSD: 20, Tokens: 100}, usd(40)}, want: store.Marked{Marks: 2}},
		"money":                {budget: eval.Budget{MicroUSD: 100}, marks: []eval.Amount{usd(20), usd(41), usd(1)}, want: store.Marked{Marks: 1, Short: eval.ShortOfMoney}},
		"money, all of it":     {budget: eval.Budget{MicroUSD: 100}, marks: []eval.Amount{usd(90)}, want: store.Marked{Short: eval.ShortOfMoney}},
		"money for good":       {budget: eval.Budget{MicroUSD: 100}, marks: []eval.Amount{usd(91)}, want: store.Marked{Short: eval.ShortOfMoney, Final: true}},
		"tokens":               {budget: eval.Budget{Tokens: 100}, marks: []eval.Amount{{MicroUSD: 1 << 60, Tokens: 41}}, want: store.Marked{Short: eval.ShortOfTokens}},
		"tokens for good":      {budget: eval.Budget{Tokens: 100}, marks: []eval.Amount{{Tokens: 81}}, want: store.Marked{Short: eval.ShortOfTokens, Final: true}},
		"money of the day":     {day: 100, marks: []eval.Amount{usd(60), usd(1)}, want: store.Marked{Marks: 1, Short: eval.ShortOfDayMoney}},
		"the day for good":     {day: 100, marks: []eval.Amount{usd(91)}, want: store.Marked{Short: eval.ShortOfDayMoney, Final: true}},
		"the one that is":      {budget: eval.Budget{MicroUSD: 100, Tokens: 100}, marks: []eval.Amount{{MicroUSD: 61, Tokens: 81}}, want: store.Marked{Short: eval.ShortOfTokens, Final: true}},
		"nothing always fits":  {budget: eval.Budget{MicroUSD: 1, Tokens: 1}, day: 1, marks: []eval.Amount{{}, {}}, want: store.Marked{Marks: 2}},
		"nothing of the money": {budget: eval.Budget{MicroUSD: 1}, day: 1, marks: []eval.Amount{{Tokens: 5}}, want: store.Marked{Marks: 1}},
		"beyond all numbers":   {budget: eval.Budget{MicroUSD: 100}, marks: []eval.Amount{usd(1<<63 - 1)}, want: store.Marked{Short: eval.ShortOfMoney, Final: true}},
	} {
		t.Run(name, func(t *testing.T) {
			run := "r-" + name
			createCapped(t, s, run, 5, eval.Budget{}, 0)
			mark(t, s, run, hold(0, usd(10)), hold(1, eval.Amount{MicroUSD: 30, Tokens: 40}))
			commit(t, s, spends(run, 0, 1, eval.Amount{MicroUSD: 10, Tokens: 20}))
			must(t, s.SetBudget(t.Context(), run, tc.budget))
			of := run
			if tc.day > 0 { // another run, of a day that the others left nothing of
				of = run + "-other"
				createCapped(t, s, of, 5, tc.budget, tc.day+used(t, s)-40)
			}
			var marks []store.Mark
			for i, a := range tc.marks {
				marks = append(marks, hold(2+i, a))
			}
			expectMarked(t, s, of, tc.want, marks...)
			r, err := s.Run(t.Context(), of)
			must(t, err)
			cursor := 0
			if of == run {
				cursor = 2
			}
			if tc.want.Marks > 0 {
				cursor = 2 + tc.want.Marks
			}
			equal(t, "cursor", r.Cursor, cursor)
			for _, tr := range outstanding(t, s, of) {
				if tr.Ordinal >= 2+tc.want.Marks {
					t.Errorf("got trial %d dispatched, which was refused", tr.Ordinal)
				}
			}
			must(t, s.Finish(t.Context(), eval.Run{ID: of}, blob.Pack(nil)))
			must(t, s.Finish(t.Context(), eval.Run{ID: run}, blob.Pack(nil)))
		})
	}
}

// used is what all runs of a store have taken, on one day.
func used(t tb, s store.Store) (sum int64) {
	t.Helper()
	rs, err := s.ListRuns(t.Context(), store.RunFilter{})
	must(t, err)
	for _, r := range rs {
		l, err := s.Ledger(t.Context(), r.ID)
		must(t, err)
		sum += l.Total().MicroUSD
	}
	return sum
}

// A scheduler that is killed repeats its marks; one that was overtaken knows no
// better.
func testMarksAgain(t *testing.T, s store.Store) {
	createCapped(t, s, run1, 4, eval.Budget{MicroUSD: 100}, 0)
	marks := []store.Mark{hold(0, usd(60)), hold(1, usd(40))}
	for range 2 { // the second time there is room for nothing
		mark(t, s, run1, marks...)
		expectLedger(t, s, run1, eval.Ledger{Held: usd(100)})
	}
	expectMarked(t, s, run1, store.Marked{Marks: 2, Short: eval.ShortOfMoney}, append(marks, hold(2, usd(1)))...)
	mark(t, s, run1, hold(0, usd(99))) // it keeps the hold that it has
	expectLedger(t, s, run1, eval.Ledger{Held: usd(100)})

	commit(t, s, spends(run1, 0, 1, usd(60)))
	must(t, s.Next(t.Context(), run1, 1, 1, when))
	mark(t, s, run1, marks...)
	expectLedger(t, s, run1, eval.Ledger{Spent: usd(60), Charged: usd(40)})
	expectMarked(t, s, run1, store.Marked{Short: eval.ShortOfMoney, Final: true}, store.Mark{Ordinal: 1, Attempt: 2, Hold: usd(1)})
}

// testHolds: what becomes of a hold of 40 and of 400 tokens.
func testHolds(t *testing.T, s store.Store) {
	held := eval.Amount{MicroUSD: 40, Tokens: 400}
	took := eval.Amount{MicroUSD: 25, Tokens: 90}
	other := func(r eval.Record) eval.Record { r.UID += " other"; return r }
	as := func(r eval.Record, o eval.AttemptOutcome) eval.Record {
		r.Outcome, r.Result.Verdict = o, eval.Error
		return r
	}
	type step = func(t *testing.T, run string)
	commits := func(of ...func(run string) eval.Record) step {
		return func(t *testing.T, run string) {
			for _, r := range of {
				commit(t, s, r(run))
			}
		}
	}
	told := func(run string) eval.Record { return spends(run, 0, 1, took) }
	lost := func(run string) eval.Record { return loses(run, 0, 1) }
	steps := func(ss ...step) step {
		return func(t *testing.T, run string) {
			for _, s := range ss {
				s(t, run)
			}
		}
	}
	next := func(t *testing.T, run string) { must(t, s.Next(t.Context(), run, 0, 1, when)) }
	release := func(t *testing.T, run string) {
		_, err := s.Release(t.Context(), run)
		must(t, err)
	}
	finish := func(t *testing.T, run string) { must(t, s.Finish(t.Context(), eval.Run{ID: run}, blob.Pack(nil))) }
	retry := func(t *testing.T, run string) {
		_, err := s.Retry(t.Context(), run, []eval.Verdict{eval.Error})
		must(t, err)
	}
	again := func(t *testing.T, run string) { mark(t, s, run, hold(0, held)) }

	charged, spent := eval.Ledger{Charged: held}, eval.Ledger{Spent: took}
	uncounted := eval.Ledger{Spent: took, Uncounted: took}
	for name, tc := range map[string]struct {
		step step
		want eval.Ledger
	}{
		"nothing":                       {steps(), eval.Ledger{Held: held}},
		"a record":                      {commits(told), spent},
		"a record twice":                {commits(told, told), spent},
		"a record with another uid":     {commits(told, func(run string) eval.Record { return other(told(run)) }), eval.Ledger{Spent: took.Add(took), Uncounted: took}},
		"a record above the hold":       {commits(func(run string) eval.Record { return spends(run, 0, 1, eval.Amount{MicroUSD: 41, Tokens: 401}) }), eval.Ledger{Spent: eval.Amount{MicroUSD: 41, Tokens: 401}}},
		"a failure":                     {commits(func(run string) eval.Record { return as(told(run), eval.AttemptFailed) }), uncounted},
		"a record of another attempt":   {commits(func(run string) eval.Record { return spends(run, 0, 2, took) }), eval.Ledger{Spent: took, Uncounted: took, Held: held}},
		"no word of its cost":           {commits(func(run string) eval.Record { return spends(run, 0, 1, usd(-1)) }), charged},
		"no word of its tokens":         {commits(func(run string) eval.Record { return spends(run, 0, 1, eval.Amount{MicroUSD: 25, Tokens: -1}) }), eval.Ledger{Spent: usd(25), Uncounted: usd(25), Charged: held}},
		"a loss":                        {commits(lost), charged},
		"a loss twice":                  {commits(lost, lost, func(run string) eval.Record { return other(lost(run)) }), charged},
		"a loss of another attempt":     {commits(func(run string) eval.Record { return loses(run, 0, 2) }), eval.Ledger{Held: held}},
		"a late record":                 {commits(lost, told), spent},
		"a late record twice":           {commits(lost, told, told), spent},
		"a late failure":                {commits(lost, func(run string) eval.Record { return as(told(run), eval.AttemptFailed) }), uncounted},
		"a loss after the record":       {commits(func(run string) eval.Record { return as(told(run), eval.AttemptFailed) }, lost), uncounted},
		"the next attempt":              {steps(next), charged},
		"the next attempt twice":        {steps(next, next), charged},
		"a record before the next":      {steps(commits(func(run string) eval.Record { return as(told(run), eval.AttemptFailed) }), next), uncounted},
		"a loss before the next":        {steps(commits(lost), next), charged},
		"a record after the next":       {steps(next, commits(told)), uncounted},
		"a loss after the next":         {steps(next, commits(lost)), charged},
		"old marks after the next":      {steps(next, again), charged},
		"a release":                     {steps(release), charged},
		"a record before the release":   {steps(commits(told), release), spent},
		"a record after the release":    {steps(release, commits(told)), uncounted},
		"the end":                       {steps(finish), charged},
		"the end twice":                 {steps(finish, finish), charged},
		"a record after the end":        {steps(finish, commits(told)), spent},
		"a loss after the end":          {steps(finish, commits(lost)), charged},
		"the end and a retry":           {steps(finish, retry), charged},
		"the end, a retry and a record": {steps(finish, retry, commits(told)), uncounted},
		"a retry while it runs":         {steps(retry), eval.Ledger{Held: held}},
		"a retry of the record":         {steps(commits(func(run string) eval.Record { return as(told(run), eval.AttemptDone) }), retry), uncounted},
		"a record that came before": {steps(commits(func(run string) eval.Record { return spends(run, 1, 1, took) }), func(t *testing.T, run string) {
			mark(t, s, run, hold(1, held))
			must(t, s.Next(t.Context(), run, 1, 1, when))
		}), eval.Ledger{Spent: took, Uncounted: took, Held: held}},
	} {
		t.Run(name, func(t *testing.T) {
			run := "r-" + name
			createCapped(t, s, run, 2, eval.Budget{}, 0)
			mark(t, s, run, hold(0, held))
			tc.step(t, run)
			expectLedger(t, s, run, tc.want)
			var open eval.Amount
			for _, tr := range outstanding(t, s, run) {
				open = open.Add(tr.Hold)
			}
			equal(t, "held by trials", open, tc.want.Held)
		})
	}
}

// An attempt that was given back after it had spent something: another one
// follows, and neither a failure nor a loss is counted.
func testReturned(t *testing.T, s store.Store) {
	createCapped(t, s, run1, 2, eval.Budget{MicroUSD: 100}, 0)
	mark(t, s, run1, hold(0, usd(40)), hold(1, usd(40)))
	var rs []eval.Record
	for i, v := range []eval.Verdict{eval.Unfinished, eval.Error} {
		r := spends(run1, i, 1, usd(15))
		r.Outcome, r.Result.Verdict = eval.AttemptReturned, v
		rs = append(rs, r)
	}
	for range 2 {
		equal(t, "final", commit(t, s, rs...), []bool{false, false})
	}
	equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{
		{Run: run1, Ordinal: 0, Attempt: 1, State: store.Dispatched, Reported: true},
		{Run: run1, Ordinal: 1, Attempt: 1, State: store.Dispatched, Reported: true},
	})
	expectLedger(t, s, run1, eval.Ledger{Spent: usd(30), Uncounted: usd(30)})
	as, err := s.Attempts(t.Context(), run1, 0)
	must(t, err)
	equal(t, "outcome", as[0].Outcome, eval.AttemptReturned)
	must(t, s.Next(t.Context(), run1, 0, 1, when))
	equal(t, "waiting", outstanding(t, s, run1)[0], store.Trial{Run: run1, Ordinal: 0, Attempt: 2, State: store.Waiting, NotBefore: when})
	expectLedger(t, s, run1, eval.Ledger{Spent: usd(30), Uncounted: usd(30)})
}

func testTakeBack(t *testing.T, s store.Store) {
	createCapped(t, s, run1, 6, eval.Budget{MicroUSD: 100}, 0)
	mark(t, s, run1, hold(0, usd(10)), hold(1, usd(10)), hold(2, usd(10)), hold(3, usd(10)), hold(4, usd(10)))
	commit(t, s, spends(run1, 1, 1, usd(5)), loses(run1, 2, 1))
	must(t, s.Next(t.Context(), run1, 3, 1, when))
	marks := []store.Mark{hold(0, usd(99)), hold(1, eval.Amount{}), hold(2, eval.Amount{}), hold(3, eval.Amount{}), {Ordinal: 4, Attempt: 2}, hold(5, eval.Amount{})}
	for range 2 {
		must(t, s.TakeBack(t.Context(), run1, marks))
		equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{
			{Run: run1, Ordinal: 0, Attempt: 1, State: store.Waiting},
			{Run: run1, Ordinal: 2, Attempt: 1, State: store.Dispatched, Losses: 1, Reported: true},
			{Run: run1, Ordinal: 3, Attempt: 2, State: store.Waiting, NotBefore: when},
			{Run: run1, Ordinal: 4, Attempt: 1, State: store.Dispatched, Hold: usd(10)},
		})
		expectLedger(t, s, run1, eval.Ledger{Spent: usd(5), Charged: usd(20), Held: usd(10)})
	}
	expectRoom(t, s, run1, 0, 65, eval.ShortOfMoney)
	mark(t, s, run1, hold(0, usd(65)))
	equal(t, "final", commit(t, s, spends(run1, 0, 1, usd(65))), []bool{true})
}

// A run and its gradings have one budget and one ledger.
func testFamily(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 3)
	must(t, s.SetBudget(ctx, r.ID, eval.Budget{MicroUSD: 100, Tokens: 1000}))
	mark(t, s, r.ID, hold(0, usd(40)), hold(1, usd(40)))
	first := unjudged(0)
	first.CostMicroUSD, first.Tokens = 30, 100
	commit(t, s, first)
	mark(t, s, grading1, store.Mark{Attempt: 1, Hold: eval.Amount{MicroUSD: 20, Tokens: 200}})
	want := eval.Ledger{Spent: eval.Amount{MicroUSD: 30, Tokens: 100}, Held: eval.Amount{MicroUSD: 60, Tokens: 200}}
	expectLedger(t, s, r.ID, want)
	expectLedger(t, s, grading1, want)
	expectMarked(t, s, r.ID, store.Marked{Short: eval.ShortOfMoney}, hold(2, usd(11)))
	expectMarked(t, s, r.ID, store.Marked{Short: eval.ShortOfTokens}, hold(2, eval.Amount{Tokens: 701}))

	said := judgement(grading1, 0, 1, true)
	said.CostMicroUSD, said.Tokens = 15, 150
	commit(t, s, said)
	spent := eval.Amount{MicroUSD: 45, Tokens: 250}
	judges := eval.Amount{MicroUSD: 15, Tokens: 150}
	expectLedger(t, s, r.ID, eval.Ledger{Spent: spent, Judges: judges, Held: usd(40)})

	// A further grading shares it too, with the budget that the run has now.
	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	g.Budget = eval.Budget{MicroUSD: 1}
	_, err := s.CreateGrading(ctx, g, nil, true)
	must(t, err)
	expectMarked(t, s, grading2, store.Marked{Short: eval.ShortOfMoney}, hold(0, usd(16)))
	mark(t, s, grading2, hold(0, usd(15)))
	expectMarked(t, s, r.ID, store.Marked{Short: eval.ShortOfMoney}, hold(2, usd(1)))

	// The end of a grading charges its own trials and no others.
	must(t, s.Finish(ctx, g, blob.Pack(nil)))
	expectLedger(t, s, grading2, eval.Ledger{Spent: spent, Judges: judges, Charged: usd(15), Held: usd(40)})
	late := judgement(grading2, 0, 1, true)
	late.CostMicroUSD = 9
	commit(t, s, late)
	expectLedger(t, s, r.ID, eval.Ledger{Spent: spent.Add(usd(9)), Judges: judges.Add(usd(9)), Held: usd(40)})
}

// A trial runs again while a judge is at work on it: that attempt is charged, and
// its number is never given to another one.
func testJudgeGivenUp(t *testing.T, s store.Store) {
	for _, judging := range []eval.Amount{usd(20), {}} {
		t.Run(fmt.Sprint("holding ", judging.MicroUSD), func(t *testing.T) {
			id := fmt.Sprint("r-", judging.MicroUSD)
			r, blobs := newRun(id, 1)
			r.Grading = id + ".g1"
			g := r
			g.ID, g.Parent, g.Grading = r.Grading, r.ID, ""
			must(t, s.CreateRun(t.Context(), r, blobs, g))
			mark(t, s, r.ID, hold(0, usd(100)))
			commit(t, s, undecided(r.ID, 0, 1))
			mark(t, s, g.ID, hold(0, judging))
			_, err := s.Retry(t.Context(), r.ID, []eval.Verdict{eval.Unjudged})
			must(t, err)
			expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(100), Uncounted: usd(100), Charged: judging})

			mark(t, s, r.ID, store.Mark{Attempt: 2, Hold: usd(100)})
			commit(t, s, undecided(r.ID, 0, 2))
			due := outstanding(t, s, g.ID)
			if len(due) != 1 || due[0].Attempt != 2 {
				t.Fatalf("got %+v due in the grading, want attempt 2", due)
			}
			mark(t, s, g.ID, store.Mark{Attempt: 2, Hold: usd(20)})
			late := judgement(g.ID, 0, 1, false)
			equal(t, "final", commit(t, s, late), []bool{false})
			expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(207), Judges: usd(7), Uncounted: usd(107), Held: usd(20)})
			equal(t, "final", commit(t, s, judgement(g.ID, 0, 2, true)), []bool{true})
			expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(214), Judges: usd(14), Uncounted: usd(107)})
		})
	}
}

// What judges took counts as long as their results stand in their grading, also
// when a further one takes them over.
func testUncounted(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 2)
	dispatch(t, s, r.ID, 2)
	commit(t, s, unjudged(0), unjudged(1)) // 100 each
	mark(t, s, grading1, hold(0, eval.Amount{}), hold(1, eval.Amount{}))
	commit(t, s, judgement(grading1, 0, 1, true)) // 7
	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	_, err := s.CreateGrading(ctx, g, nil, false)
	must(t, err)
	mark(t, s, grading2, hold(1, eval.Amount{}))
	commit(t, s, judgement(grading2, 1, 1, true))
	g.Outcome = eval.OutcomeComplete
	must(t, s.Finish(ctx, g, blob.Pack(nil)))
	expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(214), Judges: usd(14)})

	failed := judgement(grading1, 1, 1, true)
	failed.Result = eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable}
	failed.Outcome = eval.AttemptFailed
	commit(t, s, failed)
	expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(221), Judges: usd(21), Uncounted: usd(7)})
}

// When a trial runs again, neither its own attempt counts any more nor that of the
// judge.
func testRetryUncounted(t *testing.T, s store.Store) {
	r := createGraded(t, s, 1)
	dispatch(t, s, r.ID, 1)
	commit(t, s, unjudged(0)) // 100
	mark(t, s, grading1, hold(0, eval.Amount{}))
	down := judgement(grading1, 0, 1, false) // 7
	down.Result = eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable}
	equal(t, "final", commit(t, s, down), []bool{true})
	expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(107), Judges: usd(7)})
	for range 2 {
		_, err := s.Retry(t.Context(), r.ID, []eval.Verdict{eval.Unjudged})
		must(t, err)
		expectLedger(t, s, r.ID, eval.Ledger{Spent: usd(107), Judges: usd(7), Uncounted: usd(107)})
	}
}

// A run that ended because its budget was used up goes on with another one: also
// with the trials that it never came to.
func testExhausted(t *testing.T, s store.Store) {
	r := createCapped(t, s, run1, 3, eval.Budget{MicroUSD: 100}, 0)
	mark(t, s, run1, hold(0, usd(60)))
	commit(t, s, spends(run1, 0, 1, usd(60)))
	expectMarked(t, s, run1, store.Marked{Short: eval.ShortOfMoney, Final: true}, hold(1, usd(60)))
	r.Outcome, r.Short = eval.OutcomeBudgetExhausted, eval.ShortOfMoney
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))
	got, err := s.Run(t.Context(), run1)
	must(t, err)
	equal(t, "short", got.Short, eval.ShortOfMoney)

	must(t, s.SetBudget(t.Context(), run1, eval.Budget{MicroUSD: 200}))
	n, err := s.Retry(t.Context(), run1, nil)
	must(t, err)
	equal(t, "due, apart from the two never dispatched", n, 0)
	got, err = s.Run(t.Context(), run1)
	must(t, err)
	want, _ := newRun(run1, 3)
	want.State, want.Cursor, want.Budget = eval.RunRunning, 1, eval.Budget{MicroUSD: 200}
	equal(t, "run", got, want)
	mark(t, s, run1, hold(1, usd(60)), hold(2, usd(60)))
}

// All runs of a day share its cap; what they hold counts on the next day too.
func testDay(t *testing.T, s store.Store, c *clock) {
	createCapped(t, s, run1, 4, eval.Budget{}, 100)
	createCapped(t, s, "r-other", 4, eval.Budget{}, 100)
	createCapped(t, s, "r-free", 4, eval.Budget{}, 0) // it has no cap, but is part of the day
	createCapped(t, s, "r-more", 4, eval.Budget{}, 150)
	mark(t, s, run1, hold(0, usd(30)), hold(1, usd(10)))
	mark(t, s, "r-free", hold(0, usd(20)))
	commit(t, s, spends(run1, 0, 1, usd(25)), loses(run1, 1, 1))
	expectRoom(t, s, "r-other", 0, 45, eval.ShortOfDayMoney)
	expectRoom(t, s, "r-more", 0, 95, eval.ShortOfDayMoney)
	expectMarked(t, s, "r-other", store.Marked{Short: eval.ShortOfDayMoney}, hold(1, usd(65)))
	expectMarked(t, s, "r-other", store.Marked{Short: eval.ShortOfDayMoney, Final: true}, hold(1, usd(66)))
	commit(t, s, spends("r-free", 0, 1, usd(20)))
	expectRoom(t, s, "r-other", 0, 45, eval.ShortOfDayMoney)
	mark(t, s, "r-other", hold(1, usd(35)))

	c.nextDay()
	expectRoom(t, s, run1, 2, 65, eval.ShortOfDayMoney)
	commit(t, s, spends("r-other", 1, 1, usd(34)))
	expectRoom(t, s, run1, 2, 66, eval.ShortOfDayMoney)
	c.nextDay()
	expectRoom(t, s, run1, 2, 100, eval.ShortOfDayMoney)
}

// A record that comes a day after its attempt was charged corrects the day of the
// charge, and takes nothing of its own day's money.
func testLateOnAnotherDay(t *testing.T, s store.Store, c *clock) {
	createCapped(t, s, run1, 4, eval.Budget{}, 100)
	mark(t, s, run1, hold(0, usd(40)), hold(1, usd(40)))
	commit(t, s, loses(run1, 0, 1), loses(run1, 1, 1))
	c.nextDay()
	mark(t, s, run1, hold(2, usd(100)))
	commit(t, s, spends(run1, 0, 1, usd(30)))
	expectLedger(t, s, run1, eval.Ledger{Spent: usd(30), Charged: usd(40), Held: usd(100)})
	must(t, s.TakeBack(t.Context(), run1, []store.Mark{hold(2, usd(100))}))
	expectRoom(t, s, run1, 2, 100, eval.ShortOfDayMoney)

	commit(t, s, spends(run1, 1, 1, usd(47))) // 7 beyond what it held
	expectRoom(t, s, run1, 2, 93, eval.ShortOfDayMoney)
	c.at = c.at.AddDate(0, 0, -1)
	expectRoom(t, s, run1, 2, 30, eval.ShortOfDayMoney) // 30 and 40 of the two
}

// Collect forgets what days of long ago came to, and the charges of old runs.
func testCollectDays(t *testing.T, s store.Store, c *clock) {
	r := createCapped(t, s, run1, 2, eval.Budget{}, 100)
	mark(t, s, run1, hold(0, usd(40)), hold(1, usd(10)))
	commit(t, s, loses(run1, 0, 1))
	r.Finished = when
	must(t, s.Finish(t.Context(), r, blob.Pack(nil)))
	createCapped(t, s, "r-other", 1, eval.Budget{}, 100)
	expectRoom(t, s, "r-other", 0, 50, eval.ShortOfDayMoney)
	_, err := s.Collect(t.Context(), when.Add(time.Minute), false)
	must(t, err)
	expectRoom(t, s, "r-other", 0, 50, eval.ShortOfDayMoney) // the money is spent all the same

	createCapped(t, s, run1, 2, eval.Budget{}, 100) // of the same id, with nothing of the old one
	expectLedger(t, s, run1, eval.Ledger{})
	commit(t, s, spends(run1, 0, 1, usd(5)))
	expectLedger(t, s, run1, eval.Ledger{Spent: usd(5), Uncounted: usd(5)})

	today := c.at
	c.at = today.AddDate(0, 0, 90)
	_, err = s.Collect(t.Context(), when.Add(-time.Hour), false)
	must(t, err)
	c.at = today
	expectRoom(t, s, "r-other", 0, 100, eval.ShortOfDayMoney)
}

func testLive(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := create(t, s, run1, 1)
	create(t, s, "r-other", 1)
	_, err := s.Live(ctx, run1)
	notFound(t, "what a run is doing that did nothing", err)
	first := eval.Live{At: when, Running: []eval.Activity{{Run: run1, Case: "a <b>", Doing: eval.DoingModel, Since: when}}}
	second := eval.Live{At: when.Add(time.Second), Limits: []eval.LimitState{{Key: "openai/o", InFlight: 2, PausedUntil: when}}}
	for _, l := range []eval.Live{first, second} {
		must(t, s.SetLive(ctx, run1, l))
		got, err := s.Live(ctx, run1)
		must(t, err)
		equal(t, "live", got, l)
	}
	must(t, s.SetLive(ctx, "r-other", first))
	must(t, s.Finish(ctx, r, blob.Pack(nil)))
	must(t, s.SetLive(ctx, run1, first)) // comes late
	_, err = s.Live(ctx, run1)
	notFound(t, "what a done run is doing", err)
	got, err := s.Live(ctx, "r-other")
	must(t, err)
	equal(t, "live of the other", got, first)
	es, err := s.Events(ctx, "r-other", 0, 0)
	must(t, err)
	equal(t, "events", len(es), 0)
}

// ShareCap lets many dispatch and commit against one day's cap at once, through
// one or more handles of one store that is otherwise empty.
func ShareCap(t *testing.T, handles ...store.Store) {
	t.Helper()
	const runs, trials, budget, day, held = 4, 40, 90, 300, 7
	for i := range runs {
		createCapped(t, handles[0], fmt.Sprint("r-", i), trials, eval.Budget{MicroUSD: budget}, day)
	}
	var wg sync.WaitGroup
	for w := range 2 * runs { // two for each run
		wg.Go(func() {
			s, run := handles[w/runs%len(handles)], fmt.Sprint("r-", w%runs)
			for o := w / runs; o < trials; o += 2 {
				d, err := s.Dispatch(t.Context(), run, []store.Mark{hold(o, usd(held))})
				if err != nil {
					t.Error(err)
					return
				}
				if d.Marks == 0 || o%3 == 0 {
					continue
				}
				if _, err := s.Commit(t.Context(), []eval.Record{spends(run, o, 1, usd(held))}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range runs {
		l, err := handles[0].Ledger(t.Context(), fmt.Sprint("r-", i))
		must(t, err)
		if total := l.Total().MicroUSD; total > budget {
			t.Errorf("got %d taken by run %d, more than its budget of %d", total, i, budget)
		}
	}
	equal(t, "taken of the day", used(t, handles[0]), day/held*held)
}
