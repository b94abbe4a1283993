package agent

import (
	"context"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A Loop lets a model work on a case with the tools of servers: the model is
// asked, the calls that it wants are made, it is told what came of them, and so
// on until it answers. It asks each time once: to wait and to try again is what
// the models do that it is given.
type Loop struct {
	// Model of the agent.
	Model llm.Model
	// User plays the user in cases that have a model for it.
	User llm.Model
	// Now measures. Nil means time.Now.
	Now func() time.Time
}

// A Task is what a loop is to do: one trial of an agent case.
type Task struct {
	// Case with its placeholders unfilled.
	Case  eval.Case
	Trial eval.Trial
	// Settings of suite, case and axis points in one, unfilled. Their sampling is
	// not looked at.
	Settings eval.Agent
	// Sampling of the agent's model and of the user's, with all that goes over
	// that of the models, and the trial's seed put in.
	Sampling, UserSampling eval.Sampling
	Loading                eval.Loading
	// Lookup gives the variables of the case.
	Lookup vars.Lookup
	// Servers that the agent may use. With several of them, or when Namespaced is
	// set, a tool is called mcp__SERVER__TOOL.
	Servers    []Server
	Namespaced bool
}

// A Server is one MCP server that an agent may use.
type Server struct {
	Name  string
	Tools Tools
	// UnderTest makes a crash of the server a fail: otherwise it is an error,
	// because the agent is under test and not what it depends on.
	UnderTest bool
}

// Run carries out a trial. What the agent did is left to be scored: the verdict
// is empty, whatever made the agent stop, unless the trial is an error or
// unfinished, a server under test was lost, or a limit was reached with
// on_limit: fail.
func (l Loop) Run(ctx context.Context, task Task) Done {
	if l.Now == nil {
		l.Now = time.Now
	}
	begun := l.Now()
	ctx, watch, cancel := newStopwatch(ctx, task.Case.Limits.Time)
	defer cancel()
	c := &conversation{loop: l, task: task, watch: watch, failed: map[string]bool{}}
	goesOn := c.open(ctx)
	for goesOn {
		goesOn = c.turn(ctx)
	}
	return c.finish(l.Now().Sub(begun))
}

// open fills the case's texts and lists the tools of every server, before a
// token is spent.
func (c *conversation) open(ctx context.Context) bool {
	if !c.fill() || c.interrupted(ctx) || !c.list(ctx) {
		return false
	}
	c.userSays(c.done.Trajectory.Prompt)
	return true
}

// finish closes the books.
func (c *conversation) finish(elapsed time.Duration) Done {
	d := &c.done
	d.Elapsed = elapsed - c.waited
	d.Counts.Turns = len(d.Trajectory.Turns)
	d.Counts.ContextTokens = tokens(c.shownBytes)
	d.Trajectory.Answer = c.answer
	if c.offer != nil {
		c.offer.report(d)
	}
	return *d
}

// tokens estimates what so many bytes cost in a context. It is no tokenizer's
// count.
func tokens(bytes int) int { return (bytes + 3) / 4 }
