package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// mostTurns ends trials without a limit of their own: a model and a tool that
// never tire must not keep a worker for ever.
const mostTurns = 1000

// limited says whether a limit of the trial forbids to ask the model again.
func (c *conversation) limited() bool {
	limits, turns := c.task.Case.Limits, len(c.done.Trajectory.Turns)
	switch used := c.done.Usage.Total(); {
	case limits.Turns > 0 && turns >= limits.Turns:
		c.limit(eval.StopTurnLimit, counted(limits.Turns, "turn"))
	case turns >= mostTurns:
		c.stop(eval.StopTurnLimit)
		c.find("endless", fmt.Sprintf("the trial has no limit of turns and did not end in %d", mostTurns))
	case limits.Tokens > 0 && used >= limits.Tokens:
		c.limit(eval.StopTokenLimit, counted(limits.Tokens, "token"))
	default:
		return false
	}
	return true
}

// limit ends the trial at one of its own limits.
func (c *conversation) limit(why eval.StopReason, what string) {
	c.stop(why)
	if c.task.Case.Limits.OnLimit == eval.OnLimitFail {
		c.decide(eval.Fail, eval.ReasonLimit, "the trial's limit of "+what+" is reached")
	}
}

// interrupted says whether the trial must end here and now: its context has
// ended, because of its own time limit or of a cancel.
func (c *conversation) interrupted(ctx context.Context) bool {
	switch {
	case ctx.Err() == nil:
		return false
	case errors.Is(context.Cause(ctx), errTimeLimit):
		c.limit(eval.StopTimeLimit, c.task.Case.Limits.Time.String())
	default:
		c.cancelled()
	}
	return true
}

func (c *conversation) cancelled() {
	c.stop(eval.StopCancelled)
	c.decide(eval.Unfinished, eval.ReasonCancelled, "cancelled while it ran")
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
