package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/judge"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// judge carries out a trial of a grading: it asks judges about a stored
// trajectory. A judge that cannot be reached is a failed attempt; after the last
// one the check stays open, and the agent's work with it. The error says that the
// trajectory could not be read now, so that there was no attempt.
func (w *Worker) judge(ctx context.Context, at *place, subject string, r *eval.Record) error {
	checks := at.judged()
	var tr eval.Trajectory
	if len(checks) > 0 {
		switch err := blob.LoadJSON(ctx, w.opts.Blobs, subject, &tr); {
		case errors.Is(err, store.ErrNotFound): // and will not be
			*r = failed(*r, eval.ReasonFarm, "the trajectory to judge is gone")
			return nil
		case err != nil:
			return fmt.Errorf("read the trajectory to judge: %w", err)
		}
	}
	result := eval.Result{Verdict: eval.Pass, Stop: eval.StopDone}
	for _, c := range checks {
		filled, err := score.Fill(c, at.lookup)
		if err != nil {
			result.Verdict, result.Reason = eval.Unjudged, eval.ReasonNoJudge
			result.Scores = append(result.Scores, eval.Score{Check: c.ID, Pending: true, Reason: eval.ReasonNoJudge, Message: err.Error()})
			continue
		}
		ruling, err := w.rule(ctx, at, filled, tr)
		result.JudgeUsage = result.JudgeUsage.Add(ruling.Usage)
		result.Times.JudgeMS += ruling.ModelMS
		result.Times.BackoffMS += ruling.WaitedMS
		if err != nil {
			*r = unruled(*r, err, at)
			// What the judges before it took is spent all the same.
			r.Result.JudgeUsage, r.Result.Times = result.JudgeUsage, result.Times
			return nil
		}
		if ruling.Score.Pending {
			result.Verdict, result.Reason = eval.Unjudged, ruling.Score.Reason
		}
		result.Scores = append(result.Scores, ruling.Score)
	}
	r.Outcome = eval.AttemptDone
	w.put(result, at, r)
	return nil
}

// judged lists the checks that the grading judges: those of the case, or the
// grading's own rubric, which is for agents.
func (at *place) judged() []eval.Check {
	how := at.p.snap.Grading
	switch {
	case at.c.Kind != eval.KindAgent:
		return nil
	case how.Rubric != "":
		return []eval.Check{{ID: "rubric", Judge: &eval.JudgeCheck{Rubric: how.Rubric, Model: how.Model}}}
	}
	var out []eval.Check
	var collect func([]eval.Check)
	collect = func(cs []eval.Check) {
		for _, c := range cs {
			if c.Judge != nil {
				j := *c.Judge
				if how.Model != "" {
					j.Model = how.Model
				}
				c.Judge = &j
				out = append(out, c)
			}
			collect(c.Any)
			collect(c.All)
		}
	}
	collect(at.c.Checks)
	return out
}

// rule asks the judge of one check.
func (w *Worker) rule(ctx context.Context, at *place, c eval.Check, tr eval.Trajectory) (judge.Ruling, error) {
	model, of, refused := at.model(c.Judge.Model)
	if refused != nil {
		return judge.Ruling{}, refused
	}
	j := judge.Judge{Model: model, Sampling: at.seeded(of.Sampling)}
	return j.Rule(ctx, c, at.identity(), tr)
}

// unruled is the record of a judge that could not be asked or reached.
func unruled(r eval.Record, err error, at *place) eval.Record {
	if refused, ok := err.(*refusal); ok { //nolint:errorlint // ours, never wrapped
		return refused.record(r)
	}
	reason := eval.ReasonModelUnavailable
	if e, ok := errors.AsType[*llm.Error](err); ok {
		reason = e.Reason()
	}
	r = failed(r, reason, at.redactor().String(fmt.Sprintf("the judge: %v", err)))
	if reason.Permanent() {
		r.Outcome = eval.AttemptDone
	}
	return r
}
