package worker

import (
	"context"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/catalog"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// converse carries out an agent case: a session with each of its servers, the
// loop, then the checks that need no judge. When its model has no room for it for
// long, and nothing is paid yet, it says how long it had better wait.
func (w *Worker) converse(ctx context.Context, at *place, r *eval.Record) (later time.Duration) {
	loop, task, refused := at.task()
	if refused != nil {
		*r = refused.record(*r)
		return 0
	}
	at.doing(eval.Activity{Doing: eval.DoingStart})
	atts, err := w.openAll(ctx, at, &task)
	defer func() {
		for _, att := range atts {
			att.Detach()
		}
	}()
	if refused, ok := err.(*refusal); ok { //nolint:errorlint // ours, never wrapped
		*r = refused.record(*r)
		return 0
	}
	if err != nil {
		*r = notStarted(*r, err, at.redactor())
		return 0
	}
	working, span := telemetry.InvokeAgent(ctx, at.agent(), at.t)
	done := loop.Run(working, task)
	ended := time.Now()
	defer func() { span.Worked(told(done), ended) }() // with what follows
	if done.Later > 0 {
		return done.Later
	}
	if err := at.clean(&done.Trajectory); err != nil {
		*r = failed(*r, eval.ReasonFarm, err.Error())
		return 0
	}
	done.Trajectory.Listing = listed(task)
	if done.Verdict == "" || done.Verdict == eval.Fail {
		at.doing(eval.Activity{Doing: eval.DoingScore})
		w.score(ctx, at, task, &done)
	}
	done.Trajectory.Servers = map[string]eval.ServerInfo{}
	for i, att := range atts {
		done.Trajectory.Servers[task.Servers[i].Name] = att.Session().Info()
	}
	if len(atts) == 1 {
		done.Trajectory.Server, done.Trajectory.Servers = atts[0].Session().Info(), nil
	}
	w.report(ctx, at, done, atts, r)
	return 0
}

// A listener keeps what a server said of its tools.
type listener struct {
	*client.Attachment
	pages  []eval.JSON
	called func(tool string)
}

// Call implements [agent.Tools].
func (l *listener) Call(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome {
	l.called(tool)
	return l.Attachment.Call(ctx, tool, arguments)
}

// ListTools implements [agent.Tools].
func (l *listener) ListTools(ctx context.Context) ([]eval.JSON, eval.Outcome) {
	pages, outcome := l.Attachment.ListTools(ctx)
	l.pages = pages
	return pages, outcome
}

// listen makes a listener, which also shows what is called.
func (at *place) listen(server string, att *client.Attachment) *listener {
	return &listener{Attachment: att, called: func(tool string) {
		at.doing(eval.Activity{Doing: eval.DoingTool, On: server + "/" + tool})
	}}
}

// listed summarizes the tools of all servers of a task, which tells whether two
// trials had the same before them. Nil: no server has listed any.
func listed(task agent.Task) *eval.Listing {
	var servers [][]eval.JSON
	for _, s := range task.Servers {
		if l, ok := s.Tools.(*listener); ok && len(l.pages) > 0 {
			servers = append(servers, l.pages)
		}
	}
	if len(servers) == 0 {
		return nil
	}
	l := catalog.Summarize(servers...)
	return &l
}

// task is what the loop is to do, without the servers.
func (at *place) task() (agent.Loop, agent.Task, *refusal) {
	var loop agent.Loop
	task := agent.Task{
		Case: at.c, Trial: at.t, Settings: at.settings(), Lookup: at.lookup,
		Loading: eval.Loading(at.t.Variant.Axes[eval.AxisLoading]), Namespaced: at.c.Namespaced,
	}
	model, declared, refused := at.model(at.agentModel(), false)
	if refused != nil {
		return loop, task, refused
	}
	loop.Model = model
	task.Sampling = at.seeded(declared.Over(task.Settings.Sampling))
	if user := at.c.User; user != nil && user.Model != "" {
		model, declared, refused := at.model(user.Model, false)
		if refused != nil {
			return loop, task, refused
		}
		loop.User, task.UserSampling = model, at.seeded(declared.Sampling)
	}
	return loop, task, nil
}

// openAll opens a session with each server of the case. Those that it returns
// are open, also beside an error.
func (w *Worker) openAll(ctx context.Context, at *place, task *agent.Task) ([]*client.Attachment, error) {
	names := at.c.Servers
	if len(names) == 0 {
		names = []string{at.server()}
	}
	var atts []*client.Attachment
	for _, name := range names {
		set, refused := at.setting(name)
		if refused != nil {
			return atts, refused
		}
		att, err := w.open(ctx, at.t, set)
		if err != nil {
			return atts, err
		}
		atts = append(atts, att)
		task.Servers = append(task.Servers, agent.Server{Name: name, Tools: at.listen(name, att), UnderTest: set.spec.Server.UnderTest})
	}
	return atts, nil
}

// score decides the checks of a trial and folds them into its verdict. A verdict
// that the loop came to stands.
func (w *Worker) score(ctx context.Context, at *place, task agent.Task, done *agent.Done) {
	options := score.Options{
		Dir:     at.p.snap.Dir,
		Environ: w.opts.Environ,
		Verify: func(ctx context.Context, server string, step eval.Step) eval.Score {
			tools := task.Servers[0].Tools
			for _, s := range task.Servers {
				if s.Name == server {
					tools = s.Tools
				}
			}
			done := agent.Script{}.Run(ctx, eval.Case{ID: at.c.ID, Steps: []eval.Step{step}}, at.lookup, tools)
			if len(done.Scores) == 0 { // it was cancelled
				return eval.Score{Reason: done.Reason, Message: done.Message}
			}
			return done.Scores[0]
		},
	}
	subject := score.Subject{
		Case: at.c, Trial: at.t, Trajectory: done.Trajectory, Counts: done.Counts, Usage: done.Usage,
		CostMicroUSD: at.purse.Cost(), Stop: done.Stop, Elapsed: done.Elapsed,
	}
	ctx, span := telemetry.Checks(ctx, len(at.c.Checks))
	defer span.End()
	checks, err := fillAll(at)
	if err != nil {
		done.Verdict, done.Reason, done.Message = eval.Error, eval.ReasonScorerFailed, err.Error()
		span.Undecided(done.Reason, done.Message)
		return
	}
	done.Scores = score.Checks(ctx, checks, subject, options)
	if i := slices.IndexFunc(done.Scores, func(s eval.Score) bool { return s.Reason.Infra() }); i >= 0 {
		span.Undecided(done.Scores[i].Reason, done.Scores[i].Message)
	}
	verdict, reason, message := eval.Fold(done.Scores, at.c.Threshold)
	at.broken = broken(task, done.Trajectory)
	excused := eval.Result{Verdict: verdict, Reason: reason, Message: message, Broken: at.broken}.Excused()
	verdict, reason, message = excused.Verdict, excused.Reason, excused.Message
	if done.Verdict == "" || verdict == eval.Error {
		done.Verdict, done.Reason, done.Message = verdict, reason, message
	}
}

// broken is why a call got no answer from a server that is not under test.
func broken(task agent.Task, tr eval.Trajectory) eval.Reason {
	for _, turn := range tr.Turns {
		for _, c := range turn.Calls {
			tested := slices.ContainsFunc(task.Servers, func(s agent.Server) bool { return s.Name == c.Server && s.UnderTest })
			if c.Outcome.Kind == eval.OutcomeFailed && !tested {
				return c.Outcome.Reason
			}
		}
	}
	return ""
}

// fillAll fills the placeholders of all checks.
func fillAll(at *place) ([]eval.Check, error) {
	checks := make([]eval.Check, len(at.c.Checks))
	for i, c := range at.c.Checks {
		filled, err := score.Fill(c, at.lookup)
		if err != nil {
			return nil, err
		}
		checks[i] = filled
	}
	return checks, nil
}

func (r *refusal) Error() string { return r.message }
