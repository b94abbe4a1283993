package aggregate

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func TestFingerprint(t *testing.T) {
	fingerprint := func(change func([]store.Row) []store.Row) string {
		rs := []store.Row{
			{Ordinal: 0, N: 1, UID: "a", Result: eval.Result{
				Verdict: eval.Pass, TrajectoryHash: "aa",
				Scores: []eval.Score{{Check: "1", Pass: true, LatencyMS: 4}},
			}},
			{Ordinal: 2, N: 1, UID: "b", Result: eval.Result{
				Verdict: eval.Fail, Reason: eval.ReasonMismatch, TrajectoryHash: "bb",
				Scores: []eval.Score{{Check: "1", Reason: eval.ReasonMismatch}},
			}},
		}
		got, err := Fingerprint(snapshot(), each(change(rs)))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	plain := fingerprint(func(rs []store.Row) []store.Row { return rs })
	tests := []struct {
		name   string
		change func(rs []store.Row)
		same   bool
	}{
		{"the attempt", func(rs []store.Row) { rs[0].N, rs[0].UID, rs[0].Worker = 7, "z", "w9" }, true},
		{"the cost", func(rs []store.Row) { rs[0].CostMicroUSD = 5 }, true},
		{"times", func(rs []store.Row) { rs[0].Ended, rs[0].Result.Times.TotalMS = time.Unix(5, 0), 9 }, true},
		{"latency", func(rs []store.Row) { rs[0].Result.Scores[0].LatencyMS = 99 }, true},
		{"tools' latency", func(rs []store.Row) { rs[0].Result.Tools = []eval.ToolUse{{Tool: "get", LatencyMS: 1}} }, true},
		{"a verdict", func(rs []store.Row) { rs[0].Result.Verdict = eval.Error }, false},
		{"a reason", func(rs []store.Row) { rs[1].Result.Reason = eval.ReasonTimeout }, false},
		{"a score", func(rs []store.Row) { rs[0].Result.Scores[0].Pass = false }, false},
		{"a score's reason", func(rs []store.Row) { rs[1].Result.Scores[0].Reason = eval.ReasonTimeout }, false},
		{"a trajectory", func(rs []store.Row) { rs[1].Result.TrajectoryHash = "cc" }, false},
		{"the trial", func(rs []store.Row) { rs[1].Ordinal = 1 }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := fingerprint(func(rs []store.Row) []store.Row { tt.change(rs); return rs })
			if same := got == plain; same != tt.same {
				t.Errorf("same fingerprint after a change of %s: got %t, want %t", tt.name, same, tt.same)
			}
		})
	}
	if got := fingerprint(func(rs []store.Row) []store.Row { return rs[:1] }); got == plain {
		t.Error("a missing trial left the fingerprint as it was")
	}
}

// Another seed puts the same trials in another order.
func TestFingerprintIsThatOfAnySeed(t *testing.T) {
	prints := map[string]bool{}
	for seed := range uint64(5) {
		snap := snapshot()
		snap.Plan.Seed = seed
		order := eval.NewOrder(snap.Plan)
		var rs []store.Row
		for ordinal := range snap.Plan.Trials() {
			cell, repeat, err := order.At(ordinal)
			if err != nil {
				t.Fatal(err)
			}
			did := fmt.Sprintf("cell %d, repeat %d", cell, repeat)
			rs = append(rs, store.Row{Ordinal: ordinal, Result: eval.Result{Verdict: eval.Pass, TrajectoryHash: did}})
		}
		got, err := Fingerprint(snap, each(rs))
		if err != nil {
			t.Fatal(err)
		}
		prints[got] = true
	}
	if len(prints) != 1 {
		t.Errorf("got %d fingerprints of the same trials, want one", len(prints))
	}
}

func TestFingerprintWantsOrder(t *testing.T) {
	for name, rs := range map[string][]store.Row{
		"falling":  {{Ordinal: 2}, {Ordinal: 1}},
		"repeated": {{Ordinal: 1}, {Ordinal: 1}},
		"outside":  {{Ordinal: 700}},
	} {
		if got, err := Fingerprint(snapshot(), each(rs)); err == nil {
			t.Errorf("%s ordinals: got %q, want an error", name, got)
		}
	}
}
