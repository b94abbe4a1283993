package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// judgedSuite has a case that a judge decides, and a gate on the judge.
func judgedSuite(rubric string) *suite.Loaded {
	return &suite.Loaded{Hash: "sha256:1", Suite: eval.Suite{
		Name: "shop", Repeats: eval.Repeats{N: 4}, Models: map[string]eval.Model{"m": {Provider: "scripted"}},
		Gate: eval.Gate{Rules: []eval.Rule{{Metric: eval.MetricJudgeAgreement, Op: ">=", Bound: 0.8}}},
		Cases: []eval.Case{{
			ID: "a", Kind: eval.KindAgent, Model: "m", Prompt: "Say a.",
			Checks: []eval.Check{{ID: "tone", Judge: &eval.JudgeCheck{Rubric: rubric, Model: "m"}}},
		}},
	}}
}

// judged stores a done run of four trials, which its judge has passed in these words.
func (s shelf) judged(id, words string) eval.Run {
	s.t.Helper()
	ctx := s.t.Context()
	run, err := scheduler.Create(ctx, s, scheduler.Request{Suite: judgedSuite("be kind"), Seed: 1, ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range 4 {
		trajectory := blob.Pack(fmt.Appendf(nil, `{"run":%q,"trial":%d}`, id, i))
		s.keep(id, i, eval.Result{
			Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge, Trajectory: trajectory.SHA256,
			Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
		}, trajectory)
		s.keep(run.Grading, i, eval.Result{Verdict: eval.Pass, Scores: []eval.Score{said(true, words)}})
	}
	if _, err := scheduler.End(ctx, s, run, eval.OutcomeComplete); err != nil {
		s.t.Fatal(err)
	}
	if run, err = s.Run(ctx, id); err != nil {
		s.t.Fatal(err)
	}
	return run
}

// said is a score of what a judge has voted on.
func said(pass bool, words string) eval.Score {
	return eval.Score{Check: "tone", Pass: pass, Message: words, Votes: []eval.Vote{{Pass: new(true)}}}
}

func (s shelf) keep(run string, ordinal int, r eval.Result, blobs ...eval.Blob) {
	s.t.Helper()
	if _, err := s.Dispatch(s.t.Context(), run, []store.Mark{{Ordinal: ordinal, Attempt: 1}}); err != nil {
		s.t.Fatal(err)
	}
	_, err := s.Commit(s.t.Context(), []eval.Record{{
		UID: fmt.Sprintf("%s-%d", run, ordinal), Run: run, Ordinal: ordinal, N: 1, Outcome: eval.AttemptDone, Result: r, Blobs: blobs,
	}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// grade adds a grading with a score for each trial, and ends it if it is to count.
func (s shelf) grade(run eval.Run, how eval.Grading, ends bool, scores ...eval.Score) {
	s.t.Helper()
	g, _, err := scheduler.Grade(s.t.Context(), s, run, how, true)
	if err != nil {
		s.t.Fatal(err)
	}
	for i, score := range scores {
		s.keep(g.ID, i, eval.Result{Verdict: eval.Pass, Scores: []eval.Score{score}})
	}
	if !ends {
		return
	}
	if _, err := scheduler.EndGrading(s.t.Context(), s, g); err != nil {
		s.t.Fatal(err)
	}
}

// What counts as a review of the judge, and what does not.
func TestReviewsOfAJudge(t *testing.T) {
	ann := eval.Grading{By: "ann"}
	yes, no := said(true, "scored by ann"), said(false, "scored by ann")
	kept := said(true, "good")
	tests := []struct {
		name   string
		words  string // of the judge
		review func(s shelf, run eval.Run)
		n      int // of labels
		ac1    float64
	}{
		{"nobody", "good", func(shelf, eval.Run) {}, 0, 0},
		{"all agree", "good", func(s shelf, run eval.Run) { s.grade(run, ann, true, yes, yes, yes, yes) }, 4, 1},
		{"what was skipped is no label", "good", func(s shelf, run eval.Run) { s.grade(run, ann, true, yes, kept, kept, no) }, 2, 0.2},
		{"a review that has not ended", "good", func(s shelf, run eval.Run) { s.grade(run, ann, false, no, no) }, 0, 0},
		{"a judge that poses as the reviewer", "scored by ann", func(s shelf, run eval.Run) { s.grade(run, ann, true, yes, yes, yes, yes) }, 0, 0},
		{"the last word of people", "good", func(s shelf, run eval.Run) {
			s.grade(run, ann, true, no, no, no, no)
			s.grade(run, ann, true, yes, yes, yes, yes)
		}, 4, 1},
		{"the last word of the judge", "good", func(s shelf, run eval.Run) {
			s.grade(run, ann, true, no, no, no, no)
			bad := said(false, "bad")
			s.grade(run, eval.Grading{}, true, bad, bad, bad, bad)
		}, 4, 1},
		{"another judge", "good", func(s shelf, run eval.Run) {
			s.grade(run, ann, true, yes, yes, yes, yes)
			bad := said(false, "bad")
			s.grade(run, eval.Grading{Model: "m"}, true, bad, bad, bad, bad)
		}, 4, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newShelf(t)
			run := s.judged("r-1", tt.words)
			tt.review(s, run)
			var snap eval.Snapshot
			if err := blob.LoadJSON(t.Context(), s, run.Header, &snap); err != nil {
				t.Fatal(err)
			}
			got, err := scheduler.Agreement(t.Context(), s, run, snap)
			switch {
			case err != nil:
				t.Fatal(err)
			case tt.n == 0 && got != nil:
				t.Errorf("got %+v, want no review", got)
			case tt.n > 0 && (got == nil || got.Run != "r-1" || got.N != tt.n || *got.AC1.Value-tt.ac1 > 1e-9 || tt.ac1-*got.AC1.Value > 1e-9):
				t.Errorf("got %+v, want %d labels of r-1 and AC1 %v", got, tt.n, tt.ac1)
			}
		})
	}
}

// A run goes by the newest earlier one that was judged alike and reviewed, also that of a
// schedule; reviews after that change nothing in it.
func TestReviewsOfAnEarlierRun(t *testing.T) {
	s := newShelf(t)
	yes := said(true, "scored by ann")
	s.grade(s.judged("r-1", "good"), eval.Grading{By: "ann"}, true, yes, yes, yes)
	s.grade(s.judged("r-2", "good"), eval.Grading{By: "ann"}, true, yes, yes)
	s.judged("r-3", "good")
	for _, tt := range []struct{ name, rubric, want string }{{"judged alike", "be kind", "r-2"}, {"judged by another rubric", "be short", ""}} {
		t.Run(tt.name, func(t *testing.T) {
			req := scheduler.Request{Suite: judgedSuite(tt.rubric), Seed: 1}
			if err := scheduler.Agree(t.Context(), s, &req); err != nil {
				t.Fatal(err)
			}
			if got := req.Agreement; (got == nil) != (tt.want == "") || got != nil && (got.Run != tt.want || got.N != 2) {
				t.Errorf("got %+v, want the two reviews of %q", got, tt.want)
			}
		})
	}

	now := time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)
	nightly := eval.Schedule{Name: "nightly", Cron: "0 1 * * *", Timezone: "UTC", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpSkip, Paused: true}
	if err := scheduler.PutSchedule(t.Context(), s, nightly, now); err != nil {
		t.Fatal(err)
	}
	of, err := s.Schedule(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	request := func(context.Context, eval.Schedule) (scheduler.Request, error) {
		return scheduler.Request{Suite: judgedSuite("be kind"), Seed: 1}, nil
	}
	run, err := scheduler.FireByHand(t.Context(), s, of, now, request)
	if err != nil {
		t.Fatal(err)
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(t.Context(), s, run.Header, &snap); err != nil {
		t.Fatal(err)
	}
	if snap.Agreement == nil || snap.Agreement.Run != "r-2" {
		t.Errorf("the run of a schedule has frozen %+v, want the reviews of r-2", snap.Agreement)
	}
}
