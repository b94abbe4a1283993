package aggregate

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

// TestThroughARealStore puts every trial of a run from many goroutines, some of
// them twice, and makes the summary and the fingerprint from what is stored.
func TestThroughARealStore(t *testing.T) {
	db, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "farm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	const trials = 120
	stored := func(id string, from int) (eval.Summary, string) {
		content := blob.Pack([]byte(`{}`))
		snap := eval.Snapshot{
			Suite:    "desk",
			Variants: []eval.Variant{eval.NewVariant(nil)},
			Cases:    []eval.CaseRef{{ID: "order", Kind: eval.KindScript, Blob: content.SHA256}},
			Plan:     eval.Plan{Cells: []eval.Cell{{Repeats: trials}}},
		}
		raw, err := json.Marshal(snap)
		if err != nil {
			t.Fatal(err)
		}
		header := blob.Pack(raw)
		run := eval.Run{
			ID: id, Suite: "desk", State: eval.RunRunning, Control: eval.ControlRun, Header: header.SHA256,
			Trials: trials, Attempts: 3, MaxLost: 10, Priority: 1, Outcome: eval.OutcomeComplete, Created: time.Unix(0, 0).UTC(),
		}
		if err := db.CreateRun(t.Context(), run, []eval.Blob{header, content}); err != nil {
			t.Fatal(err)
		}
		var marks []store.Mark
		for o := range trials {
			marks = append(marks, store.Mark{Ordinal: o, Attempt: 1, Cursor: o + 1})
		}
		if _, err := db.Dispatch(t.Context(), id, marks); err != nil {
			t.Fatal(err)
		}
		final := 0
		a := New(db, Options{Batch: 16, Observe: func(s store.Stored) {
			if s.Final {
				final++
			}
		}})
		stop := start(t, a)
		var wg sync.WaitGroup
		for i := range trials {
			o := (i + from) % trials
			verdict := eval.Pass
			if o%10 == 0 {
				verdict = eval.Fail
			}
			rec := eval.Record{
				UID: fmt.Sprintf("%s-%d", id, o), Run: id, Ordinal: o, N: 1, Worker: "w", Outcome: eval.AttemptDone,
				Result: eval.Result{Verdict: verdict, TrajectoryHash: fmt.Sprint(o), Times: eval.Times{ToolMS: float64(i)}},
			}
			for range 1 + o%2 {
				wg.Go(func() {
					if err := a.Put(t.Context(), rec); err != nil {
						t.Errorf("put trial %d: %v", o, err)
					}
				})
			}
		}
		wg.Wait()
		stop()
		if final != trials {
			t.Errorf("observed %d final records, want %d", final, trials)
		}
		each := func(fn func(store.Row) error) error { return db.EachResult(t.Context(), id, fn) }
		s, err := Summarize(run, snap, each, eval.Ledger{})
		if err != nil {
			t.Fatal(err)
		}
		gate.Decide(&s, snap, gate.Arms{})
		fingerprint, err := Fingerprint(snap, each)
		if err != nil {
			t.Fatal(err)
		}
		return s, fingerprint
	}

	s, one := stored("r-20261130-AAAAAA", 0)
	if diff := cmp.Diff(eval.VerdictCounts{Pass: 108, Fail: 12}, s.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if s.ExitCode != int(eval.ExitGateFailed) {
		t.Errorf("got exit code %d, want %d", s.ExitCode, eval.ExitGateFailed)
	}
	if _, two := stored("r-20261130-BBBBBB", 77); two != one {
		t.Errorf("the same results in another order and with other times: got fingerprint %s, want %s", two, one)
	}
}
