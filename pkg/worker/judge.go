package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/judge"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// judge carries out a trial of a grading: it asks judges about a stored
// trajectory. A judge that cannot be reached is a failed attempt; after the last
// one the check stays open, and the agent's work with it. The error says that the
// trajectory could not be read now, so that there was no attempt; later, that the
// judge has no room for long.
func (w *Worker) judge(ctx context.Context, at *place, subject string, r *eval.Record) (later time.Duration, err error) {
	at.doing(eval.Activity{Doing: eval.DoingJudge})
	checks := at.p.snap.Grading.Checks(at.c)
	var tr eval.Trajectory
	if len(checks) > 0 {
		switch err := blob.LoadJSON(ctx, w.opts.Blobs, subject, &tr); {
		case errors.Is(err, store.ErrNotFound): // and will not be
			*r = failed(*r, eval.ReasonFarm, "the trajectory to judge is gone")
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("read the trajectory to judge: %w", err)
		}
	}
	result := eval.Result{Verdict: eval.Pass, Stop: eval.StopDone}
	for _, c := range checks {
		ruling, err := w.rule(ctx, at, c, tr)
		result.JudgeUsage = result.JudgeUsage.Add(ruling.Usage)
		result.Times.JudgeMS += ruling.ModelMS
		result.Times.BackoffMS += ruling.WaitedMS
		result.Times.LimiterMS += ruling.LimiterMS
		if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.Later {
			return max(e.Wait, time.Second), nil
		}
		if err != nil {
			*r = unruled(*r, err, at)
			// What the judges before it took is spent all the same.
			r.Result.JudgeUsage, r.Result.Times = result.JudgeUsage, result.Times
			return 0, nil
		}
		if ruling.Score.Pending {
			result.Verdict, result.Reason = eval.Unjudged, ruling.Score.Reason
		}
		result.Scores = append(result.Scores, ruling.Score)
	}
	r.Outcome = eval.AttemptDone
	w.put(result, at, r)
	return 0, nil
}

// rule asks the judge of one check. A check that cannot be put to it, or that nobody
// may pay for, stays open.
func (w *Worker) rule(ctx context.Context, at *place, c eval.Check, tr eval.Trajectory) (judge.Ruling, error) {
	ctx, span := telemetry.Judge(ctx, c)
	defer span.End()
	ruling, err := w.ask(ctx, at, c, tr)
	e, ok := errors.AsType[*llm.Error](err)
	switch {
	case err == nil:
	case ok && e.Kind == llm.CostLimit:
		ruling.Score, err = eval.Score{Check: c.ID, Title: c.Title, Pending: true, Reason: eval.ReasonBudget, Message: e.Message}, nil
	case ok && e.Kind == llm.Later:
		return ruling, err
	case ctx.Err() != nil:
		span.Undecided(eval.ReasonCancelled, err.Error())
		return ruling, err
	default:
		span.Undecided(reasonOf(err), err.Error())
		return ruling, err
	}
	span.Scored([]eval.Score{ruling.Score})
	return ruling, err
}

// ask puts one check to its judge.
func (w *Worker) ask(ctx context.Context, at *place, c eval.Check, tr eval.Trajectory) (judge.Ruling, error) {
	filled, err := score.Fill(c, at.lookup)
	if err != nil {
		return judge.Ruling{Score: eval.Score{Check: c.ID, Pending: true, Reason: eval.ReasonNoJudge, Message: err.Error()}}, nil //nolint:nilerr // the check stays open
	}
	model, of, refused := at.model(filled.Judge.Model, true)
	if refused != nil {
		return judge.Ruling{}, refused
	}
	j := judge.Judge{Model: model, Sampling: at.seeded(of.Sampling)}
	return j.Rule(ctx, filled, at.identity(), tr)
}

// reasonOf says why a judge could not be asked or reached.
func reasonOf(err error) eval.Reason {
	if refused, ok := err.(*refusal); ok { //nolint:errorlint // ours, never wrapped
		return refused.reason
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e.Reason()
	}
	return eval.ReasonModelUnavailable
}

// unruled is the record of a judge that could not be asked or reached.
func unruled(r eval.Record, err error, at *place) eval.Record {
	if refused, ok := err.(*refusal); ok { //nolint:errorlint // ours, never wrapped
		return refused.record(r)
	}
	reason := reasonOf(err)
	r = failed(r, reason, at.redactor().String(fmt.Sprintf("the judge: %v", err)))
	if reason.Permanent() {
		r.Outcome = eval.AttemptDone
	}
	return r
}
