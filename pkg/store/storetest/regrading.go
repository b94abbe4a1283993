package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// testRetryJudged: a trial that runs again loses what a judge said of it.
func testRetryJudged(t *testing.T, s store.Store) {
	ctx := t.Context()
	createGraded(t, s, 1)
	dispatch(t, s, "r-graded", 1)
	commit(t, s, unjudged(0))
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1})
	refused := judgement(grading1, 0, 1, true)
	refused.Result.Scores = []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonJudgeRefused}}
	commit(t, s, refused)
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Unjudged: 1})
	if _, err := s.Retry(ctx, grading1, []eval.Verdict{eval.Unjudged}); err == nil {
		t.Error("a grading was retried: its trials lose what they score")
	}
	n, err := s.Retry(ctx, "r-graded", []eval.Verdict{eval.Unjudged})
	must(t, err)
	equal(t, "retried", n, 1)
	due, err := s.Outstanding(ctx, grading1)
	must(t, err)
	equal(t, "due in the grading", len(due), 0)
	mark(t, s, "r-graded", store.Mark{Ordinal: 0, Attempt: 2})
	again := unjudged(0)
	again.UID, again.N = "again", 2
	stored, err := s.Commit(ctx, []eval.Record{again})
	must(t, err)
	due, err = s.Outstanding(ctx, grading1)
	must(t, err)
	equal(t, "due again, under a number that no queue has seen", due[0].Attempt, 2)
	equal(t, "the number that Commit tells", stored[0].Judging, 2)
}

// testRetryOnlyUnjudged: what a judge has decided is not unjudged, and is not run
// again.
func testRetryOnlyUnjudged(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 3)
	dispatch(t, s, "r-graded", 3)
	commit(t, s, unjudged(0), unjudged(1), unjudged(2))
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1}, store.Mark{Ordinal: 2, Attempt: 1})
	refused := judgement(grading1, 2, 1, true)
	refused.Result.Scores = []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonJudgeRefused}}
	commit(t, s, judgement(grading1, 0, 1, true), judgement(grading1, 1, 1, false), refused)
	g, err := s.Run(ctx, grading1)
	must(t, err)
	g.Outcome, r.Outcome = eval.OutcomeComplete, eval.OutcomeComplete
	must(t, s.Finish(ctx, g, blob.Pack([]byte(`{}`))))
	must(t, s.Finish(ctx, r, blob.Pack([]byte(`{}`))))

	n, err := s.Retry(ctx, "r-graded", []eval.Verdict{eval.Unjudged})
	must(t, err)
	equal(t, "retried", n, 1)
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 1, Fail: 1})
	g, err = s.Run(ctx, grading1)
	must(t, err)
	equal(t, "the grading goes on too", g.State, eval.RunRunning)
}

// testRetryUnderAGrading: a grading that was interrupted has nothing to say of
// trials that ran again meanwhile, also when it ends after them.
func testRetryUnderAGrading(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 2)
	dispatch(t, s, "r-graded", 2)
	commit(t, s, unjudged(0), unjudged(1))
	mark(t, s, grading1, store.Mark{Ordinal: 0, Attempt: 1}, store.Mark{Ordinal: 1, Attempt: 1})
	refused := judgement(grading1, 1, 1, true)
	refused.Result.Scores = []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonJudgeRefused}}
	commit(t, s, judgement(grading1, 0, 1, true), refused)
	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	_, err := s.CreateGrading(ctx, g, nil, false)
	must(t, err)

	_, err = s.Retry(ctx, "r-graded", []eval.Verdict{eval.Unjudged})
	must(t, err)
	due, err := s.Outstanding(ctx, grading2)
	must(t, err)
	equal(t, "due in the interrupted grading", len(due), 0)
	mark(t, s, "r-graded", store.Mark{Ordinal: 1, Attempt: 2})
	again := unjudged(1)
	again.UID, again.N = "again", 2
	commit(t, s, again)
	mark(t, s, grading1, store.Mark{Ordinal: 1, Attempt: 2})
	commit(t, s, judgement(grading1, 1, 2, false))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 1, Fail: 1})

	g.Outcome = eval.OutcomeComplete
	must(t, s.Finish(ctx, g, blob.Pack([]byte(`{}`))))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 1, Fail: 1})
	row, err := s.Result(ctx, "r-graded", 1)
	must(t, err)
	equal(t, "what the judge said of the second try", row.Result.Verdict, eval.Fail)
}

// testFinalizing: a grading counts from the moment that it is finalizing, so that
// the summary can be made before it is done.
func testFinalizing(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := createGraded(t, s, 1)
	dispatch(t, s, "r-graded", 1)
	commit(t, s, unjudged(0))
	g := r
	g.ID, g.Parent, g.Grading, g.Created = grading2, r.ID, "", when.Add(time.Hour)
	_, err := s.CreateGrading(ctx, g, nil, false)
	must(t, err)
	mark(t, s, grading2, store.Mark{Ordinal: 0, Attempt: 1})
	commit(t, s, judgement(grading2, 0, 1, true))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Unjudged: 1})
	must(t, s.SetState(ctx, grading2, eval.RunFinalizing))
	expectCounts(t, s, "r-graded", eval.VerdictCounts{Pass: 1})
	r, err = s.Run(ctx, "r-graded")
	must(t, err)
	equal(t, "current grading", r.Grading, grading2)
}
