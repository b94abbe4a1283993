package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/redact"
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
	done := carry(ctx, at, att)
	var again []eval.Finding
	if doubtful(att, done) && ctx.Err() == nil {
		// Whose doing it was cannot be told, so nobody is judged on it: the trial is
		// repeated once, alone.
		again = []eval.Finding{{Code: "repeated_alone", Detail: inDoubt(done), Count: 1, Session: true}}
		att.Detach()
		if att, err = w.opts.Sessions.Fresh(ctx, set.spec); err != nil {
			*r = notStarted(*r, err, at.redactor())
			return
		}
		done = carry(ctx, at, att)
	}
	defer att.Detach()
	done.Trajectory.Findings = append(done.Trajectory.Findings, again...)
	done.Trajectory.Server = att.Session().Info()
	w.report(ctx, at, done, []*client.Attachment{att}, r)
}

// inDoubt says what happened on a shared session that nobody is judged on.
func inDoubt(done agent.Done) string {
	if done.Message == "" {
		return "the server's session ended while several trials used it"
	}
	return "while several trials used the server's session: " + done.Message
}

// doubtful says whether what happened may be the doing of another trial on the
// same session: the session died, a call ran into its timeout, perhaps because
// others had the server busy, or an answer came that was nobody's.
func doubtful(att *client.Attachment, done agent.Done) bool {
	blurred := func(r eval.Reason) bool { return r == eval.ReasonTimeout || r == eval.ReasonProtocolViolation }
	return att.Shared() && (att.Session().Dead() || blurred(done.Reason) ||
		slices.ContainsFunc(done.Scores, func(s eval.Score) bool { return blurred(s.Reason) }))
}

func (w *Worker) open(ctx context.Context, t eval.Trial, set setting) (*client.Attachment, error) {
	if set.isolation == eval.IsolationTrial {
		return w.opts.Sessions.Fresh(ctx, set.spec)
	}
	set.spec.Attempt = "" // it is opened for all of the run
	return w.opts.Sessions.Shared(ctx, t.Run, set.key(), set.spec)
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

// carry runs a case on a session.
func carry(ctx context.Context, at *place, att *client.Attachment) agent.Done {
	if at.c.Kind == eval.KindCatalog {
		return checkCatalog(ctx, at.c, att)
	}
	return agent.Script{}.Run(ctx, at.c, at.lookup, att)
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
