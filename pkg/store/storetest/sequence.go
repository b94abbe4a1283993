package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// testAnySequence does whatever schedulers, aggregators and people can do to
// one small run, in any order, late and repeated, and compares the store with a
// model after every step.
func testAnySequence(t *testing.T, s store.Store) {
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		m := &model{s: s, run: fmt.Sprint("r-", runs), trials: make([]modelTrial, 3), records: map[string]eval.Record{}}
		create(t, s, m.run, len(m.trials))
		t.Repeat(map[string]func(*rapid.T){
			"dispatch": m.dispatch,
			"commit":   m.commit,
			"next":     m.next,
			"release":  m.release,
			"finish":   m.finish,
			"retry":    m.retry,
			"":         m.compare,
		})
	})
}

// A model is what the store should hold of one run.
type model struct {
	s       store.Store
	run     string
	done    bool
	trials  []modelTrial
	records map[string]eval.Record // by uid
}

type modelTrial struct {
	store.Trial             // Attempt is 0 before the first dispatch
	stands      eval.Record // the record whose result stands, if State is Done
}

func (m *model) ordinal(t *rapid.T) int { return rapid.IntRange(0, len(m.trials)-1).Draw(t, "ordinal") }

// attempt draws a number around the current one.
func (m *model) attempt(t *rapid.T, ordinal int) int {
	n := m.trials[ordinal].Attempt
	return rapid.IntRange(max(1, n-1), n+1).Draw(t, "attempt")
}

func (m *model) dispatch(t *rapid.T) {
	i := m.ordinal(t)
	n := max(1, m.trials[i].Attempt)
	if rapid.Bool().Draw(t, "stale") {
		n = m.attempt(t, i)
	}
	hold := eval.Amount{MicroUSD: rapid.Int64Range(0, 5).Draw(t, "hold"), Tokens: rapid.Int64Range(0, 5).Draw(t, "tokens")}
	marks := []store.Mark{{Ordinal: i, Attempt: n, Hold: hold, Cursor: i + 1}}
	if m.done {
		expectDone(t, m.s, m.run, marks...)
		return
	}
	mark(t, m.s, m.run, marks...)
	tr := &m.trials[i]
	if tr.Attempt == 0 || tr.State == store.Waiting && tr.Attempt == n {
		tr.Attempt, tr.State, tr.Hold, tr.NotBefore = n, store.Dispatched, hold, time.Time{}
	}
}

func (m *model) commit(t *rapid.T) {
	var batch []eval.Record
	var want []bool
	for range rapid.IntRange(1, 3).Draw(t, "records") {
		i := m.ordinal(t)
		r := record(m.run, i, m.attempt(t, i), rapid.SampledFrom(eval.Verdicts()).Draw(t, "verdict"))
		r.Outcome = rapid.SampledFrom([]eval.AttemptOutcome{eval.AttemptDone, eval.AttemptDone, eval.AttemptFailed, eval.AttemptLost, eval.AttemptReturned}).Draw(t, "outcome")
		if r.Outcome != eval.AttemptDone {
			r.Result.Verdict = eval.Error
		}
		r.CostMicroUSD = rapid.Int64Range(0, 1000).Draw(t, "cost")
		// Few uids, so that some come again.
		r.UID = fmt.Sprintf("%s:%d", m.run, rapid.IntRange(0, 40).Draw(t, "uid"))
		batch, want = append(batch, r), append(want, m.put(r))
	}
	equal(t, "final", commit(t, m.s, batch...), want)
}

// put does to the model what Commit does to the store.
func (m *model) put(r eval.Record) bool {
	if _, stored := m.records[r.UID]; stored {
		return false
	}
	m.records[r.UID] = r
	tr := &m.trials[r.Ordinal]
	if tr.Attempt != r.N || tr.State == store.Done {
		return false
	}
	tr.Hold = eval.Amount{}
	if tr.Reported && r.Outcome != eval.AttemptDone {
		return false
	}
	final := false
	switch r.Outcome {
	case eval.AttemptDone:
		final = true
	case eval.AttemptFailed:
		tr.Failures++
		final = tr.Failures == 3
	case eval.AttemptLost:
		tr.Losses++
		final = tr.Losses == 2
	case eval.AttemptReturned: // counts against nothing
	}
	tr.Reported = true
	if final {
		tr.State, tr.stands = store.Done, r
	}
	return final
}

func (m *model) next(t *rapid.T) {
	i := m.ordinal(t)
	n := m.attempt(t, i)
	err := m.s.Next(t.Context(), m.run, i, n, when)
	tr := &m.trials[i]
	switch {
	case tr.Attempt == 0:
		notFound(t, "next", err)
	case err != nil:
		t.Fatal(err)
	case tr.Attempt == n && tr.State != store.Done:
		tr.again(false)
		tr.NotBefore = when
	}
}

// again makes the next attempt due.
func (tr *modelTrial) again(afresh bool) {
	tr.Trial = store.Trial{Attempt: tr.Attempt + 1, State: store.Waiting, Failures: tr.Failures, Losses: tr.Losses}
	if afresh {
		tr.Failures, tr.Losses = 0, 0
	}
}

func (m *model) release(t *rapid.T) {
	n, err := m.s.Release(t.Context(), m.run)
	must(t, err)
	want := 0
	for i := range m.trials {
		if tr := &m.trials[i]; tr.State == store.Dispatched {
			tr.again(false)
			want++
		}
	}
	equal(t, "released", n, want)
}

func (m *model) finish(t *rapid.T) {
	must(t, m.s.Finish(t.Context(), eval.Run{ID: m.run}, blob.Pack(nil)))
	m.done = true
	for i := range m.trials {
		m.trials[i].Hold = eval.Amount{}
	}
}

func (m *model) retry(t *rapid.T) {
	vs := rapid.SliceOfDistinct(rapid.SampledFrom([]eval.Verdict{eval.Error, eval.Unjudged, eval.Unfinished}), rapid.ID).Draw(t, "verdicts")
	n, err := m.s.Retry(t.Context(), m.run, vs)
	must(t, err)
	started, open := 0, 0
	for i := range m.trials {
		tr := &m.trials[i]
		if tr.State == store.Done && slices.Contains(vs, tr.stands.Result.Verdict) {
			tr.again(true)
		}
		if tr.State != store.Done {
			open++
			started += min(tr.Attempt, 1)
		}
	}
	equal(t, "due", n, started)
	if !m.done || open == 0 {
		return
	}
	m.done = false
	for i := range m.trials {
		switch tr := &m.trials[i]; tr.State {
		case store.Dispatched:
			tr.again(true)
		case store.Waiting:
			tr.Trial = store.Trial{Attempt: tr.Attempt, State: store.Waiting}
		case store.Done: // stays so
		}
	}
}

func (m *model) compare(t *rapid.T) {
	var trials []store.Trial
	var rows []string
	var counts eval.VerdictCounts
	for i, tr := range m.trials {
		switch {
		case tr.State == store.Done:
			counts.Add(tr.stands.Result.Verdict, 1)
			rows = append(rows, fmt.Sprintf("%d %s %s", i, tr.stands.UID, tr.stands.Result.Verdict))
		case tr.Attempt > 0:
			tr.Run, tr.Ordinal = m.run, i
			trials = append(trials, tr.Trial)
		}
	}
	var spent int64
	for _, r := range m.records {
		spent += r.CostMicroUSD
	}
	equal(t, "outstanding", outstanding(t, m.s, m.run), trials)
	expectCounts(t, m.s, m.run, counts)
	expectSpent(t, m.s, m.run, spent)
	var got []string
	must(t, m.s.EachResult(t.Context(), m.run, func(r store.Row) error {
		got = append(got, fmt.Sprintf("%d %s %s", r.Ordinal, r.UID, r.Result.Verdict))
		return nil
	}))
	equal(t, "standing results", got, rows)
	for i, tr := range m.trials {
		row, err := m.s.Result(t.Context(), m.run, i)
		if stands := tr.State == store.Done; stands == errors.Is(err, store.ErrNotFound) || stands && row.UID != tr.stands.UID {
			t.Fatalf("trial %d: got result of %q, %v, want %q", i, row.UID, err, tr.stands.UID)
		}
	}
}
