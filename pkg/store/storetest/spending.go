package storetest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// testAnySpending lets two runs and a grading spend money in any order, with
// losses, late and repeated records and everything else that gives attempts up, and
// compares the ledgers with what was really spent after every step. An attempt that
// nobody told of is taken to have spent all that it held.
func testAnySpending(t *testing.T, s store.Store, c *clock) {
	rounds := 0
	var before []string // the runs of the last round
	rapid.Check(t, func(t *rapid.T) {
		for _, run := range before { // what they hold is of every day
			must(t, s.Finish(t.Context(), eval.Run{ID: run}, blob.Pack(nil)))
		}
		c.nextDay()
		rounds++
		id := fmt.Sprint("r-", rounds)
		m := &purse{
			s: s, c: c, a: id + "a", g: id + "a.g1", b: id + "b",
			budgets: map[string]eval.Budget{}, tries: map[try]*spending{}, days: map[string]int64{},
		}
		before = []string{m.a, m.g, m.b}
		m.budgets[m.a] = eval.Budget{MicroUSD: 60, Tokens: 80}
		m.budgets[m.b] = eval.Budget{MicroUSD: 50}
		r, blobs := newRun(m.a, purseTrials)
		r.Budget, r.DayMicroUSD, r.Grading, r.MaxLost = m.budgets[m.a], purseDay, m.g, 100
		r.Schedule, r.ScheduleMicroUSD = id, purseSchedule
		g := r
		g.ID, g.Parent, g.Grading = m.g, m.a, ""
		must(t, s.CreateRun(t.Context(), r, blobs, g))
		r, blobs = newRun(m.b, purseTrials)
		r.Budget, r.DayMicroUSD, r.Schedule, r.ScheduleMicroUSD = m.budgets[m.b], purseDay, id, purseSchedule
		must(t, s.CreateRun(t.Context(), r, blobs))
		t.Repeat(map[string]func(*rapid.T){
			"dispatch":  m.dispatch,
			"tell":      m.tell,
			"tell more": m.tell,
			"lose":      m.lose,
			"next":      m.next,
			"release":   m.release,
			"take back": m.takeBack,
			"retry":     m.retry,
			"finish":    m.finish,
			"midnight":  func(*rapid.T) { c.nextDay() },
			"":          m.compare,
		})
	})
}

const (
	purseTrials = 3
	purseDay    = 90
	// purseSchedule is the cap of both runs, on all days.
	purseSchedule = 100
)

// A purse is what was really spent by run a with its grading g, and by run b.
type purse struct {
	s       store.Store
	c       *clock
	a, g, b string
	budgets map[string]eval.Budget
	tries   map[try]*spending
	days    map[string]int64 // spent and charged
}

type try struct {
	run        string
	ordinal, n int
}

// A spending is what one attempt held, what it really spent, and what is known of
// that.
type spending struct {
	hold, took eval.Amount
	state      string // out, charged, told
	day        string // of the charge
}

func (m *purse) today() string { return m.c.at.Format("2006-01-02") }

func (m *purse) run(t *rapid.T) string {
	return rapid.SampledFrom([]string{m.a, m.g, m.b}).Draw(t, "run")
}

// pick draws an attempt that was dispatched once; there may be none.
func (m *purse) pick(t *rapid.T) (try, *spending) {
	if len(m.tries) == 0 {
		return try{}, nil
	}
	tries := slices.SortedFunc(maps.Keys(m.tries), func(a, b try) int {
		return slices.Compare([]string{fmt.Sprint(a)}, []string{fmt.Sprint(b)})
	})
	k := rapid.SampledFrom(tries).Draw(t, "try")
	return k, m.tries[k]
}

// sum adds up the attempts of a family, or of all runs for "".
func (m *purse) sum(family string) (l eval.Ledger) {
	for k, sp := range m.tries {
		if family != "" && (family == m.b) != (k.run == m.b) {
			continue
		}
		switch sp.state {
		case "out":
			l.Held = l.Held.Add(sp.hold)
		case "charged":
			l.Charged = l.Charged.Add(sp.hold)
		case "told":
			l.Spent = l.Spent.Add(sp.took)
			if k.run == m.g {
				l.Judges = l.Judges.Add(sp.took)
			}
		}
	}
	return l
}

// charge is what becomes of attempts that are given up.
func (m *purse) charge(given func(try) bool) {
	for k, sp := range m.tries {
		if sp.state == "out" && given(k) {
			sp.state, sp.day = "charged", m.today()
			m.days[sp.day] += sp.hold.MicroUSD
		}
	}
}

// short says what a hold does not fit, by what was really spent.
func (m *purse) short(run string, hold eval.Amount) (short eval.Shortage, final bool) {
	family := run
	if run == m.g {
		family = m.a
	}
	l, all, b := m.sum(family), m.sum(""), m.budgets[family]
	for _, bound := range []struct {
		name                   eval.Shortage
		most, gone, held, hold int64
	}{
		{eval.ShortOfMoney, b.MicroUSD, l.Spent.MicroUSD + l.Charged.MicroUSD, l.Held.MicroUSD, hold.MicroUSD},
		{eval.ShortOfTokens, b.Tokens, l.Spent.Tokens + l.Charged.Tokens, l.Held.Tokens, hold.Tokens},
		{eval.ShortOfDayMoney, purseDay, m.days[m.today()], all.Held.MicroUSD, hold.MicroUSD},
		{eval.ShortOfScheduleMoney, purseSchedule, all.Spent.MicroUSD + all.Charged.MicroUSD, all.Held.MicroUSD, hold.MicroUSD},
	} {
		if bound.most == 0 || bound.hold == 0 || bound.gone+bound.held+bound.hold <= bound.most {
			continue
		}
		if bound.gone+bound.hold > bound.most {
			return bound.name, true
		}
		if short == "" {
			short = bound.name
		}
	}
	return short, false
}

// current returns the number and state of a trial's attempt; 1 before the first.
func (m *purse) current(t *rapid.T, run string, ordinal int) (int, store.TrialState) {
	for _, tr := range outstanding(t, m.s, run) {
		if tr.Ordinal == ordinal {
			return tr.Attempt, tr.State
		}
	}
	if _, err := m.s.Result(t.Context(), run, ordinal); err == nil {
		return 1, store.Done
	}
	return 1, store.Waiting
}

func (m *purse) dispatch(t *rapid.T) {
	run := m.run(t)
	if r, err := m.s.Run(t.Context(), run); err != nil || r.State == eval.RunDone {
		must(t, err)
		expectDone(t, m.s, run, store.Mark{Attempt: 1, Cursor: 1})
		return
	}
	var marks []store.Mark
	var want store.Marked
	for _, o := range rapid.Permutation([]int{0, 1, 2}).Draw(t, "ordinals")[:rapid.IntRange(1, 3).Draw(t, "marks")] {
		n, state := m.current(t, run, o)
		k := try{run, o, n}
		if run == m.g && state == store.Waiting && !m.due(t, o) {
			continue // no judge is waited for
		}
		sp := &spending{state: "out", hold: eval.Amount{
			MicroUSD: rapid.Int64Range(0, 30).Draw(t, "money"), Tokens: rapid.Int64Range(0, 40).Draw(t, "tokens"),
		}}
		sp.took = eval.Amount{
			MicroUSD: rapid.Int64Range(0, sp.hold.MicroUSD).Draw(t, "really"), Tokens: rapid.Int64Range(0, sp.hold.Tokens).Draw(t, "really"),
		}
		marks = append(marks, store.Mark{Ordinal: o, Attempt: n, Hold: sp.hold, Cursor: o + 1})
		if want.Short != "" {
			continue
		}
		if state == store.Waiting {
			if want.Short, want.Final = m.short(run, sp.hold); want.Short != "" {
				continue
			}
			m.tries[k] = sp
		}
		want.Marks++
	}
	expectMarked(t, m.s, run, want, marks...)
}

// due says whether a trial waits in the grading.
func (m *purse) due(t *rapid.T, ordinal int) bool {
	return slices.ContainsFunc(outstanding(t, m.s, m.g), func(tr store.Trial) bool { return tr.Ordinal == ordinal })
}

// tell hands in the record of any attempt, in time, late, or again.
func (m *purse) tell(t *rapid.T) {
	k, sp := m.pick(t)
	if sp == nil {
		return
	}
	r := undecided(k.run, k.ordinal, k.n)
	switch rapid.IntRange(0, 4).Draw(t, "outcome") {
	case 0:
		r = record(k.run, k.ordinal, k.n, eval.Error)
	case 1:
		r = record(k.run, k.ordinal, k.n, eval.Error)
		r.Outcome = eval.AttemptFailed
	case 2:
		r = record(k.run, k.ordinal, k.n, eval.Unfinished)
		r.Outcome = eval.AttemptReturned
	case 3:
		r = record(k.run, k.ordinal, k.n, eval.Pass)
	}
	if k.run == m.g && r.Result.Verdict == eval.Unjudged {
		r = judgement(k.run, k.ordinal, k.n, true)
	}
	r.CostMicroUSD, r.Tokens = sp.took.MicroUSD, sp.took.Tokens
	commit(t, m.s, r)
	switch sp.state {
	case "told":
		return
	case "out":
		m.days[m.today()] += sp.took.MicroUSD
	case "charged":
		m.days[sp.day] += sp.took.MicroUSD - sp.hold.MicroUSD
	}
	sp.state = "told"
}

func (m *purse) lose(t *rapid.T) {
	k, sp := m.pick(t)
	if sp == nil {
		return
	}
	commit(t, m.s, loses(k.run, k.ordinal, k.n))
	m.charge(func(o try) bool { return o == k })
}

func (m *purse) next(t *rapid.T) {
	k, sp := m.pick(t)
	if sp == nil {
		return
	}
	err := m.s.Next(t.Context(), k.run, k.ordinal, k.n, when)
	if k.run != m.g || m.due(t, k.ordinal) { // or its trial runs again, and nobody waits for a judge
		must(t, err)
	}
	m.charge(func(o try) bool { return o == k })
}

func (m *purse) release(t *rapid.T) {
	run := m.run(t)
	_, err := m.s.Release(t.Context(), run)
	must(t, err)
	m.charge(func(o try) bool { return o.run == run })
}

// takeBack takes back an attempt that nobody has begun: it has spent nothing.
func (m *purse) takeBack(t *rapid.T) {
	k, sp := m.pick(t)
	if sp == nil || sp.state == "charged" { // nobody takes back what is given up
		return
	}
	must(t, m.s.TakeBack(t.Context(), k.run, []store.Mark{{Ordinal: k.ordinal, Attempt: k.n}}))
	if sp.state == "out" {
		delete(m.tries, k)
	}
}

func (m *purse) finish(t *rapid.T) {
	run := m.run(t)
	r, err := m.s.Run(t.Context(), run)
	must(t, err)
	r.Outcome = eval.OutcomeBudgetExhausted
	must(t, m.s.Finish(t.Context(), r, blob.Pack(nil)))
	m.charge(func(o try) bool { return o.run == run })
}

func (m *purse) retry(t *rapid.T) {
	run := rapid.SampledFrom([]string{m.a, m.b}).Draw(t, "run")
	vs := rapid.SliceOfDistinct(rapid.SampledFrom([]eval.Verdict{eval.Error, eval.Unjudged}), rapid.ID).Draw(t, "verdicts")
	before, err := m.s.Run(t.Context(), run)
	must(t, err)
	_, err = m.s.Retry(t.Context(), run, vs)
	must(t, err)
	after, err := m.s.Run(t.Context(), run)
	must(t, err)
	if before.State != after.State { // attempts that were out are void
		m.charge(func(o try) bool { return o.run == run })
	}
	if run == m.b {
		return
	}
	open := outstanding(t, m.s, m.a)
	m.charge(func(o try) bool { // what judges are at is void where the trial runs again
		return o.run == m.g && slices.ContainsFunc(open, func(tr store.Trial) bool { return tr.Ordinal == o.ordinal })
	})
}

// told says whether a record of a trial is stored.
func (m *purse) told(run string, ordinal int) bool {
	for k, sp := range m.tries {
		if k.run == run && k.ordinal == ordinal && sp.state == "told" {
			return true
		}
	}
	return false
}

func (m *purse) compare(t *rapid.T) {
	for family, runs := range map[string][]string{m.a: {m.a, m.g}, m.b: {m.b}} {
		want := m.sum(family)
		var open eval.Amount
		for _, run := range runs {
			for _, tr := range outstanding(t, m.s, run) {
				open = open.Add(tr.Hold)
			}
			for o := range purseTrials {
				if !m.told(run, o) {
					continue
				}
				as, err := m.s.Attempts(t.Context(), run, o)
				must(t, err)
				for _, a := range as {
					if !a.Counts {
						want.Uncounted = want.Uncounted.Add(eval.Amount{MicroUSD: a.CostMicroUSD, Tokens: a.Tokens})
					}
				}
			}
		}
		for _, run := range runs {
			expectLedger(t, m.s, run, want)
		}
		equal(t, "held by trials", open, want.Held)
		total, b := want.Total(), m.budgets[family]
		if total.MicroUSD > b.MicroUSD || b.Tokens > 0 && total.Tokens > b.Tokens {
			t.Errorf("got %+v taken of the budget %+v", total, b)
		}
	}
	if day := m.days[m.today()] + m.sum("").Held.MicroUSD; day > purseDay {
		t.Errorf("got %d taken of the day's %d", day, purseDay)
	}
	if all := m.sum("").Total().MicroUSD; all > purseSchedule {
		t.Errorf("got %d taken of the schedule's %d", all, purseSchedule)
	}
}
