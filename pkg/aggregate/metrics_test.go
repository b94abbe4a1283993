package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func TestMetricsAndLabels(t *testing.T) {
	snap := eval.Snapshot{
		Variants: []eval.Variant{eval.NewVariant(map[string]string{"loading": "eager"}), eval.NewVariant(map[string]string{"loading": "search"})},
		Cases: []eval.CaseRef{
			{ID: "refund", Kind: eval.KindAgent, Labels: map[string]string{"area": "refunds"}},
			{ID: "lookup", Kind: eval.KindScript, Labels: map[string]string{"area": "refunds"}},
		},
		Plan: eval.Plan{Seed: 1, Cells: []eval.Cell{{Case: 0, Variant: 0, Repeats: 2}, {Case: 0, Variant: 1, Repeats: 2}, {Case: 1, Variant: 0, Repeats: 1}}},
	}
	order := eval.NewOrder(snap.Plan)
	each := func(fn func(store.Row) error) error {
		for ordinal := range snap.Plan.Trials() {
			cell, repeat, err := order.At(ordinal)
			if err != nil {
				return err
			}
			r := eval.Result{Verdict: eval.Pass, Scores: []eval.Score{{Check: "called", Value: 1, Pass: true}}}
			if cell < 2 {
				r.Usage = eval.Usage{Input: 100, Output: 10}
				r.Counts = eval.Counts{ToolCalls: repeat, ToolSearches: cell, InitialToolTokens: 400 - 300*cell}
				r.Scores = append(r.Scores, eval.Score{Check: "task_success", Pending: true, Reason: eval.ReasonNoJudge})
				r.Verdict = eval.Unjudged
			}
			if cell == 0 && repeat == 2 {
				r.Verdict = eval.Error // says nothing of the agent
			}
			if err := fn(store.Row{Ordinal: ordinal, Result: r}); err != nil {
				return err
			}
		}
		return nil
	}
	s, err := Summarize(eval.Run{ID: "r"}, snap, each, eval.Ledger{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	open := map[string]int{}
	for _, m := range s.Metrics {
		open[m.Variant+" "+m.Metric] = m.Open
		if m.Mean != nil {
			got[m.Variant+" "+m.Metric] = *m.Mean
		}
	}
	for metric, want := range map[string]float64{
		"loading=eager operational_tool_calls": 1, "loading=search operational_tool_calls": 1.5,
		"loading=eager initial_tool_context_tokens": 400, "loading=search initial_tool_context_tokens": 100,
		"loading=search tool_search_calls": 1, "loading=search native_fallback": 0, "loading=search called": 1,
	} {
		if value, measured := got[metric]; !measured || value != want {
			t.Errorf("%s: got %v (measured %t), want %v", metric, value, measured, want)
		}
	}
	if _, measured := got["loading=search task_success"]; measured || open["loading=search task_success"] != 2 {
		t.Errorf("task_success: measured %t, unjudged in %d trials; want it unjudged in 2", measured, open["loading=search task_success"])
	}
	var labels []string
	for _, l := range s.Labels {
		labels = append(labels, l.Label+"="+l.Value+" "+string(l.Kind))
	}
	if diff := cmp.Diff([]string{"area=refunds agent", "area=refunds script"}, labels); diff != "" {
		t.Errorf("labels are pooled over kinds? (-want +got)\n%s", diff)
	}
	if s.Usage != (eval.Usage{Input: 400, Output: 40}) {
		t.Errorf("usage %+v, want that of four agent trials", s.Usage)
	}
}

func TestConditionsThatDifferInMoreAreNotCompared(t *testing.T) {
	snap := eval.Snapshot{
		Metrics: []string{"invalid_calls"}, Controlled: []string{"model", "catalog_fingerprint"},
		Variants: []eval.Variant{eval.NewVariant(map[string]string{"loading": "eager"}), eval.NewVariant(map[string]string{"loading": "search"})},
		Cases:    []eval.CaseRef{{ID: "c", Kind: eval.KindAgent}},
		Plan:     eval.Plan{Cells: []eval.Cell{{Variant: 0, Repeats: 1}, {Variant: 1, Repeats: 1}}},
	}
	for _, tt := range []struct {
		name   string
		prints [2]string
		want   bool
	}{{"the same listing", [2]string{"sha256:a", "sha256:a"}, true}, {"another listing", [2]string{"sha256:a", "sha256:b"}, false}} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Summarize(eval.Run{}, snap, func(fn func(store.Row) error) error {
				for ordinal, fingerprint := range tt.prints {
					r := eval.Result{Verdict: eval.Pass, Listing: &eval.Listing{Fingerprint: fingerprint}}
					if err := fn(store.Row{Ordinal: ordinal, Result: r}); err != nil {
						return err
					}
				}
				return nil
			}, eval.Ledger{})
			if err != nil {
				t.Fatal(err)
			}
			if compared := len(s.Compared) > 0; compared != tt.want || (s.Incomparable == "") != tt.want {
				t.Errorf("compared %t, because of %q; want %t", compared, s.Incomparable, tt.want)
			}
		})
	}
}

// Why trials have no verdict is told also where others of the case failed.
func TestCauses(t *testing.T) {
	snap := eval.Snapshot{
		Variants: []eval.Variant{{ID: "default"}}, Cases: []eval.CaseRef{{ID: "c", Kind: eval.KindAgent}},
		Plan: eval.Plan{Cells: []eval.Cell{{Repeats: 4}}},
	}
	s, err := Summarize(eval.Run{}, snap, func(fn func(store.Row) error) error {
		for i, r := range []eval.Result{
			{Verdict: eval.Fail, Reason: eval.ReasonWrongAnswer},
			{Verdict: eval.Error, Reason: eval.ReasonReplayMiss},
			{Verdict: eval.Error, Reason: eval.ReasonModelQuota},
			{Verdict: eval.Error, Reason: eval.ReasonModelQuota},
		} {
			if err := fn(store.Row{Ordinal: i, Result: r}); err != nil {
				return err
			}
		}
		return nil
	}, eval.Ledger{})
	if err != nil {
		t.Fatal(err)
	}
	gate.Decide(&s, snap, gate.Arms{})
	want := "agent: 3 of 4 ended in an error (0.75, at most 0.05 allowed): model_quota 2, replay_miss 1"
	if s.Reasons[0] != want {
		t.Errorf("got %q, want %q", s.Reasons[0], want)
	}
}
