package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A ReviewSource is where the reviews of a run are found.
type ReviewSource interface {
	blob.Store
	Gradings(ctx context.Context, run string) ([]eval.Run, error)
	EachResult(ctx context.Context, run string, fn func(store.Row) error) error
}

// A PastReviewSource is where those of earlier runs are found, too.
type PastReviewSource interface {
	ReviewSource
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
}

// mostUnreviewed bounds the runs in which reviews are looked for: people review seldom.
const mostUnreviewed = 500

// Agree freezes into a request how far its judge agrees with people, by the reviews of
// an earlier run, if a rule of the gate asks for that.
func Agree(ctx context.Context, s PastReviewSource, req *Request) error {
	if !req.Suite.Suite.Gate.Asks(eval.MetricJudgeAgreement) {
		return nil
	}
	_, snap, wrong := Preview(*req)
	if wrong != nil {
		return nil //nolint:nilerr // nothing can be made of the request, which Create says better
	}
	var err error
	req.Agreement, err = PastAgreement(ctx, s, snap, time.Time{})
	return err
}

// PastAgreement is what the reviews of the newest done run of the same suite say that was
// judged as this one is, and has some. Until keeps to runs that were created then or
// before; zero is no bound. It is nil if there is none.
func PastAgreement(ctx context.Context, s PastReviewSource, snap eval.Snapshot, until time.Time) (*eval.Agreement, error) {
	judging := snap.Judging()
	if len(judging) == 0 {
		return nil, nil
	}
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: snap.Suite, Until: until, Limit: mostUnreviewed})
	if err != nil {
		return nil, fmt.Errorf("look for reviews of suite %s: %w", snap.Suite, err)
	}
	for _, run := range runs {
		if run.State != eval.RunDone {
			continue
		}
		a, err := agreement(ctx, s, run, judging)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil || a != nil {
			return a, err
		}
	}
	return nil, nil
}

// Agreement is what the gate of a run goes by: its own reviews, or those that its
// snapshot has frozen. It is nil if no rule asks for it, or nobody has reviewed.
func Agreement(ctx context.Context, s ReviewSource, run eval.Run, snap eval.Snapshot) (*eval.Agreement, error) {
	if !snap.Gate.Asks(eval.MetricJudgeAgreement) {
		return snap.Agreement, nil
	}
	own, err := agreement(ctx, s, run, snap.Judging())
	if err != nil || own != nil {
		return own, err
	}
	return snap.Agreement, nil
}

// agreement is that of the reviews of a run, as far as its cases were judged as is said;
// nil if it has none.
func agreement(ctx context.Context, s ReviewSource, run eval.Run, judging map[string]string) (*eval.Agreement, error) {
	all, err := s.Gradings(ctx, run.ID)
	if err != nil {
		return nil, fmt.Errorf("reviews of run %s: %w", run.ID, err)
	}
	hows := make([]eval.Grading, len(all))
	reviewed := false
	for i, g := range all {
		var snap eval.Snapshot
		if len(all) == 1 { // the run's own
			break
		}
		if err := blob.LoadJSON(ctx, s, g.Header, &snap); err != nil {
			return nil, fmt.Errorf("reviews of run %s: %w", run.ID, err)
		}
		if snap.Grading != nil {
			hows[i] = *snap.Grading
		}
		reviewed = reviewed || hows[i].By != ""
	}
	if !reviewed {
		return nil, nil
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return nil, fmt.Errorf("reviews of run %s: %w", run.ID, err)
	}
	r := reviews{alike: map[int]bool{}, order: eval.NewOrder(snap.Plan), results: map[string]bool{}, judge: map[spot]eval.Score{}, people: map[spot]eval.Score{}}
	own := snap.Judging()
	for i, cell := range snap.Plan.Cells {
		id := snap.Cases[cell.Case].ID
		r.alike[i] = own[id] != "" && own[id] == judging[id]
	}
	for i, g := range all {
		// A review counts from its end on.
		if ended := g.State == eval.RunFinalizing || g.State == eval.RunDone && g.Outcome == eval.OutcomeComplete; hows[i].By != "" && !ended {
			continue
		}
		err := s.EachResult(ctx, g.ID, func(row store.Row) error { return r.read(hows[i], row) })
		if err != nil {
			return nil, fmt.Errorf("reviews of run %s: %w", run.ID, err)
		}
	}
	var items []aggregate.Labelled
	for at, human := range r.people {
		if judge, spoke := r.judge[at]; spoke {
			items = append(items, aggregate.Labelled{Human: human.Pass, Judge: judge.Pass})
		}
	}
	if len(items) == 0 {
		return nil, nil
	}
	return &eval.Agreement{Run: run.ID, N: len(items), AC1: aggregate.Agreement(items)}, nil
}

// reviews collects what people and the suite's judge said last, check by check.
type reviews struct {
	// alike are the cells that count, by index.
	alike map[int]bool
	order *eval.Order
	// results that were read: a grading has those of the one before among its own.
	results       map[string]bool
	judge, people map[spot]eval.Score
}

// A spot is one check of one trial.
type spot struct {
	ordinal int
	check   string
}

// read takes up what a grading says of a trial. Its scores stand side by side, those of
// checks in groups too.
func (r *reviews) read(how eval.Grading, row store.Row) error {
	cell, _, err := r.order.At(row.Ordinal)
	if err != nil {
		return err
	}
	if !r.alike[cell] || r.results[row.UID] {
		return nil
	}
	r.results[row.UID] = true
	for _, s := range row.Result.Scores {
		if len(s.Votes) == 0 || s.Pending { // no judge was asked, or nobody has spoken
			continue
		}
		at := spot{row.Ordinal, s.Check}
		// What was not scored anew is handed on: the words tell whose it is.
		judge, spoke := r.judge[at]
		human, labelled := r.people[at]
		ofJudge, ofPerson := spoke && judge.Message == s.Message, labelled && human.Message == s.Message
		switch {
		case how.By != "":
			if s.Message == eval.ScoredBy+how.By && !ofJudge {
				r.people[at] = s
			}
		case how.Model == "" && how.Rubric == "" && !ofPerson:
			r.judge[at] = s
		}
	}
	return nil
}
