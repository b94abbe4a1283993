package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testResultRoundTrip(t *testing.T, s store.Store) {
	create(t, s, run1, 2)
	before := time.Now().Truncate(time.Microsecond)
	dispatch(t, s, run1, 2)
	after := time.Now()
	trajectory, frames := blob.Pack([]byte("trajectory")), blob.Pack([]byte("frames"))
	must(t, s.PutBlobs(t.Context(), frames))
	r := record(run1, 1, 1, eval.Fail)
	r.TraceID, r.CostMicroUSD, r.Tokens = "4bf92f3577b34da6a3ce929d0e0e4736", 12345, 678
	r.Started, r.Ended = when.Add(time.Microsecond), when.Add(1500*time.Microsecond)
	r.Blobs = []eval.Blob{trajectory}
	r.Result = eval.Result{
		Verdict: eval.Fail,
		Reason:  eval.ReasonMismatch,
		Message: "status: got \"<PENDING>\" \u2028, want SHIPPED",
		Stop:    eval.StopDone,
		Scores: []eval.Score{
			{Check: "status", Value: 0.25, Reason: eval.ReasonMismatch, Expected: eval.JSON(`9007199254740993`), Actual: eval.JSON(`"<PENDING>"`), LatencyMS: 1.5},
			{Check: "status", Value: 1, Pass: true, Warning: true},
		},
		Counts:     eval.Counts{StepsFail: 1, ToolCalls: 2, ResponseBytes: 1 << 40},
		Times:      eval.Times{ToolMS: 0.1, TotalMS: 1e6 + 0.25},
		Tools:      []eval.ToolUse{{Tool: "get_order", LatencyMS: 1.5, Error: true}},
		Trajectory: trajectory.SHA256,
		Frames:     frames.SHA256,
	}
	stored, err := s.Commit(t.Context(), []eval.Record{r})
	must(t, err)
	sent := stored[0].Sent
	if sent.Before(before) || sent.After(after) {
		t.Errorf("the attempt was sent at %v, want between %v and %v", sent, before, after)
	}
	equal(t, "stored", stored, []store.Stored{{
		Run: run1, Ordinal: 1, N: 1, UID: r.UID, Worker: "w1", Outcome: eval.AttemptDone, CostMicroUSD: 12345,
		Sent: sent, Started: r.Started, Ended: r.Ended, Final: true, New: true, Result: r.Result,
		TraceID: r.TraceID,
	}})

	want := store.Row{
		Ordinal: 1, UID: r.UID, N: 1, Worker: "w1", CostMicroUSD: 12345, Tokens: 678, TraceID: r.TraceID,
		Started: r.Started, Ended: r.Ended, Result: r.Result,
	}
	row, err := s.Result(t.Context(), run1, 1)
	must(t, err)
	equal(t, "row", row, want)
	must(t, s.EachResult(t.Context(), run1, func(row store.Row) error {
		equal(t, "row of EachResult", row, want)
		return nil
	}))
	as, err := s.Attempts(t.Context(), run1, 1)
	must(t, err)
	equal(t, "attempts", as, []store.Attempt{{
		UID: r.UID, Run: run1, Ordinal: 1, N: 1, Worker: "w1", Outcome: eval.AttemptDone,
		Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: r.Result.Message,
		CostMicroUSD: 12345, Tokens: 678, TraceID: r.TraceID, Sent: sent, Started: r.Started, Ended: r.Ended, Counts: true,
	}})
	b, err := s.GetBlob(t.Context(), trajectory.SHA256)
	must(t, err)
	equal(t, "trajectory", b, trajectory)
	expectCounts(t, s, run1, eval.VerdictCounts{Fail: 1})
	expectSpent(t, s, run1, 12345)
	if stored, err := s.Commit(t.Context(), nil); err != nil || len(stored) != 0 {
		t.Errorf("got %v, %v for a commit of nothing, want nothing", stored, err)
	}
}

func testDuplicates(t *testing.T, s store.Store) {
	create(t, s, run1, 2)
	dispatch(t, s, run1, 2)
	r := record(run1, 0, 1, eval.Pass)
	equal(t, "fates in one batch", fates(commitAll(t, s, r, r, record(run1, 1, 1, eval.Fail))), []string{"final", "known", "final"})
	again := r
	again.Result.Verdict = eval.Fail // the uid decides, not the content
	equal(t, "fate in a later batch", fates(commitAll(t, s, again)), []string{"known"})
	equal(t, "fate in a run that does not exist", fates(commitAll(t, s, record("r-20990101-nobody", 0, 1, eval.Pass))), []string{"known"})
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1, Fail: 1})
	expectSpent(t, s, run1, 200)
	es, err := s.Events(t.Context(), run1, 0, 0)
	must(t, err)
	equal(t, "events", len(es), 2)
}

func testSuperseded(t *testing.T, s store.Store) {
	create(t, s, run1, 1)
	dispatch(t, s, run1, 1)
	must(t, s.Next(t.Context(), run1, 0, 1, time.Time{}))
	mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: 2})

	future := record(run1, 0, 3, eval.Pass)
	equal(t, "fates for another attempt", fates(commitAll(t, s, record(run1, 0, 1, eval.Pass), future)), []string{"superseded", "superseded"})
	equal(t, "final for a failure of another attempt", commit(t, s, func() eval.Record {
		r := failed(0, 1, eval.AttemptFailed)
		r.UID = "late failure"
		return r
	}()), []bool{false})
	equal(t, "outstanding", outstanding(t, s, run1), []store.Trial{{Run: run1, Ordinal: 0, Attempt: 2, State: store.Dispatched}})

	second := record(run1, 0, 2, eval.Fail)
	twin := second
	twin.UID, twin.Result.Verdict = "twin", eval.Pass
	equal(t, "fates for the current attempt, and for its twin", fates(commitAll(t, s, second, twin)), []string{"final", "superseded"})
	expectCounts(t, s, run1, eval.VerdictCounts{Fail: 1})
	expectSpent(t, s, run1, 500)

	as, err := s.Attempts(t.Context(), run1, 0)
	must(t, err)
	var got []string
	for _, a := range as {
		got = append(got, fmt.Sprintf("%d %s %t", a.N, a.Verdict, a.Counts))
	}
	equal(t, "attempts", got, []string{"1 error false", "1 pass false", "2 fail true", "2 pass false", "3 pass false"})
}

func testFailures(t *testing.T, s store.Store) {
	create(t, s, run1, 1) // three attempts
	dispatch(t, s, run1, 1)
	for n := 1; n <= 3; n++ {
		if n > 1 {
			must(t, s.Next(t.Context(), run1, 0, n-1, time.Time{}))
			mark(t, s, run1, store.Mark{Ordinal: 0, Attempt: n})
		}
		r := failed(0, n, eval.AttemptFailed)
		equal(t, fmt.Sprintf("fate of failure %d", n), fates(commitAll(t, s, r)), []string{map[bool]string{false: "reported", true: "final"}[n == 3]})
		if n < 3 {
			twin := r
			twin.UID += "twin"
			equal(t, "final for its twin", commit(t, s, twin), []bool{false})
			equal(t, "outstanding", outstanding(t, s, run1),
				[]store.Trial{{Run: run1, Ordinal: 0, Attempt: n, State: store.Dispatched, Failures: n, Reported: true}})
		}
	}
	expectCounts(t, s, run1, eval.VerdictCounts{Error: 1})
	expectSpent(t, s, run1, 500)
	row, err := s.Result(t.Context(), run1, 0)
	must(t, err)
	equal(t, "attempt that stands", row.N, 3)
	equal(t, "reason", row.Result.Reason, eval.ReasonFarm)
	if got := outstanding(t, s, run1); len(got) != 0 {
		t.Errorf("got %v outstanding after the last failure, want nothing", got)
	}
}

func testLosses(t *testing.T, s store.Store) {
	create(t, s, run1, 1) // two losses, three failures: counted apart
	dispatch(t, s, run1, 1)
	for i, o := range []eval.AttemptOutcome{eval.AttemptFailed, eval.AttemptLost, eval.AttemptFailed, eval.AttemptLost} {
		n := i + 1
		equal(t, fmt.Sprintf("final after attempt %d", n), commit(t, s, failed(0, n, o)), []bool{n == 4})
		must(t, s.Next(t.Context(), run1, 0, n, time.Time{}))
	}
	row, err := s.Result(t.Context(), run1, 0)
	must(t, err)
	equal(t, "reason", row.Result.Reason, eval.ReasonWorkerLost)
	expectCounts(t, s, run1, eval.VerdictCounts{Error: 1})
}

// A claim expires, the attempt is reported lost, and then its record arrives
// before the next attempt is due: paid work that counts.
func testLateButCurrent(t *testing.T, s store.Store) {
	create(t, s, run1, 1)
	dispatch(t, s, run1, 1)
	lost := failed(0, 1, eval.AttemptLost)
	lost.UID = "audit"
	equal(t, "final", commit(t, s, lost, record(run1, 0, 1, eval.Pass)), []bool{false, true})
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1})
	must(t, s.Next(t.Context(), run1, 0, 1, when))
	if got := outstanding(t, s, run1); len(got) != 0 {
		t.Errorf("got %v outstanding, want nothing", got)
	}
}

// The queue outlived a store that was put back to an older state.
func testForgotten(t *testing.T, s store.Store) {
	create(t, s, run1, 2)
	equal(t, "final", commit(t, s, record(run1, 1, 1, eval.Pass), record("r-none", 0, 1, eval.Pass)), []bool{false, false})
	as, err := s.Attempts(t.Context(), run1, 1)
	must(t, err)
	if len(as) != 1 || as[0].Counts {
		t.Errorf("got attempts %+v, want one that does not count", as)
	}
	expectCounts(t, s, run1, eval.VerdictCounts{})
	expectSpent(t, s, run1, 100)
	if got := outstanding(t, s, run1); len(got) != 0 {
		t.Errorf("got %v outstanding, want nothing: the scheduler has not come to it", got)
	}
}

func testDamaged(t *testing.T, s store.Store) {
	for name, damage := range map[string]func(*eval.Record){
		"blob with other content": func(r *eval.Record) {
			r.Blobs = []eval.Blob{{SHA256: blob.Pack([]byte("a")).SHA256, Zstd: blob.Pack([]byte("b")).Zstd}}
		},
		"unknown verdict":              func(r *eval.Record) { r.Result.Verdict = "great" },
		"no verdict":                   func(r *eval.Record) { r.Result.Verdict = "" },
		"unknown outcome":              func(r *eval.Record) { r.Outcome = "great" },
		"failed attempt that passed":   func(r *eval.Record) { r.Outcome = eval.AttemptFailed },
		"number beyond JSON":           func(r *eval.Record) { r.Result.Times.TotalMS = math.Inf(1) },
		"negative cost":                func(r *eval.Record) { r.CostMicroUSD = -5 },
		"negative tokens":              func(r *eval.Record) { r.Tokens = -5 },
		"returned attempt that passed": func(r *eval.Record) { r.Outcome = eval.AttemptReturned },
	} {
		t.Run(name, func(t *testing.T) {
			run := "r-" + name
			create(t, s, run, 2)
			dispatch(t, s, run, 2)
			bad := record(run, 0, 1, eval.Pass)
			bad.CostMicroUSD = 0
			damage(&bad)
			equal(t, "final", commit(t, s, bad, record(run, 1, 1, eval.Pass)), []bool{false, true})
			equal(t, "outstanding", outstanding(t, s, run),
				[]store.Trial{{Run: run, Ordinal: 0, Attempt: 1, State: store.Dispatched, Failures: 1, Reported: true}})
			as, err := s.Attempts(t.Context(), run, 0)
			must(t, err)
			if len(as) != 1 || as[0].Outcome != eval.AttemptFailed || as[0].Verdict != eval.Error || as[0].Reason != eval.ReasonFarm {
				t.Errorf("got attempts %+v, want one failed by the farm", as)
			}
			expectSpent(t, s, run, 100)
		})
	}
}

func testEachResult(t *testing.T, s store.Store) {
	const trials = 250
	create(t, s, run1, trials)
	create(t, s, "r-other", 1)
	dispatch(t, s, "r-other", 1)
	commit(t, s, record("r-other", 0, 1, eval.Pass))
	dispatch(t, s, run1, trials)
	var rs []eval.Record
	for i := trials - 1; i >= 0; i-- {
		if i%10 != 3 {
			rs = append(rs, record(run1, i, 1, eval.Pass))
		}
	}
	commit(t, s, rs...)

	var got, want []int
	for i := range trials {
		if i%10 != 3 {
			want = append(want, i)
		}
	}
	must(t, s.EachResult(t.Context(), run1, func(r store.Row) error {
		got = append(got, r.Ordinal)
		_, err := s.Result(t.Context(), run1, r.Ordinal) // the store is free meanwhile
		return err
	}))
	equal(t, "ordinals", got, want)

	enough := errors.New("enough")
	seen := 0
	err := s.EachResult(t.Context(), run1, func(store.Row) error {
		if seen++; seen == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || seen != 3 {
		t.Errorf("got %v after %d results, want the error of the third call", err, seen)
	}
}

// A context that ends leaves nothing behind and the store as usable as before.
func testCancelled(t *testing.T, s store.Store) {
	create(t, s, run1, 1)
	dispatch(t, s, run1, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Commit(ended, []eval.Record{record(run1, 0, 1, eval.Pass)}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a commit whose context had ended, want %v", err, context.Canceled)
	}
	if _, err := s.Counts(ended, run1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from a query whose context had ended, want %v", err, context.Canceled)
	}
	inside, cancel := context.WithCancel(t.Context())
	commit(t, s, record(run1, 0, 1, eval.Pass))
	err := s.EachResult(inside, run1, func(store.Row) error {
		cancel()
		return inside.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v from EachResult, want %v", err, context.Canceled)
	}
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: 1})
	expectSpent(t, s, run1, 100)
}

// What a server says may be any bytes, and so may what a worker sends. Nothing of
// that is an error, no message is cut or changed, and a record whose names cannot be
// stored is stored under names that can.
func testHostileText(t *testing.T, s store.Store) {
	for name, text := range map[string]string{
		"NUL":              "before\x00after",
		"only NUL":         "\x00",
		"invalid UTF-8":    "before\xff\xfeafter",
		"half a character": "\xe2\x82",
		"a surrogate":      "\xed\xa0\x80",
		"an escape":        `\x00 \u0000 \000 ' " $1 ?`,
		"beyond BMP":       "\U0010FFFF\u2028",
	} {
		t.Run(name, func(t *testing.T) {
			run := "r-" + name
			create(t, s, run, 2)
			dispatch(t, s, run, 2)
			r := record(run, 0, 1, eval.Fail)
			r.Result.Reason, r.Result.Message = eval.ReasonMismatch, text
			trajectory := blob.Pack([]byte("trajectory of " + text))
			r.Blobs, r.Result.Trajectory = []eval.Blob{trajectory}, trajectory.SHA256
			r.Result.Scores = []eval.Score{{Check: text, Reason: eval.ReasonMismatch, Message: text}}
			odd := record(run, 1, 1, eval.Fail)
			odd.UID, odd.Worker, odd.TraceID = run+text, text, text
			equal(t, "final", commit(t, s, r, odd), []bool{true, true})
			equal(t, "final when they come again", commit(t, s, r, odd), []bool{false, false})
			expectCounts(t, s, run, eval.VerdictCounts{Fail: 2})
			expectSpent(t, s, run, 200)

			as, err := s.Attempts(t.Context(), run, 0)
			must(t, err)
			if len(as) != 1 || as[0].Message != text {
				t.Errorf("got attempts %+v, want one with the message %q", as, text)
			}
			// A result is JSON, which has U+FFFD for what is not UTF-8.
			row, err := s.Result(t.Context(), run, 0)
			must(t, err)
			want := string([]rune(text))
			equal(t, "message", row.Result.Message, want)
			equal(t, "message of a score", row.Result.Scores[0].Message, want)

			doing := eval.Live{Running: []eval.Activity{{Run: run, On: text}}}
			must(t, s.SetLive(t.Context(), run, doing))
			live, err := s.Live(t.Context(), run)
			must(t, err)
			equal(t, "what it is doing", live.Running[0].On, want)

			g, blobs := newRun(run+".g1", 2)
			g.Parent = run
			waiting, err := s.CreateGrading(t.Context(), g, blobs, true)
			must(t, err)
			equal(t, "trials to judge again", waiting, 1)
			if _, err := s.Run(t.Context(), text); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %v for a run of that name, want ErrNotFound", err)
			}
		})
	}
}
