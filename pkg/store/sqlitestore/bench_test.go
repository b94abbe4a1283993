package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// BenchmarkCommit stores results of about 1 KiB with one trajectory each, in
// batches; trials are dispatched outside of the measured time.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 10, 100, 200} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			db := openFile(b, filepath.Join(b.TempDir(), "store.db"))
			startRun(b, db, 10_000_000)
			next := 0
			for b.Loop() {
				b.StopTimer()
				dispatchTrials(b, db, next, next+size)
				rs := records(next, next+size)
				next += size
				b.StartTimer()
				if _, err := db.Commit(context.Background(), rs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// BenchmarkLarge asks the questions of a scheduler and of a report of a run
// with many results.
func BenchmarkLarge(b *testing.B) {
	const trials = 50_000
	ctx := context.Background()
	db := openFile(b, filepath.Join(b.TempDir(), "store.db"))
	startRun(b, db, trials)
	for from := 0; from < trials; from += 1000 {
		dispatchTrials(b, db, from, from+1000)
		if _, err := db.Commit(ctx, records(from, from+990)); err != nil {
			b.Fatal(err)
		}
	}
	for name, ask := range map[string]func() error{
		"Counts":      func() error { _, err := db.Counts(ctx, "r"); return err },
		"Ledger":      func() error { _, err := db.Ledger(ctx, "r"); return err },
		"Outstanding": func() error { _, err := db.Outstanding(ctx, "r"); return err },
		"EachResult":  func() error { return db.EachResult(ctx, "r", func(store.Row) error { return nil }) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// startRun stores run r, of one cell.
func startRun(tb testing.TB, db *DB, trials int) eval.Run {
	tb.Helper()
	header := blob.Pack([]byte(`{}`))
	r := eval.Run{ID: "r", State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256, Trials: trials, Attempts: 3, MaxLost: 10}
	if err := db.CreateRun(context.Background(), r, []eval.Blob{header}); err != nil {
		tb.Fatal(err)
	}
	return r
}

// dispatchTrials marks the first attempts of the trials from..to-1 of run r.
func dispatchTrials(tb testing.TB, db *DB, from, to int) {
	tb.Helper()
	var marks []store.Mark
	for i := from; i < to; i++ {
		marks = append(marks, store.Mark{Ordinal: i, Attempt: 1, Cursor: i + 1})
	}
	if d, err := db.Dispatch(context.Background(), "r", marks); err != nil || d.Marks != len(marks) {
		tb.Fatalf("got %+v, %v for %d marks", d, err, len(marks))
	}
}

// records are the passing results of the trials from..to-1 of run r.
func records(from, to int) []eval.Record {
	var rs []eval.Record
	for i := from; i < to; i++ {
		trajectory := blob.Pack([]byte(fmt.Sprint("r", i, strings.Repeat(" turn", 200))))
		rs = append(rs, eval.Record{
			UID: fmt.Sprintf("r-%026d", i), Run: "r", Ordinal: i, N: 1, Worker: "worker-1", Outcome: eval.AttemptDone,
			Result: eval.Result{
				Verdict:    eval.Pass,
				Stop:       eval.StopDone,
				Scores:     []eval.Score{{Check: "step 1", Value: 1, Pass: true, Target: "get_order"}, {Check: "step 2", Value: 1, Pass: true, Target: "get_job"}},
				Tools:      []eval.ToolUse{{Tool: "get_order", LatencyMS: 12.25}, {Tool: "get_job", LatencyMS: 8.5}},
				Trajectory: trajectory.SHA256,
			},
			CostMicroUSD: 10, Blobs: []eval.Blob{trajectory}, Started: time.Unix(1, 0), Ended: time.Unix(2, 0),
		})
	}
	return rs
}

// BenchmarkDispatch marks trials without holds, as a scheduler does that has no
// cap to keep.
func BenchmarkDispatch(b *testing.B) {
	for _, size := range []int{10, 1000} {
		b.Run(fmt.Sprint("marks=", size), func(b *testing.B) {
			db := openFile(b, filepath.Join(b.TempDir(), "store.db"))
			startRun(b, db, 1_000_000_000)
			next := 0
			for b.Loop() {
				dispatchTrials(b, db, next, next+size)
				next += size
			}
		})
	}
}
