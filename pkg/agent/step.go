package agent

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// step carries out one step and scores it.
func (r *run) step(ctx context.Context, s eval.Step) eval.Score {
	turn := &eval.Turn{Step: s.ID}
	before := r.done.Times.ToolMS
	filled, failed := r.prepare(ctx, s)
	if failed == nil {
		failed = r.carryOut(ctx, filled, turn)
	}
	if len(turn.Calls) > 0 {
		r.done.Trajectory.Turns = append(r.done.Trajectory.Turns, *turn)
	}
	score := eval.Score{Check: s.ID, Title: s.Title, LatencyMS: r.done.Times.ToolMS - before, Target: filled.Call + filled.Read}
	if failed == nil {
		score.Pass, score.Value = true, 1
		return score
	}
	score.Reason, score.Message = failed.reason, failed.message
	score.Expected, score.Actual = answer.Cut(failed.expected), answer.Cut(failed.actual)
	return score
}

// prepare fills a step's placeholders and makes sure that it can be called.
func (r *run) prepare(ctx context.Context, s eval.Step) (eval.Step, *failure) {
	if r.over != nil {
		return s, failf(r.over.reason, "not called: %s", r.over.message)
	}
	if failed := r.interrupted(ctx); failed != nil {
		return s, failf(failed.reason, "not called: %s", failed.message)
	}
	filled, failed := r.fill(s)
	if failed != nil {
		return s, failed
	}
	if filled.Call == "" {
		return filled, nil
	}
	return filled, r.listed(ctx, filled)
}

// listed compares the step's tool with the server's listing: only a tool that
// is there may be called, unless the step wants to see an unknown one rejected.
func (r *run) listed(ctx context.Context, s eval.Step) *failure {
	wantUnknown := wantsUnknownTool(s)
	has, outcome := r.tools.HasTool(ctx, s.Call)
	switch {
	case outcome.Kind != eval.OutcomeOK:
		failed := r.noValue(ctx, outcome)
		return failf(failed.reason, "not called: tools/list: %s", failed.message)
	case has && wantUnknown:
		return failf(eval.ReasonWrongError, "not called: want tool %s to be unknown, but the listing has it", answer.Quote(s.Call))
	case !has && !wantUnknown:
		return failf(eval.ReasonMissingTool, "not called: the listing has no tool %s", answer.Quote(s.Call))
	}
	return nil
}

func wantsUnknownTool(s eval.Step) bool {
	return s.ExpectError != nil && s.ExpectError.Kind == eval.ErrorUnknownTool
}

// carryOut makes the requests of a step and judges the answer.
func (r *run) carryOut(ctx context.Context, s eval.Step, turn *eval.Turn) *failure {
	var a answer.Answer
	var failed *failure
	switch {
	case s.Collect != nil:
		a, failed = r.collect(ctx, s, turn)
	case s.RepeatUntil != nil:
		a, failed = r.poll(ctx, s, turn)
	default:
		a, failed = r.request(ctx, s, turn, false)
	}
	if failed != nil {
		return failed
	}
	if s.ExpectError != nil {
		return rejection(*s.ExpectError, a)
	}
	if a.Rejected() {
		return failf(eval.ReasonUnexpectedError, "want an answer, got the rejection %s", answer.Quote(a.Complaint())).showing(wantOf(s), a.Complaint())
	}
	failures := expectations(s, a)
	return merge(append(failures, r.extract(s, a)...))
}

// wantOf is what a step shows as expected when nothing could be compared.
func wantOf(s eval.Step) any {
	for _, expected := range []eval.JSON{s.Expect, s.ExpectText} {
		if v, err := eval.Decode(expected); err == nil {
			return v
		}
	}
	return "an answer"
}

// extract puts values of the answer into variables, also when an expectation
// failed: the later steps say more with them than without.
func (r *run) extract(s eval.Step, a answer.Answer) []*failure {
	var failures []*failure
	for _, name := range slices.Sorted(maps.Keys(s.Extract)) {
		value, ok, err := match.Get(a.Value, s.Extract[name])
		switch {
		case err != nil:
			failures = append(failures, failf(eval.ReasonExtractMissing, "extract %s: %v", name, err))
		case !ok:
			f := failf(eval.ReasonExtractMissing, "extract %s: nothing at %s in %s", name, s.Extract[name], match.Show(a.Value))
			failures = append(failures, f.showing(map[string]any{s.Extract[name]: map[string]any{"$any": true}}, a.Value))
		default:
			r.extracted[name] = eval.Encode(value)
		}
	}
	return failures
}

// interrupted says whether the trial must end here and now: its context has
// ended, because of its own time limit or of a cancel.
func (r *run) interrupted(ctx context.Context) *failure {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(context.Cause(ctx), errTimeLimit) {
		r.stop(eval.StopTimeLimit)
		r.over = failf(eval.ReasonLimit, "the trial's time limit of %v is reached", r.c.Limits.Time)
		return r.over
	}
	r.stop(eval.StopCancelled)
	return failf(eval.ReasonCancelled, "cancelled: %v", context.Cause(ctx))
}

// noValue explains an outcome that is no answer to a request of ours, or a
// rejected listing, and notes when the session has died of it.
func (r *run) noValue(ctx context.Context, o eval.Outcome) *failure {
	if failed := r.interrupted(ctx); failed != nil {
		return failed
	}
	switch o.Kind {
	case eval.OutcomeCancelled:
		r.stop(eval.StopCancelled)
		return failf(eval.ReasonCancelled, "cancelled: %s", o.Detail)
	case eval.OutcomeFailed:
		failed := failf(o.Reason, "%s", cmp.Or(o.Detail, "no answer"))
		if endsSession(o.Reason) {
			r.stop(eval.StopServerLost)
			r.over = failf(o.Reason, "the server's session had ended: %s", cmp.Or(o.Detail, string(o.Reason)))
		}
		return failed
	default:
		a := answer.Read(o)
		return failf(eval.ReasonUnexpectedError, "want an answer, got the rejection %s", answer.Quote(a.Complaint()))
	}
}

// lostOrNotStarted tells a trial that broke off from one that never began.
func (r *run) lostOrNotStarted() eval.StopReason {
	if len(r.done.Scores) == 0 {
		return eval.StopNotStarted
	}
	return eval.StopServerLost
}

// endsSession says whether nothing more can be asked after a failure.
func endsSession(reason eval.Reason) bool {
	return reason == eval.ReasonServerCrashed || reason == eval.ReasonStreamCut || reason == eval.ReasonOversize
}
