package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// idle warns of agent cases that an agent passes which does nothing and says
// nothing: their checks bite nobody. Checks of the outside state and of judges
// count as not passed, because nothing is started here.
func idle(ctx context.Context, loaded *suite.Loaded) []strictyaml.Problem {
	var warnings []strictyaml.Problem
	for _, c := range loaded.Suite.Cases {
		if c.Kind != eval.KindAgent || !passesIdle(ctx, c) {
			continue
		}
		p := loaded.Positions[c.ID].Problem(fmt.Sprintf("case %s passes with an agent that does nothing", c.ID),
			"add a check that wants something: a call, an answer, a state")
		p.Warning = true
		warnings = append(warnings, p)
	}
	return warnings
}

// passesIdle decides the checks of a case on an empty trajectory. What a
// placeholder stands for makes no difference to an agent that does nothing, so
// each stands for its name.
func passesIdle(ctx context.Context, c eval.Case) bool {
	checks := make([]eval.Check, len(c.Checks))
	for i, check := range c.Checks {
		filled, err := score.Fill(unstarted(check), func(name string) (eval.JSON, bool) {
			if v, ok := c.Vars[name]; ok {
				return v, true
			}
			return eval.Encode(name), true
		})
		if err != nil {
			return false
		}
		checks[i] = filled
	}
	did := eval.Trajectory{Prompt: c.Prompt, Turns: []eval.Turn{{User: c.Prompt}}}
	scores := score.Checks(ctx, checks, score.Subject{Case: c, Trajectory: did, Counts: eval.Counts{Turns: 1}, Stop: eval.StopDone}, score.Options{})
	verdict, _, _ := eval.Fold(scores, c.Threshold)
	return verdict == eval.Pass
}

// unstarted puts a judge, who never speaks here, in the place of whatever would
// be started to decide a check or a part of it.
func unstarted(c eval.Check) eval.Check {
	if c.Verify != nil || c.Scorer != nil {
		c.Verify, c.Scorer, c.Judge = nil, nil, &eval.JudgeCheck{}
	}
	c.Any, c.All = eachUnstarted(c.Any), eachUnstarted(c.All)
	return c
}

func eachUnstarted(checks []eval.Check) []eval.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i] = unstarted(checks[i])
	}
	return checks
}
