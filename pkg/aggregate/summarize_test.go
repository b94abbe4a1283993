package aggregate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// snapshot has a script case in two variants, thrice each, and a catalog case.
func snapshot() eval.Snapshot {
	return eval.Snapshot{
		Version: "test",
		Suite:   "desk",
		Variants: []eval.Variant{
			eval.NewVariant(nil),
			eval.NewVariant(map[string]string{"tenant": "acme"}),
		},
		Cases: []eval.CaseRef{
			{ID: "order", Kind: eval.KindScript, Tags: []string{"nightly"}},
			{ID: "listing", Kind: eval.KindCatalog},
		},
		Plan: eval.Plan{Seed: 1, Cells: []eval.Cell{
			{Case: 0, Variant: 0, Repeats: 3},
			{Case: 0, Variant: 1, Repeats: 3},
			{Case: 1, Variant: 0, Repeats: 1},
		}},
	}
}

// ordinals maps cell and repeat to the ordinal.
func ordinals(t interface{ Fatal(...any) }, p eval.Plan) map[[2]int]int {
	at := map[[2]int]int{}
	order := eval.NewOrder(p)
	for o := range p.Trials() {
		cell, repeat, err := order.At(o)
		if err != nil {
			t.Fatal(err)
		}
		at[[2]int{cell, repeat}] = o
	}
	return at
}

func each(rows []store.Row) func(func(store.Row) error) error {
	return func(fn func(store.Row) error) error {
		for _, r := range rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestSummarize(t *testing.T) {
	snap := snapshot()
	at := ordinals(t, snap.Plan)
	row := func(cell, repeat int, res eval.Result) store.Row {
		return store.Row{Ordinal: at[[2]int{cell, repeat}], Result: res}
	}
	rows := []store.Row{
		row(0, 1, eval.Result{
			Verdict: eval.Pass,
			Counts:  eval.Counts{StepsPass: 2},
			Times:   eval.Times{ToolMS: 30},
			Tools:   []eval.ToolUse{{Tool: "get", LatencyMS: 10}, {Tool: "put", LatencyMS: 20}},
			Scores:  []eval.Score{{Check: "1", Pass: true, Value: 1}, {Check: "2", Pass: true, Value: 1}},
		}),
		row(0, 2, eval.Result{
			Verdict:  eval.Fail,
			Reason:   eval.ReasonMismatch,
			Message:  "status differs",
			Counts:   eval.Counts{StepsPass: 1, StepsFail: 1},
			Times:    eval.Times{ToolMS: 10},
			Tools:    []eval.ToolUse{{Tool: "get", LatencyMS: 5, Error: true}},
			Scores:   []eval.Score{{Check: "1", Pass: true}, {Check: "2", Reason: eval.ReasonMismatch}, {Check: "3", Warning: true}},
			Findings: []eval.Finding{{Code: "stdout_noise", Detail: "second", Count: 2}},
			Stderr:   "panic: oops",
		}),
		row(0, 3, eval.Result{
			Verdict:  eval.Fail,
			Message:  "a later failure",
			Times:    eval.Times{ToolMS: 50},
			Findings: []eval.Finding{{Code: "stdout_noise", Detail: "third"}},
		}),
		row(1, 1, eval.Result{Verdict: eval.Error, Reason: eval.ReasonStartFailed, Times: eval.Times{ToolMS: 99}}),
		row(2, 1, eval.Result{
			Verdict: eval.Pass,
			Scores:  []eval.Score{{Check: "root_any_of", Warning: true, Message: "tool get has anyOf at its root"}},
		}),
	}
	created := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	run := eval.Run{ID: "r-20261130-ABCDEF", Outcome: eval.OutcomeRunCancelled, Created: created, Finished: created.Add(time.Second)}
	got, err := Summarize(run, snap, each(rows), eval.Ledger{Spent: eval.Amount{MicroUSD: 42}})
	if err != nil {
		t.Fatal(err)
	}
	// Only the first round is complete: a pass, an error, a pass.
	one := eval.Rate95{Value: new(1.), Low: 0.2065493143772374, High: 1, N: 1, Cells: 1}
	none := eval.Rate95{Low: 0, High: 1}
	three := eval.Percentiles{N: 3, P50: 30, P95: 50, P99: 50, Max: 50}
	asked := eval.Stats{ // of the case without a tenant
		Counts: eval.VerdictCounts{Pass: 1, Fail: 2}, Complete: &eval.VerdictCounts{Pass: 1}, PassRate: one, Latency: three,
	}
	stopped := eval.Stats{ // of the case with one
		Counts: eval.VerdictCounts{Error: 1, Unfinished: 2}, Complete: &eval.VerdictCounts{Error: 1}, PassRate: none,
		Open: &eval.Open{Bounds: eval.Bounds{Low: 0, High: 1}, Error: 1. / 3, Unfinished: 2. / 3},
	}
	scripts := eval.Stats{
		Counts: eval.VerdictCounts{Pass: 1, Fail: 2, Error: 1, Unfinished: 2}, Complete: &eval.VerdictCounts{Pass: 1, Error: 1},
		PassRate: one, Latency: three,
		// Of the first cell a third passed, of the second none or all did.
		Open: &eval.Open{Bounds: eval.Bounds{Low: 1. / 6, High: 4. / 6}, Error: 1. / 6, Unfinished: 2. / 6},
	}
	catalogs := eval.Stats{Counts: eval.VerdictCounts{Pass: 1}, PassRate: one, Latency: eval.Percentiles{N: 1}}
	want := eval.Summary{
		Run:     "r-20261130-ABCDEF",
		Suite:   "desk",
		Outcome: eval.OutcomeRunCancelled,
		Causes:  []eval.Cause{{Kind: eval.KindScript, Verdict: eval.Error, Reason: eval.ReasonStartFailed, N: 1}},
		Trials:  7,
		Counts:  eval.VerdictCounts{Pass: 2, Fail: 2, Error: 1, Unfinished: 2},
		Steps:   eval.StepCounts{Pass: 3, Fail: 1},
		Kinds: map[eval.Kind]eval.Stats{
			eval.KindScript:  scripts,
			eval.KindCatalog: catalogs,
		},
		Cells: []eval.CellStats{
			{
				Case: "order", Variant: "default", Kind: eval.KindScript, Tags: []string{"nightly"}, Repeats: 3,
				Stats: asked, Class: "pass_unconfirmed", Bound: "1/1, p ≥ 0.05",
				Steps: eval.StepCounts{Pass: 3, Fail: 1},
				Failure: &eval.Failure{
					Repeat: 2, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "status differs",
					Scores: []eval.Score{{Check: "2", Reason: eval.ReasonMismatch}}, Stderr: "panic: oops",
				},
				Scores: []eval.Score{{Check: "1", Pass: true, Value: 1}, {Check: "2", Pass: true, Value: 1}},
			},
			{
				Case: "order", Variant: "tenant=acme", Kind: eval.KindScript, Tags: []string{"nightly"}, Repeats: 3,
				Stats: stopped, Class: "no_data",
				Failure: &eval.Failure{Repeat: 1, Verdict: eval.Error, Reason: eval.ReasonStartFailed},
			},
			{
				Case: "listing", Variant: "default", Kind: eval.KindCatalog, Repeats: 1,
				Stats:    catalogs,
				Warnings: []string{"root_any_of: tool get has anyOf at its root"},
				Scores:   []eval.Score{{Check: "root_any_of", Warning: true, Message: "tool get has anyOf at its root"}},
			},
		},
		Groups: []eval.GroupStats{
			{By: eval.GroupByCase, Name: "order", Kind: eval.KindScript, Cells: 2, Stats: scripts},
			{By: eval.GroupByTag, Name: "nightly", Kind: eval.KindScript, Cells: 2, Stats: scripts},
			{By: eval.GroupByVariant, Name: "default", Kind: eval.KindScript, Cells: 1, Stats: asked},
			{By: eval.GroupByVariant, Name: "tenant=acme", Kind: eval.KindScript, Cells: 1, Stats: stopped},
		},
		Latency: eval.Percentiles{N: 3, P50: 10, P95: 20, P99: 20, Max: 20},
		Tools: []eval.ToolStats{
			{Tool: "get", Calls: 2, Errors: 1, Latency: eval.Percentiles{N: 2, P50: 5, P95: 10, P99: 10, Max: 10}},
			{Tool: "put", Calls: 1, Latency: eval.Percentiles{N: 1, P50: 20, P95: 20, P99: 20, Max: 20}},
		},
		Cost:     eval.Cost{MicroUSD: new(int64(42)), KnownMicroUSD: 42},
		Coverage: &eval.Coverage{CompleteRounds: 1, Rounds: 3},
		Findings: []eval.Finding{{Code: "stdout_noise", Detail: "second", Count: 3}},
		Version:  "test",
		Started:  created,
		Finished: created.Add(time.Second),
	}
	near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestFailureThatExplainsTheCell(t *testing.T) {
	tests := []struct {
		name     string
		verdicts []eval.Verdict // of repeats 1, 2 and 3
		want     int            // repeat, 0 for no failure
	}{
		{"all pass", []eval.Verdict{eval.Pass, eval.Pass, eval.Pass}, 0},
		{"the first of two fails", []eval.Verdict{eval.Pass, eval.Fail, eval.Fail}, 2},
		{"a fail after an error", []eval.Verdict{eval.Error, eval.Pass, eval.Fail}, 3},
		{"an error after an unjudged", []eval.Verdict{eval.Unjudged, eval.Error, eval.Pass}, 2},
		{"the first of two errors", []eval.Verdict{eval.Pass, eval.Error, eval.Error}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snap := snapshot()
			at := ordinals(t, snap.Plan)
			var rs []store.Row
			for i, v := range tt.verdicts {
				rs = append(rs, store.Row{Ordinal: at[[2]int{0, i + 1}], Result: eval.Result{Verdict: v}})
			}
			s, err := Summarize(eval.Run{}, snap, each(rs), eval.Ledger{})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			if f := s.Cells[0].Failure; f != nil {
				got = f.Repeat
			}
			if got != tt.want {
				t.Errorf("failure is from repeat %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSummarizePassesErrorsOn(t *testing.T) {
	broken := errors.New("database is locked")
	_, err := Summarize(eval.Run{ID: "r-1"}, snapshot(), func(func(store.Row) error) error { return broken }, eval.Ledger{})
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if _, err := Summarize(eval.Run{ID: "r-1"}, snapshot(), each([]store.Row{{Ordinal: 7}}), eval.Ledger{}); err == nil {
		t.Error("a result outside of the plan: got no error")
	}
}

// rows draws a result for some of the plan's trials.
func rows(t *rapid.T, p eval.Plan) []store.Row {
	results := rapid.Custom(func(t *rapid.T) eval.Result {
		res := eval.Result{
			Verdict: rapid.SampledFrom([]eval.Verdict{eval.Pass, eval.Fail, eval.Error, eval.Unjudged}).Draw(t, "verdict"),
			Times:   eval.Times{ToolMS: rapid.Float64Range(0, 1e6).Draw(t, "tool_ms")},
			Usage:   eval.Usage{Input: rapid.IntRange(0, 1e6).Draw(t, "tokens")},
			Counts:  eval.Counts{Turns: rapid.IntRange(0, 9).Draw(t, "turns")},
			Server:  eval.ServerInfo{Name: rapid.SampledFrom([]string{"desk", "shop"}).Draw(t, "server")},
		}
		for range rapid.IntRange(0, 4).Draw(t, "calls") {
			res.Tools = append(res.Tools, eval.ToolUse{
				Tool:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "tool"),
				LatencyMS: rapid.Float64Range(0, 1e5).Draw(t, "latency"),
			})
		}
		for i := range rapid.IntRange(0, 2).Draw(t, "findings") {
			res.Findings = append(res.Findings, eval.Finding{Code: "noise", Detail: fmt.Sprint(i, res.Times.ToolMS)})
		}
		if rapid.IntRange(0, 19).Draw(t, "priced") > 0 {
			res.CostMicroUSD = new(rapid.Int64Range(0, 1e9).Draw(t, "cost"))
		}
		judge := eval.Score{Check: "judge", Value: rapid.Float64Range(0, 1).Draw(t, "score")}
		for range rapid.IntRange(0, 5).Draw(t, "votes") {
			judge.Votes = append(judge.Votes, eval.Vote{Pass: new(rapid.Bool().Draw(t, "vote"))})
		}
		res.Scores = append(res.Scores, judge)
		return res
	})
	most := rapid.IntRange(0, p.Trials()).Draw(t, "dispatched")
	var rs []store.Row
	for o := range p.Trials() {
		if o < most && rapid.IntRange(0, 19).Draw(t, "finished") > 0 {
			res := results.Draw(t, "result")
			res.Message = fmt.Sprint("trial ", o)
			rs = append(rs, store.Row{Ordinal: o, Result: res})
		}
	}
	return rs
}

// The summary, the rates and what is printed of it have the same bits, whoever was
// first.
func TestSummaryDoesNotDependOnOrder(t *testing.T) {
	snap := snapshot()
	for i := range 6 {
		snap.Cases = append(snap.Cases, eval.CaseRef{
			ID: fmt.Sprint("agent-", i), Kind: eval.KindAgent, Tags: []string{"t"},
			Labels: map[string]string{"cluster": fmt.Sprint(i % 3), "area": fmt.Sprint(i % 2)},
		})
		for v := range snap.Variants {
			snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: len(snap.Cases) - 1, Variant: v, Repeats: 3 + i%2})
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		rs := rows(t, snap.Plan)
		bits := func() string {
			s, err := Summarize(eval.Run{}, snap, each(rs), eval.Ledger{})
			if err != nil {
				t.Fatal(err)
			}
			gate.Decide(&s, snap, gate.Arms{})
			return string(eval.Encode(s))
		}
		want := bits()
		rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "shuffle"))).Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
		if got := bits(); got != want {
			t.Fatalf("shuffled results: got %s, want %s", got, want)
		}
	})
}

func TestSummaryCountsEveryTrialOnce(t *testing.T) {
	snap := snapshot()
	rapid.Check(t, func(t *rapid.T) {
		rs := rows(t, snap.Plan)
		s, err := Summarize(eval.Run{}, snap, each(rs), eval.Ledger{})
		if err != nil {
			t.Fatal(err)
		}
		var kinds, cells int
		for _, k := range s.Kinds {
			kinds += k.Counts.Total()
			if c := k.Settled(); k.PassRate.N != c.Pass+c.Fail || c.Unfinished > 0 {
				t.Fatalf("rate over %d trials, want pass + fail of %+v, and none unfinished", k.PassRate.N, c)
			}
		}
		for _, c := range s.Cells {
			cells += c.Counts.Total()
		}
		if all := s.Counts.Total(); all != s.Trials || kinds != s.Trials || cells != s.Trials {
			t.Fatalf("counts add up to %d, by kind to %d, by cell to %d, want %d", all, kinds, cells, s.Trials)
		}
		if got, want := s.Counts.Unfinished, s.Trials-len(rs); got != want {
			t.Fatalf("unfinished: got %d, want %d", got, want)
		}
	})
}

// BenchmarkSummarize reads a million trials, and says how much memory is in use for
// each when the last one comes.
func BenchmarkSummarize(b *testing.B) {
	const trials = 1_000_000
	for _, cells := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(cells, "cells"), func(b *testing.B) {
			snap := eval.Snapshot{Variants: []eval.Variant{eval.NewVariant(nil)}}
			for i := range cells {
				snap.Cases = append(snap.Cases, eval.CaseRef{ID: fmt.Sprint("case-", i), Kind: eval.KindAgent})
				snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: i, Repeats: trials / cells})
			}
			inUse := func() float64 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				return float64(m.HeapAlloc)
			}
			var before, state float64
			uses, cost := make([]eval.ToolUse, 1), new(int64)
			stream := func(fn func(store.Row) error) error {
				for o := range trials {
					uses[0], *cost = eval.ToolUse{Tool: "get", LatencyMS: float64(o % 991)}, int64(o%983)
					r := eval.Result{
						Verdict: eval.Pass, Times: eval.Times{ToolMS: float64(o % 977)}, Tools: uses, CostMicroUSD: cost,
						Usage: eval.Usage{Input: o % 971}, Counts: eval.Counts{Turns: o % 7},
					}
					if o%11 == 0 {
						r.Verdict = eval.Fail
					}
					if err := fn(store.Row{Ordinal: o, Result: r}); err != nil {
						return err
					}
				}
				state = inUse() - before
				return nil
			}
			b.ReportAllocs()
			before = inUse()
			for b.Loop() {
				if _, err := Summarize(eval.Run{}, snap, stream, eval.Ledger{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(state/trials, "B/trial")
		})
	}
}
