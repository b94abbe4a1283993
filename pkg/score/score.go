package score

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schema"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// A Subject is a trial that has ended.
type Subject struct {
	Case       eval.Case
	Trial      eval.Trial
	Trajectory eval.Trajectory
	Counts     eval.Counts
	Usage      eval.Usage
	// CostMicroUSD is nil when nobody knows it.
	CostMicroUSD *int64
	Stop         eval.StopReason
	// Elapsed is how long the trial took.
	Elapsed time.Duration
}

// Options are what some checks need of the world. With the zero value these
// checks cannot be decided.
type Options struct {
	// Verify carries out the step of a verify check on the trial's own session with
	// a server, empty for the only one, and scores it. The step's placeholders are
	// not filled yet, as those of any step before it is carried out.
	Verify func(ctx context.Context, server string, step eval.Step) eval.Score
	// Dir is the folder of the suite, in which commands run.
	Dir string
	// Environ is the worker's environment. Only PATH, HOME, the locale and the
	// like of it reach a command.
	Environ []string
	// Schemas compiles a JSON Schema. Nil means schema.Compile.
	Schemas func(raw eval.JSON) (*schema.Schema, error)
}

// Checks decides checks, in order, whose placeholders [Fill] has filled. There
// is one score for each: also one that the farm could not decide has its reason.
func Checks(ctx context.Context, cs []eval.Check, t Subject, o Options) []eval.Score {
	x := newExam(t, o)
	scores := make([]eval.Score, len(cs))
	for i, c := range cs {
		scores[i] = x.check(ctx, c)
	}
	return scores
}

// An exam is one trial under its checks.
type exam struct {
	Subject
	options Options
	// calls that the agent asked for, in order, those of its search included.
	calls []call
}

// check decides one check.
func (x *exam) check(ctx context.Context, c eval.Check) eval.Score {
	if len(c.Any) > 0 || len(c.All) > 0 {
		return x.group(ctx, c)
	}
	return x.decide(ctx, c).score(c)
}

// decide is the table of checks.
func (x *exam) decide(ctx context.Context, c eval.Check) decision {
	switch {
	case c.Text != nil:
		return x.text(*c.Text)
	case c.JSON != nil:
		return x.json(*c.JSON)
	case c.Called != nil:
		return x.called(*c.Called)
	case c.NotCalled != nil:
		return x.notCalled(*c.NotCalled)
	case c.Rejected != nil:
		return x.rejected(*c.Rejected)
	case c.Trajectory != nil:
		return x.trajectory(*c.Trajectory, c.Threshold != nil)
	case c.NoRepeats != nil:
		return x.noRepeats(*c.NoRepeats)
	case c.AtMost != nil:
		return x.atMost(*c.AtMost)
	case c.NoSecrets != nil:
		return x.noSensitiveData(*c.NoSecrets)
	case c.Verify != nil:
		return watched(ctx, "verify", c, func(ctx context.Context) decision { return x.verify(ctx, *c.Verify) })
	case c.Scorer != nil:
		return watched(ctx, "scorer", c, func(ctx context.Context) decision { return x.scorer(ctx, *c.Scorer) })
	case c.Judge != nil:
		return undecided(eval.ReasonAwaitingJudge, "no judge has spoken yet")
	default:
		return undecided(eval.ReasonScorerFailed, fmt.Sprintf("check %q asks for nothing", c.ID))
	}
}

// watched shows in a trace how a check is decided that asks something of the world.
func watched(ctx context.Context, kind string, c eval.Check, decide func(context.Context) decision) decision {
	ctx, span := telemetry.Check(ctx, kind, c.ID)
	defer span.End()
	d := decide(ctx)
	if d.undecided != "" {
		span.Undecided(d.undecided, d.got)
	}
	return d
}
