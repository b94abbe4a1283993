package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

var _ agent.Tools = (*client.Attachment)(nil)

// solve carries out the case of a trial and fills in the record.
func (w *Worker) solve(ctx context.Context, p *plan, t eval.Trial, c eval.Case, r *eval.Record) {
	set, refused := w.setting(p, t, c)
	if refused != nil {
		*r = failed(*r, refused.reason, refused.message)
		// Another attempt here would find the same.
		r.Outcome = eval.AttemptDone
		return
	}
	att, err := w.open(ctx, t, set)
	if err != nil {
		*r = notStarted(*r, err, set)
		return
	}
	done := carry(ctx, c, set, att)
	var again []eval.Finding
	if doubtful(att, done) && ctx.Err() == nil {
		// Whose doing it was cannot be told, so nobody is judged on it: the trial is
		// repeated once, alone.
		again = []eval.Finding{{Code: "repeated_alone", Detail: inDoubt(done), Count: 1, Session: true}}
		att.Detach()
		if att, err = w.opts.Sessions.Fresh(ctx, set.spec); err != nil {
			*r = notStarted(*r, err, set)
			return
		}
		done = carry(ctx, c, set, att)
	}
	defer att.Detach()
	done.Trajectory.Findings = append(done.Trajectory.Findings, again...)
	w.report(ctx, set, att, done, r)
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
	return w.opts.Sessions.Shared(ctx, t.Run, set.key(), set.spec)
}

// notStarted turns the failure to open a session into a record.
func notStarted(r eval.Record, err error, set setting) eval.Record {
	reason, message, stderr := eval.ReasonFarm, err.Error(), ""
	if start, ok := errors.AsType[*client.StartError](err); ok {
		// The report puts the reason in front itself.
		reason, stderr = start.Reason, start.Stderr
		message = fmt.Sprintf("server %s: %s", start.Server, start.Detail)
	}
	r = failed(r, reason, set.secrets.String(message))
	r.Result.Stderr = set.secrets.String(stderr)
	if reason.Permanent() {
		r.Outcome = eval.AttemptDone
	}
	return r
}

// carry runs a case on a session.
func carry(ctx context.Context, c eval.Case, set setting, att *client.Attachment) agent.Done {
	if c.Kind == eval.KindCatalog {
		return checkCatalog(ctx, c, att)
	}
	return agent.Script{}.Run(ctx, c, set.lookup, att)
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

// report puts what a case did into the record, with secrets taken out.
func (w *Worker) report(ctx context.Context, set setting, att *client.Attachment, done agent.Done, r *eval.Record) {
	r.Outcome = eval.AttemptDone
	if done.Verdict == eval.Error && !done.Reason.Permanent() {
		r.Outcome = eval.AttemptFailed
	}
	tr := done.Trajectory
	tr.Server = att.Session().Info()
	tr.Findings = append(tr.Findings, att.Findings()...)
	if done.Verdict != eval.Pass {
		tr.Stderr, tr.Exit = att.Session().Stderr(), att.Session().Exit()
	}
	result := eval.Result{
		Verdict: done.Verdict, Reason: done.Reason, Message: done.Message, Stop: done.Stop,
		Scores: done.Scores, Counts: done.Counts, Times: done.Times, Tools: done.Tools,
		Listing: tr.Listing, Findings: tr.Findings, Server: tr.Server,
		TrajectoryHash: tr.Hash(), Stderr: tr.Stderr,
	}
	result.Times.ServerStartMS = att.StartMS()
	result.Trajectory = w.keep(ctx, r, set.secrets.JSON(eval.Encode(tr)))
	if frames := att.Frames(); len(frames) > 0 {
		result.Frames = w.keep(ctx, r, set.secrets.JSON(eval.Encode(frames)))
	}
	if set.secrets == nil {
		r.Result = result
		return
	}
	// The result itself holds what was heard: expected, actual, messages.
	if err := json.Unmarshal(set.secrets.JSON(eval.Encode(result)), &r.Result); err != nil {
		*r = failed(*r, eval.ReasonFarm, fmt.Sprintf("redact the result: %v", err))
	}
}

// inline is how many compressed bytes of a blob travel in the record itself.
// Larger ones go to the blob store first, to keep the queue's memory small.
const inline = 16 << 10

// keep makes a blob of content and gives its address.
func (w *Worker) keep(ctx context.Context, r *eval.Record, content []byte) string {
	b := blob.Pack(content)
	if len(b.Zstd) > inline {
		err := w.opts.Blobs.PutBlobs(ctx, b)
		if err == nil {
			return b.SHA256
		}
		w.log.WarnContext(ctx, "store a blob; it travels in the record instead", "sha256", b.SHA256, "error", err)
	}
	r.Blobs = append(r.Blobs, b)
	return b.SHA256
}
