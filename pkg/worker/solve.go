package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

var _ agent.Tools = (*client.Attachment)(nil)

// solve carries out a script or a catalog case and fills in the record.
func (w *Worker) solve(ctx context.Context, at *place, r *eval.Record) {
	set, refused := at.setting(at.server())
	if refused != nil {
		*r = refused.record(*r)
		return
	}
	at.doing(eval.Activity{Doing: eval.DoingStart, On: at.server()})
	att, err := w.open(ctx, at.t, set)
	if err != nil {
		*r = notStarted(*r, err, at.redactor())
		return
	}
	at.doing(eval.Activity{Doing: eval.DoingTool, On: at.server()})
	done, doubtful := carry(ctx, at, att)
	var again []eval.Finding
	if doubtful {
		// Whose doing it was cannot be told, so nobody is judged on it: the trial is
		// repeated once, alone.
		again = []eval.Finding{{Code: "repeated_alone", Detail: doubt(done), Count: 1, Session: true}}
		att.Detach()
		if att, err = w.fresh(ctx, set); err != nil {
			*r = notStarted(*r, err, at.redactor())
			return
		}
		done, _ = carry(ctx, at, att)
	}
	defer att.Detach()
	done.Trajectory.Findings = append(done.Trajectory.Findings, again...)
	done.Trajectory.Server = att.Session().Info()
	w.report(ctx, at, done, []*client.Attachment{att}, r)
}

// doubt says what happened on a shared session that nobody is judged on.
func doubt(done agent.Done) string {
	if done.Message == "" {
		return "the server's session ended while several trials used it"
	}
	return "while several trials used the server's session: " + done.Message
}

// inDoubt says whether what happened may be the doing of another trial on the
// same session: the session died, a call ran into its timeout, perhaps because
// others had the server busy, or an answer came that was nobody's.
func inDoubt(att *client.Attachment, done agent.Done) bool {
	blurred := func(r eval.Reason) bool { return r == eval.ReasonTimeout || r == eval.ReasonProtocolViolation }
	return att.Shared() && (att.Session().Dead() || blurred(done.Reason) ||
		slices.ContainsFunc(done.Scores, func(s eval.Score) bool { return blurred(s.Reason) }))
}

// open gives a trial a session with a server: one of its own, or its run's.
func (w *Worker) open(ctx context.Context, t eval.Trial, set setting) (*client.Attachment, error) {
	if set.isolation == eval.IsolationTrial {
		return w.fresh(ctx, set)
	}
	set.spec.Attempt = "" // it is opened for all of the run
	return started(ctx, set, func(ctx context.Context) (*client.Attachment, error) {
		return w.opts.Sessions.Shared(ctx, t.Run, set.key(), set.spec)
	})
}

// fresh opens a session for a trial alone.
func (w *Worker) fresh(ctx context.Context, set setting) (*client.Attachment, error) {
	return started(ctx, set, func(ctx context.Context) (*client.Attachment, error) {
		return w.opts.Sessions.Fresh(ctx, set.spec)
	})
}

// started shows a start in a trace.
func started(ctx context.Context, set setting, open func(context.Context) (*client.Attachment, error)) (*client.Attachment, error) {
	ctx, span := telemetry.Start(ctx, set.spec.Name)
	defer span.End()
	if span.On() {
		span.To(set.spec.Peer())
	}
	att, err := open(ctx)
	switch start, ok := errors.AsType[*client.StartError](err); {
	case ok:
		span.Undecided(start.Reason, start.Detail)
	case err != nil && ctx.Err() != nil:
		span.Undecided(eval.ReasonCancelled, err.Error())
	case err != nil:
		span.Undecided(eval.ReasonFarm, err.Error())
	case span.On():
		span.To(att.Session().Peer())
	}
	return att, err
}

// notStarted turns the failure to open a session into a record.
func notStarted(r eval.Record, err error, secrets *redact.Redactor) eval.Record {
	reason, message, stderr := eval.ReasonFarm, err.Error(), ""
	if start, ok := errors.AsType[*client.StartError](err); ok {
		// The report puts the reason in front itself.
		reason, stderr = start.Reason, start.Stderr
		message = fmt.Sprintf("server %s: %s", start.Server, start.Detail)
	}
	r = failed(r, reason, secrets.String(message))
	r.Result.Stderr = secrets.String(stderr)
	if reason.Permanent() {
		r.Outcome = eval.AttemptDone
	}
	return r
}

// carry runs a case on a session, and says whether what happened may be the doing of
// another trial.
func carry(ctx context.Context, at *place, att *client.Attachment) (done agent.Done, doubtful bool) {
	ctx, span := telemetry.Steps(ctx, at.c.Kind, at.t, at.server())
	defer span.End()
	if at.c.Kind == eval.KindCatalog {
		done = checkCatalog(ctx, at.c, att)
	} else {
		done = agent.Script{}.Run(ctx, at.c, at.lookup, att)
	}
	if inDoubt(att, done) && ctx.Err() == nil {
		span.Doubted()
		return done, true
	}
	span.Worked(told(done), time.Now())
	return done, false
}

// told is the part of a result that traces are told.
func told(done agent.Done) eval.Result {
	return eval.Result{
		Verdict: done.Verdict, Reason: done.Reason, Message: done.Message, Stop: done.Stop,
		Scores: done.Scores, Counts: done.Counts, Usage: done.Usage,
	}
}

// errTimeLimit is the cause with which a catalog case's own time limit ends it.
var errTimeLimit = errors.New("the trial's time limit")

// checkCatalog lists the tools of a server and applies the catalog's rules.
func checkCatalog(ctx context.Context, c eval.Case, att *client.Attachment) agent.Done {
	if c.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Limits.Time, errTimeLimit)
		defer cancel()
	}
	pages, outcome := att.ListTools(ctx)
	done := agent.Done{Stop: eval.StopDone, Verdict: eval.Pass}
	done.Trajectory.Turns = []eval.Turn{{Calls: listCalls(pages, outcome)}}
	done.Counts.Turns = 1
	for _, call := range done.Trajectory.Turns[0].Calls {
		done.Counts.ResponseBytes += call.Outcome.ResponseBytes
	}
	done.Times.ToolMS = outcome.LatencyMS
	switch {
	case errors.Is(context.Cause(ctx), errTimeLimit):
		done.Stop, done.Verdict, done.Reason, done.Message = eval.StopTimeLimit, eval.Fail, eval.ReasonLimit, fmt.Sprintf("no listing within the time limit of %s", c.Limits.Time)
		return done
	case outcome.Error != nil:
		done.Verdict, done.Reason = eval.Fail, eval.ReasonUnexpectedError
		done.Message = fmt.Sprintf("tools/list: %s (code %d)", outcome.Error.Message, outcome.Error.Code)
		return done
	case outcome.Kind != eval.OutcomeOK:
		done.Verdict, done.Reason, done.Message = eval.Fail, outcome.Reason, outcome.Detail
		if done.Reason.Infra() {
			done.Verdict = eval.Error
		}
		return done
	}
	listing, scores := catalog.Check(pages, *c.Catalog)
	done.Scores = scores
	done.Trajectory.Listing = &listing
	done.Counts.ContextTokens = listing.ContextTokens
	rules, broken := map[string]bool{}, map[string]bool{}
	for _, s := range scores {
		rules[s.Check] = true
		if s.Pass || s.Warning {
			done.Counts.StepsPass++
			continue
		}
		done.Counts.StepsFail++
		broken[s.Check] = true
	}
	if len(broken) > 0 {
		done.Verdict, done.Reason = eval.Fail, eval.ReasonCatalogRule
		done.Message = fmt.Sprintf("%d of %d rules broken", len(broken), len(rules))
	}
	return done
}

// listCalls are the requests that brought the pages of a listing; the outcome is
// that of the last.
func listCalls(pages []eval.JSON, last eval.Outcome) []eval.ToolCall {
	const method = "tools/list"
	var calls []eval.ToolCall
	for i, page := range pages {
		o := eval.Outcome{Kind: eval.OutcomeOK, Result: page, ResponseBytes: len(page)}
		if i == len(pages)-1 && last.Kind == eval.OutcomeOK {
			o = last
		}
		calls = append(calls, eval.ToolCall{Method: method, Outcome: o})
	}
	if last.Kind != eval.OutcomeOK || len(pages) == 0 {
		calls = append(calls, eval.ToolCall{Method: method, Outcome: last})
	}
	return calls
}
