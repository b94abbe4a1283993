package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const grading1, grading2 = "r-graded.g1", "r-graded.g2"

// createGraded stores a run of so many trials with its grading.
func createGraded(t tb, s store.Store, trials int) eval.Run {
	t.Helper()
	r, blobs := newRun("r-graded", trials)
	r.Grading = grading1
	g := r
	g.ID, g.Parent, g.Grading = grading1, r.ID, ""
	must(t, s.CreateRun(t.Context(), r, blobs, g))
	return r
}

// unjudged is a record whose check "tone" waits for a judge.
func unjudged(ordinal int) eval.Record { return undecided("r-graded", ordinal, 1) }

// undecided is the same of any run and attempt.
func undecided(run string, ordinal, n int) eval.Record {
	r := record(run, ordinal, n, eval.Unjudged)
	b := blob.Pack([]byte("what " + r.UID + " did"))
	r.Blobs, r.Result.Trajectory = []eval.Blob{b}, b.SHA256
	r.Result.Reason = eval.ReasonAwaitingJudge
	r.Result.Scores = []eval.Score{
		{Check: "called", Value: 1, Pass: true},
		{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge},
	}
	return r
}

// judgement is a record of a grading in which a judge spoke.
func judgement(g string, ordinal, n int, pass bool) eval.Record {
	r := record(g, ordinal, n, eval.Pass)
	r.CostMicroUSD = 7
	r.Result.Scores = []eval.Score{{Check: "tone", Pass: pass, Reason: eval.ReasonJudgedBad}}
	if pass {
		r.Result.Scores = []eval.Score{{Check: "tone", Pass: pass, Value: 1}}
	}
	return r
}

// testGrading: a result that waits for a judge puts a trial into the grading,
// and what the judge says is folded into every view of the run.
func testGrading(t *testing.T, s store.Store) {
	ctx := t.Context()
	createGraded(t, s, 3)
	dispatch(t, s, "r-graded", 3)
	first := unjudged(0)
	equal(t, "final", commit(t, s, first, unjudged(1), record("r-graded", 2, 1, eval.Pass)), []bool{true, true, true})
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Unjudged: 2, Pass: 1})

	due, err := s.Outstanding(ctx, grading1)
	must(t, err)
	equal(t, "due in the grading", due, []store.Trial{
		{Run: grading1, Ordinal: 0, Attempt: 1, State: store.Waiting, Subject: first.Result.Trajectory},
		{Run: grading1, Ordinal: 1, Attempt: 1, State: store.Waiting, Subject: due[1].Subject},
	})
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1})
	said := judgement(grading1, 0, 1, true)
	bad := judgement(grading1, 1, 1, false)
	bad.TraceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	stored, err := s.Commit(ctx, []eval.Record{said, said, bad})
	must(t, err)
	equal(t, "verdicts", []eval.Verdict{stored[0].Result.Verdict, stored[2].Result.Verdict}, []eval.Verdict{eval.Pass, eval.Fail})
	equal(t, "final", []bool{stored[0].Final, stored[1].Final, stored[2].Final}, []bool{true, false, true})
	equal(t, "parent", stored[0].Parent, "r-graded")
	equal(t, "verdicts before", []eval.Verdict{stored[0].Was, stored[2].Was}, []eval.Verdict{eval.Unjudged, eval.Unjudged})
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 2, Fail: 1})
	row, err := s.Result(ctx, "r-graded", 1)
	must(t, err)
	equal(t, "folded", row.Result.Verdict, eval.Fail)
	equal(t, "reason", row.Result.Reason, eval.ReasonJudgedBad)
	equal(t, "the trace of what judged it", row.TraceID, bad.TraceID)

	runs, err := s.ListRuns(ctx, store.RunFilter{})
	must(t, err)
	equal(t, "runs in the list", len(runs), 1)
}

// testRegrading: a further grading takes over what is judged and scores the
// rest; it counts once it is complete, and the older one stays.
func testRegrading(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 3)
	dispatch(t, s, "r-graded", 3)
	commit(t, s, unjudged(0), unjudged(1), record("r-graded", 2, 1, eval.Pass))
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1})
	down := judgement(grading1, 1, 1, false)
	down.Result = eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable, Message: "no answer"}
	commit(t, s, judgement(grading1, 0, 1, true), down)
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 2, Unjudged: 1})
	row, err := s.Result(ctx, "r-graded", 1)
	must(t, err)
	equal(t, "reason while the judge is down", row.Result.Scores[1].Reason, eval.ReasonJudgeFailed)
	equal(t, "message", row.Result.Scores[1].Message, "no answer")

	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	for range 2 { // creating it again is the same as once
		n, err := s.CreateGrading(ctx, g, nil, false)
		must(t, err)
		equal(t, "to be scored", n, 1)
	}
	mark(t, s, grading2, store.Mark{Ordinal: 1, Attempt: 1})
	commit(t, s, judgement(grading2, 1, 1, false))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 2, Unjudged: 1}) // not the current one yet
	g.Outcome = eval.OutcomeComplete
	must(t, s.Finish(ctx, g, blob.Pack([]byte(`{}`))))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 2, Fail: 1})
	row, err = s.Result(ctx, "r-graded", 1)
	must(t, err)
	equal(t, "folded", row.Result.Verdict, eval.Fail)
	gs, err := s.Gradings(ctx, "r-graded")
	must(t, err)
	equal(t, "gradings", []string{gs[0].ID, gs[1].ID}, []string{grading1, grading2})

	all := r
	all.ID, all.Parent, all.Grading, all.Created = "r-graded.g3", r.ID, "", when.Add(2*time.Hour)
	n, err := s.CreateGrading(ctx, all, nil, true)
	must(t, err)
	equal(t, "to be scored anew", n, 2) // the third trial kept no trajectory
	mark(t, s, all.ID, store.Mark{Ordinal: 1, Attempt: 1})
	stored, err := s.Commit(ctx, []eval.Record{judgement(all.ID, 1, 1, true)})
	must(t, err)
	equal(t, "verdict before", stored[0].Was, eval.Fail)
}

// testDecidedAnyway: a trial whose own checks decide is judged all the same, and
// counted once.
func testDecidedAnyway(t *testing.T, s store.Store) {
	createGraded(t, s, 2)
	dispatch(t, s, "r-graded", 2)
	fails := unjudged(0)
	fails.Result.Verdict, fails.Result.Reason = eval.Fail, eval.ReasonMismatch
	fails.Result.Scores[0] = eval.Score{Check: "called", Reason: eval.ReasonMismatch}
	commit(t, s, fails, unjudged(1))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Fail: 1, Unjudged: 1})
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1})
	commit(t, s, judgement(grading1, 0, 1, true))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Fail: 1, Unjudged: 1})
	commit(t, s, judgement(grading1, 1, 1, true))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Fail: 1, Pass: 1})
}

// testCarryOver: a grading that is silent on a check keeps what the one before
// said of it.
func testCarryOver(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 1)
	dispatch(t, s, "r-graded", 1)
	first := unjudged(0)
	first.Result.Scores = append(first.Result.Scores, eval.Score{Check: "success", Pending: true, Reason: eval.ReasonNoJudge})
	commit(t, s, first)
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1})
	person := judgement(grading1, 0, 1, true)
	person.Result.Scores = []eval.Score{{Check: "success", Pass: true, Value: 1}, {Check: "rubric", Pass: true, Value: 1}}
	commit(t, s, person)
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Unjudged: 1})

	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	_, err := s.CreateGrading(ctx, g, nil, true)
	must(t, err)
	mark(t, s, grading2, store.Mark{Ordinal: 0, Attempt: 1})
	commit(t, s, judgement(grading2, 0, 1, true))
	g.Outcome = eval.OutcomeComplete
	must(t, s.Finish(ctx, g, blob.Pack([]byte(`{}`))))
	row, err := s.Result(ctx, "r-graded", 0)
	must(t, err)
	equal(t, "verdict", row.Result.Verdict, eval.Pass)
	equal(t, "checks: no rubric of a grading that is over", len(row.Result.Scores), 3)
}
