package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Load is the run that [Start] stores.
const Load = "r"

// Start stores run r, of one cell.
func Start(tb testing.TB, db store.Store, trials int) eval.Run {
	tb.Helper()
	header := blob.Pack([]byte(`{}`))
	r := eval.Run{ID: Load, State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256, Trials: trials, Attempts: 3, MaxLost: 10}
	if err := db.CreateRun(context.Background(), r, []eval.Blob{header}); err != nil {
		tb.Fatal(err)
	}
	return r
}

// Mark marks the first attempts of the trials from..to-1 of run r.
func Mark(tb testing.TB, db store.Store, from, to int) {
	tb.Helper()
	var marks []store.Mark
	for i := from; i < to; i++ {
		marks = append(marks, store.Mark{Ordinal: i, Attempt: 1, Cursor: i + 1})
	}
	if d, err := db.Dispatch(context.Background(), Load, marks); err != nil || d.Marks != len(marks) {
		tb.Fatalf("got %+v, %v for %d marks", d, err, len(marks))
	}
}

// Records are the passing results of the trials from..to-1 of run r.
func Records(from, to int) []eval.Record {
	var rs []eval.Record
	for i := from; i < to; i++ {
		trajectory := blob.Pack([]byte(fmt.Sprint(Load, i, strings.Repeat(" turn", 200))))
		rs = append(rs, eval.Record{
			UID: fmt.Sprintf("r-%026d", i), Run: Load, Ordinal: i, N: 1, Worker: "worker-1", Outcome: eval.AttemptDone,
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
