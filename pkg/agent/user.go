package agent

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Defaults of the model that plays the user.
const (
	defaultStopWord  = "###STOP###"
	defaultUserTurns = 10
)

// reply lets the user answer what the agent has said, and says whether the
// conversation goes on.
func (c *conversation) reply(ctx context.Context) bool {
	heard := strings.Join(c.spoken, "\n\n")
	c.userMessages = append(c.userMessages, llm.Message{Role: llm.User, Text: heard})
	var line string
	switch {
	case c.said < len(c.user.Turns):
		line = c.user.Turns[c.said]
	case c.user.Model == "":
		return c.stop(eval.StopDone)
	default:
		var goesOn bool
		if line, goesOn = c.played(ctx); !goesOn {
			return false
		}
	}
	c.said++
	c.userSays(line)
	return true
}

// played asks the model that plays the user what to say next.
func (c *conversation) played(ctx context.Context) (string, bool) {
	if c.said >= cmp.Or(c.user.MaxTurns, defaultUserTurns) {
		return "", c.stop(eval.StopDone)
	}
	word := cmp.Or(c.user.Stop, defaultStopWord)
	response, latency, err := c.ask(ctx, c.loop.User, llm.Request{
		System: c.role(word), Messages: append([]llm.Message(nil), c.userMessages...), Sampling: c.task.UserSampling,
		Trial: llm.Trial{Case: c.task.Case.ID, Variant: c.task.Trial.Variant.ID, Repeat: c.task.Trial.Repeat, Seed: c.task.Trial.Seed, Role: "user"},
	})
	c.done.Times.UserMS += latency
	if err != nil {
		return "", c.userLost(ctx, err)
	}
	c.done.UserUsage = c.done.UserUsage.Add(response.Usage)
	line := response.Message.Text
	switch {
	case strings.Contains(line, word):
		return "", c.stop(eval.StopUser)
	case response.Stop == llm.StopRefused:
		return "", c.modelLost(eval.ReasonModelUnavailable, "the model that plays the user refused: "+line)
	case strings.TrimSpace(line) == "":
		c.find("silent_user", "the model that plays the user said nothing")
		return "", c.stop(eval.StopUser)
	default:
		return line, true
	}
}

// userLost ends a trial whose user is gone: no agent is judged on half a
// conversation.
func (c *conversation) userLost(ctx context.Context, err error) bool {
	if c.interrupted(ctx) {
		return false
	}
	if failure, ok := errors.AsType[*llm.Error](err); ok && failure.Kind == llm.CostLimit {
		return c.outOfMoney(failure)
	}
	return c.modelLost(reasonOf(err), "the model that plays the user: "+err.Error())
}

// role is the system prompt of the model that plays the user.
func (c *conversation) role(word string) string {
	paragraphs := []string{
		"You play a person who uses an assistant. The messages that you get are what the assistant says to you; " +
			"you write what the person says next, in the person's own words, briefly, and nothing else. " +
			"You are not the assistant and do not do its work. You know only what is written here and what was said; make nothing up.",
	}
	if c.user.Persona != "" {
		paragraphs = append(paragraphs, "Who you are: "+c.user.Persona)
	}
	if c.user.Goal != "" {
		paragraphs = append(paragraphs, "What you want: "+c.user.Goal)
	}
	paragraphs = append(paragraphs, "When you have what you want, or it is clear that you will not get it, say "+word+" and nothing else.")
	return strings.Join(paragraphs, "\n\n")
}
