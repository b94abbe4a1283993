package scheduler_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// tracing is a bundle whose scheduler tells of its work.
func tracing(t *testing.T, o ...telemetrytest.Option) (*bundle, *telemetrytest.Recorder) {
	t.Helper()
	tracer, rec := telemetrytest.New(t, o...)
	b := setup(t, scheduler.Options{Tracer: tracer})
	b.tracer = tracer
	return b, rec
}

// shown is what a span says, in a line, without what is the same or chance; see exact.
// Other spans are called by their names and attempts, and a run is R.
func shown(spans []telemetrytest.Span, s telemetrytest.Span, run string) string {
	call := func(trace, span string) string {
		for _, c := range spans {
			if c.SpanID == span && c.TraceID == trace {
				if n, there := c.Attrs["evalfarm.attempt"]; there {
					return fmt.Sprint(c.Name, " ", n)
				}
				return c.Name
			}
		}
		return "nothing"
	}
	parts := []string{s.Name, s.Kind, s.Status}
	if s.Message != "" {
		parts = append(parts, "says "+s.Message)
	}
	if s.ParentID != "" {
		parts = append(parts, "below "+call(s.TraceID, s.ParentID))
	}
	for _, l := range s.Links {
		parts = append(parts, "to "+call(l.TraceID, l.SpanID))
	}
	for _, k := range slices.Sorted(maps.Keys(s.Attrs)) {
		if strings.HasPrefix(k, "messaging.") || k == "evalfarm.attempt.uid" || k == "evalfarm.worker" {
			continue
		}
		parts = append(parts, fmt.Sprintf("%s=%v", strings.TrimPrefix(k, "evalfarm."), s.Attrs[k]))
	}
	return strings.ReplaceAll(strings.Join(parts, ", "), run, "R")
}

// expect compares all spans with what is wanted of them, in any order.
func (b *bundle) expect(rec *telemetrytest.Recorder, run eval.Run, want ...string) {
	b.t.Helper()
	spans := rec.Spans()
	var got []string
	for _, s := range spans {
		got = append(got, shown(spans, s, run.ID))
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("spans (-want +got):\n%s", d)
	}
	for _, s := range spans {
		b.exact(rec, s)
	}
}

// exact compares the times of a span, and what shown leaves out, with the store.
func (b *bundle) exact(rec *telemetrytest.Recorder, s telemetrytest.Span) {
	b.t.Helper()
	id := s.Attrs["evalfarm.run.id"].(string)
	if strings.HasPrefix(s.Name, "run ") {
		run := b.reread(eval.Run{ID: id})
		b.lasts(s, run.Created, run.Finished)
		return
	}
	if !strings.HasPrefix(s.Name, "send ") { // a root: from its first send on
		first, last := time.Time{}, time.Time{}
		for _, c := range rec.Spans() {
			if c.ParentID == s.SpanID && (first.IsZero() || c.Start.Before(first)) {
				first = c.Start
			}
			if c.ParentID == s.SpanID {
				if a, there := b.attempt(c); there && a.Ended.After(last) {
					last = a.Ended
				}
			}
		}
		b.lasts(s, first, last)
		return
	}
	want := map[string]any{
		"messaging.system": "asynq", "messaging.operation.name": "send", "messaging.operation.type": "send",
		"messaging.destination.name": strings.TrimPrefix(s.Name, "send "),
	}
	if a, there := b.attempt(s); there {
		want["messaging.message.id"], want["evalfarm.attempt.uid"] = a.UID, a.UID
		if a.Worker != "" {
			want["evalfarm.worker"] = a.Worker
		}
		b.lasts(s, a.Sent, a.Sent)
	}
	got := maps.Clone(s.Attrs)
	maps.DeleteFunc(got, func(k string, _ any) bool {
		return !strings.HasPrefix(k, "messaging.") && k != "evalfarm.attempt.uid" && k != "evalfarm.worker"
	})
	if d := cmp.Diff(want, got); d != "" {
		b.t.Errorf("%s of attempt %v (-want +got):\n%s", s.Name, s.Attrs["evalfarm.attempt"], d)
	}
}

// attempt is what the store has of the one that a span is of.
func (b *bundle) attempt(s telemetrytest.Span) (store.Attempt, bool) {
	b.t.Helper()
	run, _ := s.Attrs["evalfarm.run.id"].(string)
	n, _ := s.Attrs["evalfarm.attempt"].(int64)
	for ordinal := range b.reread(eval.Run{ID: run}).Trials {
		as, err := b.store.Attempts(b.t.Context(), run, ordinal)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, a := range as {
			if a.N == int(n) && a.TraceID == s.TraceID && string(a.Outcome) == s.Attrs["evalfarm.outcome"] {
				return a, true
			}
		}
	}
	return store.Attempt{}, false
}

func (b *bundle) lasts(s telemetrytest.Span, from, to time.Time) {
	b.t.Helper()
	cut := func(t time.Time) time.Time { return t.Truncate(time.Microsecond) } // as the store does
	if !cut(s.Start).Equal(from) || !cut(s.End).Equal(to) {
		b.t.Errorf("%s lasts from %v to %v, want %v to %v", s.Name, s.Start, s.End, from, to)
	}
}

// hand hands a record on as a worker does that got the job: with its trace.
func (b *bundle) hand(j jobs.Job, outcome eval.AttemptOutcome, r eval.Result, blobs ...eval.Blob) {
	b.t.Helper()
	b.handAs("uid-"+j.Key(), j, outcome, r, blobs...)
}

func (b *bundle) handAs(uid string, j jobs.Job, outcome eval.AttemptOutcome, r eval.Result, blobs ...eval.Blob) {
	b.t.Helper()
	err := b.agg.Put(b.t.Context(), eval.Record{
		UID: uid, Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Worker: "w", Outcome: outcome, Result: r, Blobs: blobs,
		CostMicroUSD: 1500, TraceID: strings.Split(j.Traceparent, "-")[1],
		// Begun before anything that the scheduler records meanwhile.
		Started: time.Now().Add(-time.Minute), Ended: time.Now().Add(time.Millisecond),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// next waits for the n-th attempt that a run puts into a queue.
func (b *bundle) next(q *queue, run string, n int) jobs.Job {
	b.t.Helper()
	b.eventually(fmt.Sprintf("attempt %d is out", n), func() bool { return len(q.of(run)) >= n })
	return q.of(run)[n-1]
}

// A relay is a farm whose scheduler changes.
type relay struct{ *bundle }

// leave lets another process take over, while a worker has a job.
func (b *relay) leave(run eval.Run, with jobs.Job) {
	b.t.Helper()
	b.queue.say(with, jobs.Claimed)
	if err := b.sched.Park(b.t.Context(), run.ID); err != nil {
		b.t.Fatal(err)
	}
	next := setupOver(b.t, b.store, scheduler.Options{Tracer: b.tracer})
	next.tracer = b.tracer
	b.bundle = next
}

var (
	passed = eval.Result{Verdict: eval.Pass}
	broke  = eval.Result{Verdict: eval.Error, Reason: eval.ReasonStartTimeout, Message: "no answer"}
)

const (
	aRun  = "run made, internal, Unset, outcome=complete, run.id=R, run.trials=1, suite=made"
	trial = "trial case-0, internal, Unset, to run made, case=case-0, case.kind=script, "
	send1 = "send trials, producer, Unset, below trial case-0, attempt=1, "
	send2 = "send trials, producer, Unset, below trial case-0, to send trials 1, attempt=2, "
	send3 = "send trials, producer, Unset, below trial case-0, to send trials 2, attempt=3, "
)

func TestTraceOfATrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		carry func(b *relay, run eval.Run)
		want  []string
	}{
		{
			"pass", func(b *relay, run eval.Run) { b.hand(b.next(b.queue, run.ID, 1), eval.AttemptDone, passed) },
			[]string{
				trial + "cost.usd=0.0015, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=done, run.id=R",
			},
		},
		{
			"fail", func(b *relay, run eval.Run) {
				b.hand(b.next(b.queue, run.ID, 1), eval.AttemptDone, eval.Result{Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "3 is not 4"})
			},
			[]string{
				trial + "cost.usd=0.0015, reason=mismatch, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=fail",
				send1 + "outcome=done, run.id=R",
			},
		},
		{
			"error after three attempts", func(b *relay, run eval.Run) {
				for n := 1; n <= 3; n++ {
					b.hand(b.next(b.queue, run.ID, n), eval.AttemptFailed, broke)
				}
			},
			[]string{
				"trial case-0, internal, Error, to run made, error.type=start_timeout, case=case-0, case.kind=script, cost.usd=0.0045, reason=start_timeout, repeat=1, run.id=R, trial.attempts=3, trial.id=R:0, variant=default, verdict=error",
				send1 + "outcome=failed, reason=start_timeout, run.id=R",
				send2 + "attempt.after=failed, outcome=failed, reason=start_timeout, run.id=R",
				send3 + "attempt.after=failed, outcome=failed, reason=start_timeout, run.id=R",
			},
		},
		{
			"a lost attempt, whose worker comes back", func(b *relay, run eval.Run) {
				first := b.next(b.queue, run.ID, 1)
				b.queue.say(first, jobs.Expired)
				second := b.next(b.queue, run.ID, 2)
				b.hand(first, eval.AttemptDone, passed)
				b.hand(second, eval.AttemptDone, passed)
			},
			[]string{
				trial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=lost, reason=worker_lost, run.id=R",
				send2 + "attempt.after=lost, outcome=done, run.id=R",
			},
		},
		{
			"an attempt that the queue lost", func(b *relay, run eval.Run) {
				b.queue.say(b.next(b.queue, run.ID, 1), jobs.Missing)
				b.hand(b.next(b.queue, run.ID, 2), eval.AttemptDone, passed)
			},
			[]string{
				trial + "cost.usd=0.0015, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=unseen, run.id=R",
				send2 + "attempt.after=unseen, outcome=done, run.id=R",
			},
		},
		{
			"an attempt that was given back after it had cost something", func(b *relay, run eval.Run) {
				b.hand(b.next(b.queue, run.ID, 1), eval.AttemptReturned, eval.Result{Verdict: eval.Unfinished, Reason: eval.ReasonCancelled})
				b.hand(b.next(b.queue, run.ID, 2), eval.AttemptDone, passed)
			},
			[]string{
				trial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=returned, reason=cancelled, run.id=R",
				send2 + "attempt.after=returned, outcome=done, run.id=R",
			},
		},
		{
			"another scheduler takes over before the result", func(b *relay, run eval.Run) {
				first := b.next(b.queue, run.ID, 1)
				b.hand(first, eval.AttemptFailed, broke)
				second := b.next(b.queue, run.ID, 2)
				b.leave(run, second)
				b.adopt(run)
				b.hand(second, eval.AttemptDone, passed)
			},
			[]string{
				trial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=failed, reason=start_timeout, run.id=R",
				send2 + "attempt.after=failed, outcome=done, run.id=R",
			},
		},
		{
			"the result comes before anybody has taken the run over", func(b *relay, run eval.Run) {
				first := b.next(b.queue, run.ID, 1)
				b.leave(run, first)
				b.hand(first, eval.AttemptDone, passed)
				b.sched.Round(b.t.Context()) // in which it is told
				b.adopt(run)
			},
			[]string{
				trial + "cost.usd=0.0015, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=done, run.id=R",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, rec := tracing(t)
			b := &relay{first}
			run := b.create(1)
			b.adopt(run)
			tt.carry(b, run)
			b.wait(run)
			b.expect(rec, run, append(tt.want, aRun)...)
		})
	}
}

// await hands on what an agent did that a judge is to look at.
func (b *bundle) await(j jobs.Job) {
	b.t.Helper()
	trajectory := blob.Pack(eval.Encode(eval.Trajectory{}))
	b.hand(j, eval.AttemptDone, eval.Result{
		Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge, Trajectory: trajectory.SHA256,
		Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
	}, trajectory)
}

// ruling is the result of a judge's delivery.
func ruling(pass bool) eval.Result {
	s := eval.Score{Check: "tone", Pass: pass}
	if !pass {
		s.Reason = eval.ReasonJudgedBad
	}
	return eval.Result{Verdict: eval.Pass, Scores: []eval.Score{s}}
}

const (
	judgedRun   = "run judged, internal, Unset, outcome=complete, run.id=R, run.trials=1, suite=judged"
	judgedTrial = "trial case-0, internal, Unset, to run judged, case=case-0, case.kind=agent, "
	judging1    = "send judging, producer, Unset, below trial case-0, attempt=1, "
	judging2    = "send judging, producer, Unset, below trial case-0, to send judging 1, attempt=2, "
	judging3    = "send judging, producer, Unset, below trial case-0, to send judging 2, attempt=3, "
)

// What the run's own judges do is a part of the trial's trace, which is told when they
// have spoken.
func TestTraceOfAJudgedTrial(t *testing.T) {
	for _, tt := range []struct {
		name  string
		carry func(b *relay, run eval.Run)
		want  []string
	}{
		{
			"pass", func(b *relay, run eval.Run) {
				b.await(b.next(b.queue, run.ID, 1))
				b.hand(b.next(b.judging, run.Grading, 1), eval.AttemptDone, ruling(true))
			},
			[]string{
				judgedTrial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=done, run.id=R",
				judging1 + "outcome=done, run.id=R.g1",
			},
		},
		{
			"the trial and its judge need two attempts each", func(b *relay, run eval.Run) {
				b.hand(b.next(b.queue, run.ID, 1), eval.AttemptFailed, broke)
				b.await(b.next(b.queue, run.ID, 2))
				b.hand(b.next(b.judging, run.Grading, 1), eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable})
				b.hand(b.next(b.judging, run.Grading, 2), eval.AttemptDone, ruling(false))
			},
			[]string{
				judgedTrial + "cost.usd=0.006, reason=judged_bad, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=fail",
				send1 + "outcome=failed, reason=start_timeout, run.id=R",
				send2 + "attempt.after=failed, outcome=done, run.id=R",
				judging1 + "outcome=failed, reason=model_unavailable, run.id=R.g1",
				judging2 + "attempt.after=failed, outcome=done, run.id=R.g1",
			},
		},
		{
			"the judge is down", func(b *relay, run eval.Run) {
				b.await(b.next(b.queue, run.ID, 1))
				for n := 1; n <= 3; n++ {
					b.hand(b.next(b.judging, run.Grading, n), eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable})
				}
			},
			[]string{
				judgedTrial + "cost.usd=0.006, reason=judge_failed, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=unjudged",
				send1 + "outcome=done, run.id=R",
				judging1 + "outcome=failed, reason=model_unavailable, run.id=R.g1",
				judging2 + "attempt.after=failed, outcome=failed, reason=model_unavailable, run.id=R.g1",
				judging3 + "attempt.after=failed, outcome=failed, reason=model_unavailable, run.id=R.g1",
			},
		},
		{
			"another scheduler takes over before the judge has spoken", func(b *relay, run eval.Run) {
				b.await(b.next(b.queue, run.ID, 1))
				j := b.next(b.judging, run.Grading, 1)
				b.judging.say(j, jobs.Claimed)
				b.leave(run, j)
				b.hand(j, eval.AttemptDone, ruling(true))
				b.sched.Round(b.t.Context()) // in which it is told
				b.adopt(run)
			},
			[]string{
				judgedTrial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=pass",
				send1 + "outcome=done, run.id=R",
				judging1 + "outcome=done, run.id=R.g1",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first, rec := tracing(t)
			b := &relay{first}
			run := b.createJudged(1)
			b.adopt(run)
			tt.carry(b, run)
			b.wait(run)
			b.expect(rec, run, append(tt.want, judgedRun)...)
			row, err := b.store.Result(t.Context(), run.ID, 0)
			if err != nil || row.TraceID != rec.One("trial case-0").TraceID {
				t.Errorf("the result has the trace %q (%v), want the trial's", row.TraceID, err)
			}
		})
	}
}

// Nothing is told of a trial that waits for a judge. One that no judge comes to, because
// the run is cancelled, is told at its end, and so is the run; trials without a result
// are not.
func TestTraceOfACancelledRun(t *testing.T) {
	b, rec := tracing(t)
	run := b.createJudged(2)
	b.adopt(run)
	b.next(b.queue, run.ID, 2)
	b.await(b.queue.of(run.ID)[0])
	b.hand(b.next(b.judging, run.Grading, 1), eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable})
	b.next(b.judging, run.Grading, 2)
	if got := rec.Tree(); got != "" {
		t.Errorf("told already:\n%s", got)
	}
	if err := b.store.SetControl(t.Context(), run.ID, eval.ControlCancel); err != nil {
		t.Fatal(err)
	}
	b.wait(run)
	first := fmt.Sprintf("trial %s, internal, Unset, to run judged, case=%[1]s", b.firstCase(run))
	b.expect(rec, run,
		"run judged, internal, Unset, outcome=cancelled, run.id=R, run.trials=2, suite=judged",
		first+", case.kind=agent, cost.usd=0.003, reason=awaiting_judge, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=unjudged",
		strings.ReplaceAll(send1, "case-0", b.firstCase(run))+"outcome=done, run.id=R",
		strings.ReplaceAll(judging1, "case-0", b.firstCase(run))+"outcome=failed, reason=model_unavailable, run.id=R.g1",
	)
}

// firstCase is the case of a run's first trial.
func (b *bundle) firstCase(run eval.Run) string {
	b.t.Helper()
	snap := b.snapshot(run)
	cell, _, err := eval.NewOrder(snap.Plan).At(0)
	if err != nil {
		b.t.Fatal(err)
	}
	return snap.Cases[snap.Plan.Cells[cell].Case].ID
}

// A judge that the budget does not reach is asked later: in a trace of its own, which
// knows where the trial's is.
func TestTraceOfALaterJudging(t *testing.T) {
	b, rec := tracing(t)
	run := b.createCapped(eval.Budget{MicroUSD: 4000}, 0, 1, agentCase("a", "paid", dollars(2000), judged("paid")))
	b.adopt(run)
	b.await(b.next(b.queue, run.ID, 1))
	b.exhausted(run, eval.ShortOfMoney)
	name := b.reread(run).Suite
	ofRun := []string{
		"run " + name + ", internal, Unset, outcome=budget_exhausted, run.id=R, run.trials=1, suite=" + name,
		"trial a, internal, Unset, to run " + name + ", case=a, case.kind=agent, cost.usd=0.0015, reason=awaiting_judge, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=unjudged",
		"send trials, producer, Unset, below trial a, attempt=1, outcome=done, run.id=R",
	}
	b.expect(rec, run, ofRun...)

	if err := b.store.SetBudget(t.Context(), run.ID, eval.Budget{MicroUSD: 1_000_000}); err != nil {
		t.Fatal(err)
	}
	g, _, err := scheduler.Grade(t.Context(), b.store, b.reread(run), eval.Grading{}, false)
	if err != nil {
		t.Fatal(err)
	}
	b.adopt(g)
	b.hand(b.next(b.judging, g.ID, 1), eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable})
	b.hand(b.next(b.judging, g.ID, 2), eval.AttemptDone, ruling(true))
	b.wait(g)
	b.expect(rec, run, append(ofRun,
		"run "+name+", internal, Unset, to run "+name+", outcome=complete, run.id=R.g2, run.trials=1, suite="+name,
		"judging a, internal, Unset, to run "+name+", to trial a, case=a, case.kind=agent, cost.usd=0.003, repeat=1, run.id=R.g2, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
		"send judging, producer, Unset, below judging a, attempt=1, outcome=failed, reason=model_unavailable, run.id=R.g2",
		"send judging, producer, Unset, below judging a, to send judging 1, attempt=2, attempt.after=failed, outcome=done, run.id=R.g2",
	)...)
	if rec.One("judging a").TraceID == rec.One("trial a").TraceID {
		t.Error("a later judging is in the trace of the trial")
	}
}

// What is tried again is told again, under the ids that it had.
func TestTraceOfATrialThatIsRetried(t *testing.T) {
	b, rec := tracing(t)
	run := b.create(1)
	b.adopt(run)
	b.hand(b.next(b.queue, run.ID, 1), eval.AttemptDone, broke)
	b.wait(run)
	if n, err := b.store.Retry(t.Context(), run.ID, []eval.Verdict{eval.Error}); err != nil || n != 1 {
		t.Fatalf("Retry: %d trials (%v), want 1", n, err)
	}
	b.adopt(run)
	b.hand(b.next(b.queue, run.ID, 2), eval.AttemptDone, passed)
	b.wait(run)
	of := b.reread(run)
	ids := map[string]int{}
	for _, s := range rec.Spans() {
		ids[s.TraceID+s.SpanID]++
		if strings.HasPrefix(s.Name, "run ") && s.End.Sub(of.Finished) >= time.Microsecond {
			t.Errorf("the run ends at %v, want %v at the latest", s.End, of.Finished)
		}
	}
	if len(ids) != 4 { // the run, the trial, two sends
		t.Errorf("%d spans are told, want 4", len(ids))
	}
	spans := rec.Spans()
	var got []string
	for _, s := range spans {
		got = append(got, shown(spans, s, run.ID))
	}
	slices.Sort(got)
	want := []string{
		aRun, aRun,
		send1 + "outcome=done, run.id=R", send1 + "outcome=done, run.id=R",
		send2 + "attempt.after=done, outcome=done, run.id=R",
		"trial case-0, internal, Error, to run made, error.type=start_timeout, case=case-0, case.kind=script, cost.usd=0.0015, reason=start_timeout, repeat=1, run.id=R, trial.attempts=1, trial.id=R:0, variant=default, verdict=error",
		trial + "cost.usd=0.003, repeat=1, run.id=R, trial.attempts=2, trial.id=R:0, variant=default, verdict=pass",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}

// Of traces that are not sampled those are kept that tell something, by the rule of the
// workers.
func TestTracesThatAreNotSampled(t *testing.T) {
	slow := eval.Result{Verdict: eval.Pass, Times: eval.Times{TotalMS: 7.2e6}}
	for _, tt := range []struct {
		name  string
		carry func(b *bundle, j jobs.Job)
		want  int // sends
	}{
		{"pass", func(b *bundle, j jobs.Job) { b.hand(j, eval.AttemptDone, passed) }, 0},
		{"fail", func(b *bundle, j jobs.Job) { b.hand(j, eval.AttemptDone, eval.Result{Verdict: eval.Fail}) }, 1},
		{"slow", func(b *bundle, j jobs.Job) { b.hand(j, eval.AttemptDone, slow) }, 1},
		{"second attempt", func(b *bundle, j jobs.Job) {
			b.hand(j, eval.AttemptFailed, broke)
			b.hand(b.next(b.queue, j.Run, 2), eval.AttemptDone, passed)
		}, 2},
		{"judged good", func(b *bundle, j jobs.Job) {
			b.await(j)
			b.hand(b.next(b.judging, j.Run+".g1", 1), eval.AttemptDone, ruling(true))
		}, 0},
		{"judged bad", func(b *bundle, j jobs.Job) {
			b.await(j)
			b.hand(b.next(b.judging, j.Run+".g1", 1), eval.AttemptDone, ruling(false))
		}, 2},
		{"a judge that failed before the run was cancelled", func(b *bundle, j jobs.Job) {
			b.await(j)
			b.hand(b.next(b.judging, j.Run+".g1", 1), eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable})
			b.next(b.judging, j.Run+".g1", 2)
			if err := b.store.SetControl(b.t.Context(), j.Run, eval.ControlCancel); err != nil {
				b.t.Fatal(err)
			}
		}, 2},
		{"never judged", func(b *bundle, j jobs.Job) {
			b.await(j)
			b.next(b.judging, j.Run+".g1", 1)
			if err := b.store.SetControl(b.t.Context(), j.Run, eval.ControlCancel); err != nil {
				b.t.Fatal(err)
			}
		}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, rec := tracing(t, telemetrytest.Share(0), telemetrytest.Slow(time.Hour))
			run := b.createJudged(1)
			b.adopt(run)
			j := b.next(b.queue, run.ID, 1)
			if !strings.HasSuffix(j.Traceparent, "-00") {
				t.Errorf("the job has the trace context %q, want one that is not sampled", j.Traceparent)
			}
			tt.carry(b, j)
			b.wait(run)
			rec.One("run judged")
			if trials, sends := len(rec.Named("trial case-0")), len(rec.Spans())-1; sends > 0 && sends-trials != tt.want || trials != min(1, tt.want) {
				t.Errorf("kept, want %d sends:\n%s", tt.want, rec.Tree())
			}
		})
	}
}

// A run that confirms another one knows which, and so do its trials theirs.
func TestTraceOfAConfirmation(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	b := setup(t, scheduler.Options{Window: 1000, Tracer: tracer})
	ref, blobs := b.baseline(true)
	run := b.createCompared(ref, blobs, eval.Budget{})
	b.adopt(run)
	b.failFirst(run, b.stretch(run, 0, 3*comparedCases), 0)
	again := run.Confirmation()
	for _, j := range b.stretch(eval.Run{ID: again}, 0, 4) {
		b.record(j, eval.AttemptDone, eval.Fail)
	}
	b.wait(run)
	spans := map[string]telemetrytest.Span{} // of runs
	for _, s := range rec.Named("run compared") {
		spans[s.Attrs["evalfarm.run.id"].(string)] = s
	}
	if l := spans[again].Links; len(l) != 1 || l[0].SpanID != spans[run.ID].SpanID || l[0].TraceID != spans[run.ID].TraceID {
		t.Errorf("the run that confirms is linked to %+v, want %+v", l, spans[run.ID])
	}
	n := 0
	for _, s := range rec.Spans() {
		if strings.HasPrefix(s.Name, "trial ") && s.Attrs["evalfarm.run.id"] == again {
			n++
			if s.Links[0].SpanID != spans[again].SpanID {
				t.Errorf("%s is linked to %+v, want its own run", s.Name, s.Links)
			}
		}
	}
	if n != 4 || len(spans) != 3 {
		t.Errorf("%d trials of the run that confirms and %d runs are told, want 4 and 3", n, len(spans))
	}
}

// counting counts what is asked of a store for traces.
type counting struct {
	store.Store
	asked atomic.Int64
}

func (c *counting) Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error) {
	c.asked.Add(1)
	return c.Store.Attempts(ctx, run, ordinal)
}

// Where nobody traces, nothing is done for it; and a first attempt costs no look into
// the store.
func TestTracesCostNothingUnlessTheyAreWanted(t *testing.T) {
	traced, _ := telemetrytest.New(t)
	for _, tt := range []struct {
		name     string
		tracer   *telemetry.Tracer
		attempts int
		want     int64
	}{{"off", nil, 3, 0}, {"first attempt", traced, 1, 0}, {"third attempt", traced, 3, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			s := &counting{Store: setup(t, scheduler.Options{}).store}
			b := setupOver(t, s, scheduler.Options{Tracer: tt.tracer})
			run := b.create(1)
			b.adopt(run)
			for n := 1; n < tt.attempts; n++ {
				b.hand(b.next(b.queue, run.ID, n), eval.AttemptFailed, broke)
			}
			b.hand(b.next(b.queue, run.ID, tt.attempts), eval.AttemptDone, passed)
			b.wait(run)
			if n := s.asked.Load(); n != tt.want {
				t.Errorf("the store was asked %d times for attempts, want %d", n, tt.want)
			}
		})
	}
	b := setup(t, scheduler.Options{})
	st := store.Stored{Run: "r", N: 2, Final: true}
	least := math.Inf(1) // what the scheduler does meanwhile counts, too
	for range 5 {
		least = min(least, testing.AllocsPerRun(100, func() { b.sched.Stored(st) }))
	}
	if least > 0 {
		t.Errorf("a record that nobody traces allocates %v times", least)
	}
}

// What an error says quotes who failed, so it is shown with what is said alone.
func TestTraceOfAnErrorThatSaysSomething(t *testing.T) {
	b, rec := tracing(t, telemetrytest.Content())
	run := b.create(1)
	b.adopt(run)
	b.hand(b.next(b.queue, run.ID, 1), eval.AttemptDone, broke)
	b.wait(run)
	if got := rec.One("trial case-0").Message; got != "no answer" {
		t.Errorf("the trial says %q, want what the error says", got)
	}
}

// What is settled while a scheduler is told to stop is told before it has.
func TestTraceOfATrialThatIsSettledAtTheEnd(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	b := &bundle{t: t, store: setup(t, scheduler.Options{}).store, queue: &queue{}, judging: &queue{}}
	b.agg = aggregate.New(b.store, aggregate.Options{Observe: func(st store.Stored) { b.sched.Stored(st) }})
	b.sched = scheduler.New(b.store, b.queue, b.judging, b.agg, scheduler.Options{Tracer: tracer, Backoff: func(int) time.Duration { return 0 }})
	run := b.create(2)
	ctx, stop := context.WithCancel(t.Context())
	keeping, end := context.WithCancel(t.Context())
	var running, kept sync.WaitGroup
	running.Go(func() { _ = b.sched.Run(ctx) })
	kept.Go(func() { _ = b.agg.Run(keeping) })
	defer kept.Wait()
	defer end()
	defer running.Wait()
	defer stop()
	b.adopt(run)
	b.next(b.queue, run.ID, 2)
	b.hand(b.queue.of(run.ID)[0], eval.AttemptFailed, broke)
	b.next(b.queue, run.ID, 3)
	b.sched.Between(func() {
		b.hand(b.queue.of(run.ID)[2], eval.AttemptDone, passed)
		if got := rec.Tree(); got != "" {
			t.Errorf("told before the store could be asked:\n%s", got)
		}
		stop()
	})
	running.Wait()
	rec.One("trial " + b.firstCase(run))
}

// What it takes to tell of a trial, over a real store.
func BenchmarkTrace(b *testing.B) {
	for _, bb := range []struct {
		name     string
		tracer   *telemetry.Tracer
		attempts int
	}{{"off", nil, 1}, {"first attempt", telemetrytest.Discard(), 1}, {"third attempt", telemetrytest.Discard(), 3}} {
		b.Run(bb.name, func(b *testing.B) {
			s, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "evalfarm.db"))
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			agg := aggregate.New(s, aggregate.Options{})
			sched := scheduler.New(s, &queue{}, &queue{}, agg, scheduler.Options{Tracer: bb.tracer})
			run, err := scheduler.Create(b.Context(), s, scheduler.Request{
				Suite: &suite.Loaded{Suite: eval.Suite{Name: "made", Cases: []eval.Case{{ID: "case", Kind: eval.KindScript, Server: "s"}}}, Hash: "hash"},
				Seed:  1, Selection: suite.Selection{Repeats: 1},
			})
			if err != nil {
				b.Fatal(err)
			}
			var st store.Stored
			for n := 1; n <= bb.attempts; n++ {
				r := eval.Record{UID: fmt.Sprint(n), Run: run.ID, N: n, Outcome: eval.AttemptFailed, Result: broke, Started: time.Now(), Ended: time.Now()}
				if n == bb.attempts {
					r.Outcome, r.Result = eval.AttemptDone, passed
				}
				_, err := s.Dispatch(b.Context(), run.ID, []store.Mark{{Attempt: n}})
				var stored []store.Stored
				if err == nil {
					stored, err = s.Commit(b.Context(), []eval.Record{r})
				}
				if err == nil && n < bb.attempts {
					err = s.Next(b.Context(), run.ID, 0, n, time.Now())
				}
				if err != nil {
					b.Fatal(err)
				}
				st = stored[0]
			}
			if err := sched.Adopt(b.Context(), run.ID, false); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				sched.Stored(st)
				sched.TellRest(b.Context())
			}
		})
	}
}
