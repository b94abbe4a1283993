package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A Script carries out the steps of a script case. The zero value is ready.
type Script struct {
	// Sleep waits between polls until the time is over or ctx ends. Nil means a
	// real timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now measures those waits. Nil means time.Now.
	Now func() time.Time
}

// Done is what came of a case.
type Done struct {
	// Trajectory holds a turn for every step that called something.
	Trajectory eval.Trajectory
	// Scores holds one score for every step, in order: also for those that were
	// not called, because a variable, the server or the trial's limit was gone.
	// Steps that stop_on_failure left out, and those after a cancel or an error
	// of the farm, have none.
	Scores []eval.Score
	Stop   eval.StopReason
	// Verdict of the trial, with the reason and message of the first step that
	// did not pass.
	Verdict eval.Verdict
	Reason  eval.Reason
	Message string
	Counts  eval.Counts
	// Times has the time in tools and, as backoff, the waits between polls.
	Times eval.Times
	// Tools has every tool call in short.
	Tools []eval.ToolUse

	// Of an agent. Usage is that of its model, UserUsage that of the model that
	// plays the user.
	Usage, UserUsage eval.Usage
	// Elapsed is how long the trial took, without waits for rate limits and
	// overload.
	Elapsed time.Duration
	// Later is set when the trial had to be given back before anything was paid: how
	// long it had better wait.
	Later time.Duration
}

// errTimeLimit is the cause with which the trial's own time limit ends a call.
var errTimeLimit = errors.New("the trial's time limit")

// Run carries out the steps of a case in order. The lookup gives the case's
// variables; what a step extracts comes before them. A step that fails does not
// keep the others from running, unless they need what it should have extracted,
// the server's session died, a limit is reached or the case says
// stop_on_failure. When ctx ends, the trial is unfinished.
func (s Script) Run(ctx context.Context, c eval.Case, lookup vars.Lookup, tools Tools) Done {
	if s.Sleep == nil {
		s.Sleep = sleep
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	if c.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Limits.Time, errTimeLimit)
		defer cancel()
	}
	r := &run{script: s, c: c, tools: tools, lookup: lookup, extracted: map[string]eval.JSON{}}
	for i := range c.Steps {
		score := r.step(ctx, c.Steps[i])
		if score.Reason == eval.ReasonCancelled {
			break
		}
		if score.Reason.Infra() {
			r.stop(r.lostOrNotStarted())
			r.done.Scores = append(r.done.Scores, score)
			break
		}
		r.done.Scores = append(r.done.Scores, score)
		if !score.Pass && c.StopOnFailure && i < len(c.Steps)-1 {
			r.stop(eval.StopFailed)
			break
		}
	}
	return r.finish()
}

// sleep waits on the wall clock.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is one trial of a case.
type run struct {
	script    Script
	c         eval.Case
	tools     Tools
	lookup    vars.Lookup
	extracted map[string]eval.JSON
	// over is why no further step is called; nil while steps still are.
	over *failure
	// failedTool is the tool whose call failed as the last request of all.
	failedTool string
	done       Done
}

// stop notes why the trial ended; the first reason stands.
func (r *run) stop(why eval.StopReason) {
	if r.done.Stop == "" {
		r.done.Stop = why
	}
}

// finish folds the scores into a verdict.
func (r *run) finish() Done {
	d := &r.done
	r.stop(eval.StopDone)
	d.Verdict = eval.Pass
	for _, score := range d.Scores {
		if score.Pass {
			d.Counts.StepsPass++
			continue
		}
		d.Counts.StepsFail++
		if d.Verdict == eval.Pass {
			d.Verdict = eval.Fail
			d.Reason, d.Message = score.Reason, r.locate(score)
		}
	}
	last := len(d.Scores) - 1
	limited := d.Stop == eval.StopTimeLimit || d.Stop == eval.StopToolCallLimit
	switch {
	case d.Stop == eval.StopCancelled:
		d.Verdict, d.Reason, d.Message = eval.Unfinished, eval.ReasonCancelled, "cancelled while it ran"
	case len(r.c.Steps) == 0:
		d.Verdict, d.Reason, d.Message = eval.Error, eval.ReasonFarm, "the case has no steps"
	case last >= 0 && d.Scores[last].Reason.Infra():
		d.Verdict, d.Reason, d.Message = eval.Error, d.Scores[last].Reason, r.locate(d.Scores[last])
	case limited && r.c.Limits.OnLimit == eval.OnLimitFail:
		d.Verdict, d.Reason, d.Message = eval.Fail, eval.ReasonLimit, r.over.message
	}
	d.Counts.Turns = len(d.Trajectory.Turns)
	d.Counts.ContextTokens = (d.Counts.ResponseBytes + 3) / 4
	return *d
}

// locate puts the step in front of a message where there are several.
func (r *run) locate(score eval.Score) string {
	if len(r.c.Steps) == 1 {
		return score.Message
	}
	return fmt.Sprintf("step %s: %s", score.Check, score.Message)
}

// producer is the step that should extract a variable, if any does.
func (r *run) producer(variable string) string {
	i := slices.IndexFunc(r.c.Steps, func(s eval.Step) bool { _, ok := s.Extract[variable]; return ok })
	if i < 0 {
		return ""
	}
	return r.c.Steps[i].ID
}
