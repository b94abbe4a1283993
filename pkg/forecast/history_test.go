package forecast_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/forecast"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A shelf is a store of past runs.
type shelf struct {
	runs     []eval.Run // newest first
	gradings map[string][]eval.Run
	results  map[string][]store.Row
	blobs    map[string]eval.Blob
	read     int // results
}

func newShelf() *shelf {
	return &shelf{gradings: map[string][]eval.Run{}, results: map[string][]store.Row{}, blobs: map[string]eval.Blob{}}
}

func (s *shelf) put(v any) string {
	b := blob.Pack(eval.Encode(v))
	s.blobs[b.SHA256] = b
	return b.SHA256
}

func (s *shelf) PutBlobs(context.Context, ...eval.Blob) error { return nil }

func (s *shelf) GetBlob(_ context.Context, name string) (eval.Blob, error) {
	b, ok := s.blobs[name]
	if !ok {
		return b, store.ErrNotFound
	}
	return b, nil
}

func (s *shelf) ListRuns(_ context.Context, f store.RunFilter) ([]eval.Run, error) {
	var out []eval.Run
	for _, r := range s.runs {
		if r.Suite == f.Suite {
			out = append(out, r)
		}
	}
	return out, nil
}

func (s *shelf) Gradings(_ context.Context, run string) ([]eval.Run, error) {
	return s.gradings[run], nil
}

func (s *shelf) EachResult(_ context.Context, run string, fn func(store.Row) error) error {
	for _, r := range s.results[run] {
		if err := fn(r); err != nil {
			return err
		}
		s.read++
	}
	return nil
}

// past adds a run, before all others, of the plan of a bench.
func (s *shelf) past(id string, b *bench, results ...eval.Result) {
	run := eval.Run{ID: id, Suite: b.Snapshot.Suite, State: eval.RunDone}
	for i, c := range b.Cases {
		b.Snapshot.Cases[i].Blob = s.put(c)
	}
	run.Header = s.put(b.Snapshot)
	s.runs = append([]eval.Run{run}, s.runs...)
	for i, r := range results {
		s.results[id] = append(s.results[id], store.Row{Ordinal: i, Result: r})
	}
}

// judged adds a grading to a run.
func (s *shelf) judged(id string, b *bench, how eval.Grading, results ...eval.Result) {
	how.Run = id
	snap := b.Snapshot
	snap.Grading = &how
	g := eval.Run{ID: fmt.Sprintf("%s.g%d", id, len(s.gradings[id])+1), Parent: id, Header: s.put(snap)}
	s.gradings[id] = append(s.gradings[id], g)
	for i, r := range results {
		s.results[g.ID] = append(s.results[g.ID], store.Row{Ordinal: i, Result: r})
	}
}

func (s *shelf) rows(t *testing.T, b *bench) []forecast.Row {
	t.Helper()
	for i, c := range b.Cases {
		b.Snapshot.Cases[i].Blob = s.put(c)
	}
	rows, err := forecast.Read(t.Context(), s, b.Snapshot, b.Cases)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// result is one of two calls with 1000 tokens in and 100 out.
func result(v eval.Verdict, micro int64) eval.Result {
	return eval.Result{
		Verdict: v, Counts: eval.Counts{Turns: 2}, Usage: eval.Usage{Input: 1000, Output: 100}, CostMicroUSD: new(micro),
		Times: eval.Times{ModelMS: 700, TotalMS: 1000, LimiterMS: 150, BackoffMS: 50},
	}
}

func TestHistoryIsOfTheSameCells(t *testing.T) {
	s := newShelf()
	s.past("r-1", newBench("a", "gone"), result(eval.Pass, 10), result(eval.Pass, 10))
	s.past("r-2", newBench("a").models(func(m *eval.Model) { m.Model = "other" }), result(eval.Pass, 20))
	elsewhere := newBench("a")
	elsewhere.Snapshot.Variants = []eval.Variant{eval.NewVariant(map[string]string{"x": "1"})}
	s.past("r-3", elsewhere, result(eval.Pass, 30))
	other := newBench("a")
	other.Snapshot.Suite = "other"
	s.past("r-4", other, result(eval.Pass, 40))
	// Errors say nothing of what a trial takes; two of the three repeats count.
	s.past("r-5", newBench("a"), result(eval.Fail, 50), result(eval.Error, 1), result(eval.Unjudged, 60))
	s.past("r-6", newBench("a"), result(eval.Pass, 70))
	s.runs[0].State = eval.RunRunning

	b := newBench("a", "new")
	var got []string
	for _, row := range s.rows(t, b) {
		got = append(got, fmt.Sprintf("%s %s %s %d", row.Run, row.Case, row.Verdict, *row.MicroUSD))
	}
	// One of the results of r-1 is of a case that is gone.
	want := []string{"r-5 a fail 50", "r-5 a unjudged 60", "r-1 a pass 10"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history differs (-want +got):\n%s", diff)
	}
	row := s.rows(t, b)[0]
	if row.BusyMS != 800 || row.Agent != (forecast.Took{Calls: 2, Input: 1000, Output: 100, ModelMS: 700}) {
		t.Errorf("got %+v, want two calls, and the time without waits", row)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	s := newShelf()
	for i := range 7 {
		s.past(fmt.Sprint("r-", i), newBench("a"), result(eval.Pass, 10))
	}
	rows := s.rows(t, newBench("a"))
	if len(rows) != 5 || rows[0].Run != "r-6" || rows[4].Run != "r-2" {
		t.Errorf("got %d rows from %s on, want those of the last five runs", len(rows), rows[0].Run)
	}
	long := newBench("a")
	long.Snapshot.Plan.Cells[0].Repeats = 30_000
	many := make([]eval.Result, 30_000)
	for i := range many {
		many[i] = result(eval.Pass, 10)
	}
	s = newShelf()
	s.past("r-1", newBench("a"), result(eval.Pass, 10))
	s.past("r-2", long, many...)
	if rows := s.rows(t, newBench("a")); len(rows) != 20_000 || s.read != 20_000 {
		t.Errorf("got %d rows of %d that were read, want 20000", len(rows), s.read)
	}
}

// What the past cost is told at the prices of today.
func TestHistoryAtOtherPrices(t *testing.T) {
	unpriced := func(m *eval.Model) { m.Price = nil }
	dearer := func(m *eval.Model) {
		m.Price = &eval.Price{TokenPrice: eval.TokenPrice{Input: 2_000_000, Output: 10_000_000}}
	}
	keep := func(*eval.Model) {}
	for name, test := range map[string]struct {
		then, now func(*eval.Model)
		cost      *int64
		want      *int64
	}{
		"the same":               {keep, keep, new(int64(1234)), new(int64(1234))},
		"unknown, and still":     {unpriced, unpriced, nil, nil},
		"unknown, and known now": {unpriced, keep, nil, new(int64(1500))},
		"known, and no more":     {keep, unpriced, new(int64(1234)), nil},
		"other ones":             {keep, dearer, new(int64(1234)), new(int64(3000))},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf()
			r := result(eval.Pass, 0)
			r.CostMicroUSD = test.cost
			s.past("r-1", newBench("a").models(test.then), r)
			rows := s.rows(t, newBench("a").models(test.now))
			if diff := cmp.Diff(test.want, rows[0].MicroUSD); diff != "" {
				t.Errorf("cost differs (-want +got):\n%s", diff)
			}
		})
	}
}

// What judging takes is that of the run's own judges. What they took counts while
// they are asked as often.
func TestHistoryOfJudges(t *testing.T) {
	said := eval.Result{
		Verdict: eval.Pass, JudgeUsage: eval.Usage{Input: 400, Output: 40}, JudgeCostMicroUSD: new(int64(600)),
		Times: eval.Times{JudgeMS: 90, TotalMS: 100},
	}
	want := &forecast.Judged{Took: forecast.Took{Calls: 2, Input: 400, Output: 40, ModelMS: 90}, MicroUSD: new(int64(600)), BusyMS: 100}
	for name, test := range map[string]struct {
		how  eval.Grading
		now  func(*bench)
		want *forecast.Judged
	}{
		"the same":         {eval.Grading{}, func(*bench) {}, want},
		"a review":         {eval.Grading{By: "ada"}, func(*bench) {}, nil},
		"another judge":    {eval.Grading{Model: "strict"}, func(*bench) {}, nil},
		"asked more often": {eval.Grading{}, func(b *bench) { b.Cases[0].Checks[0].Judge.Votes = 3 }, nil},
		"nobody any more":  {eval.Grading{}, func(b *bench) { b.Cases[0].Checks = nil }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf()
			then := newBench("a").judge()
			s.past("r-1", then, result(eval.Pass, 10), result(eval.Pass, 10))
			s.judged("r-1", then, test.how, said, eval.Result{Verdict: eval.Error})
			s.judged("r-1", then, eval.Grading{}, said, said)
			b := newBench("a").judge()
			test.now(b)
			rows := s.rows(t, b)
			if diff := cmp.Diff(test.want, rows[0].Judge); diff != "" || rows[1].Judge != nil {
				t.Errorf("the second trial was never judged; of the first, judging differs (-want +got):\n%s", diff)
			}
		})
	}
}
