package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A conversation is one trial of an agent case on its way.
type conversation struct {
	loop Loop
	task Task
	user eval.User // filled
	// descriptions are those of the settings, filled.
	descriptions map[string]string
	offer        *offer
	messages     []llm.Message
	// unheard is what the user has said and no turn has recorded yet; said is how
	// often the user has spoken after the prompt.
	unheard string
	said    int
	// spoken is what the agent has said since; the last of it is the answer.
	spoken []string
	answer string
	// userMessages is the conversation as the model that plays the user sees it.
	userMessages []llm.Message
	// failed holds the tools whose latest call failed.
	failed     map[string]bool
	repeats    repeats
	shownBytes int // of results
	watch      *stopwatch
	waited     time.Duration // for a place, for rate limits and overload
	done       Done
}

// fill gives the placeholders of prompt, system prompt, descriptions and user
// their values.
func (c *conversation) fill() bool {
	t := &c.done.Trajectory
	t.Prompt, t.System = c.task.Case.Prompt, c.task.Settings.System
	texts := []*string{&t.Prompt, &t.System}
	if user := c.task.Case.User; user != nil {
		c.user = *user
		c.user.Turns = slices.Clone(user.Turns)
		texts = append(texts, &c.user.Persona, &c.user.Goal)
		for i := range c.user.Turns {
			texts = append(texts, &c.user.Turns[i])
		}
	}
	described := c.task.Settings.Descriptions
	names := slices.Sorted(maps.Keys(described))
	descriptions := make([]string, len(names))
	for i, name := range names {
		descriptions[i] = described[name]
		texts = append(texts, &descriptions[i])
	}
	lookup := c.task.Lookup
	if lookup == nil {
		lookup = func(string) (eval.JSON, bool) { return nil, false }
	}
	for _, text := range texts {
		filled, err := vars.FillString(*text, lookup)
		if err != nil {
			reason := eval.ReasonFarm
			if _, missing := errors.AsType[*vars.MissingError](err); missing {
				reason = eval.ReasonVariableMissing
			}
			c.stop(eval.StopNotStarted)
			return c.decide(eval.Error, reason, fmt.Sprintf("fill %q: %v", clip(*text), err))
		}
		*text = filled
	}
	c.descriptions = make(map[string]string, len(names))
	for i, name := range names {
		c.descriptions[name] = descriptions[i]
	}
	if c.user.Model != "" && c.loop.User == nil {
		c.stop(eval.StopNotStarted)
		return c.decide(eval.Error, eval.ReasonFarm, "nobody gave the model that plays the user")
	}
	return true
}

// userSays goes on with the user's words.
func (c *conversation) userSays(text string) {
	c.messages = append(c.messages, llm.Message{Role: llm.User, Text: text})
	if len(c.userMessages) == 0 {
		c.userMessages = append(c.userMessages, llm.Message{Role: llm.User, Text: "(You begin the conversation.)"})
	}
	c.userMessages = append(c.userMessages, llm.Message{Role: llm.Assistant, Text: text})
	c.unheard, c.spoken, c.answer = text, nil, ""
	c.repeats = repeats{}
}

// turn asks the model once, makes the calls that it wants, and says whether the
// conversation goes on.
func (c *conversation) turn(ctx context.Context) bool {
	if c.interrupted(ctx) || c.limited() {
		return false
	}
	response, ok := c.generate(ctx)
	if !ok {
		return false
	}
	message := response.Message
	message.Role = llm.Assistant
	c.messages = append(c.messages, message)
	c.hear(response)
	switch {
	case response.Stop == llm.StopRefused:
		c.find("refused", "the model refused: "+answer.Quote(message.Text))
		return c.stop(eval.StopRefused)
	case len(message.Calls) > 0:
		return c.act(ctx, message.Calls)
	case response.Stop == llm.StopOutput:
		return c.stop(eval.StopOutputLimit)
	case strings.TrimSpace(message.Text) == "":
		// Whoever says nothing has ended the conversation: there is no message to
		// send back that a provider would accept.
		return c.stop(eval.StopDone)
	default:
		return c.reply(ctx)
	}
}

// generate asks the agent's model.
func (c *conversation) generate(ctx context.Context) (llm.Response, bool) {
	response, latency, err := c.ask(ctx, c.loop.Model, llm.Request{
		System: c.done.Trajectory.System, Messages: slices.Clone(c.messages), Tools: c.offer.definitions(), Sampling: c.task.Sampling,
		Trial: llm.Trial{Case: c.task.Case.ID, Variant: c.task.Trial.Variant.ID, Repeat: c.task.Trial.Repeat, Seed: c.task.Trial.Seed},
	})
	c.done.Times.ModelMS += latency
	if err != nil {
		return response, c.unanswered(ctx, response.Tries, err)
	}
	c.done.Usage = c.done.Usage.Add(response.Usage)
	c.done.Trajectory.Turns = append(c.done.Trajectory.Turns, eval.Turn{
		User: c.unheard, Text: response.Message.Text, Reasoning: response.Message.Reasoning,
		Generation: &eval.Generation{
			Model: response.Model, ID: response.ID, Stop: cmp.Or(response.Word, string(response.Stop)), Usage: response.Usage,
			LatencyMS: latency, WaitedMS: response.WaitedMS, Tries: response.Tries,
		},
	})
	c.unheard = ""
	return response, true
}

// ask asks a model once and gives its latency in milliseconds, without the waits
// before the call that succeeded. They have a time of their own.
func (c *conversation) ask(ctx context.Context, model llm.Model, req llm.Request) (llm.Response, float64, error) {
	begun := c.loop.Now()
	req.OnWait, req.OnRepeat = c.watch.wait, c.watch.giveBack
	response, err := model.Generate(ctx, req)
	latency := milliseconds(c.loop.Now().Sub(begun))
	waited := response.WaitedMS + response.LimiterMS
	c.waited += time.Duration(waited * float64(time.Millisecond))
	c.done.Times.BackoffMS += response.WaitedMS
	c.done.Times.LimiterMS += response.LimiterMS
	return response, max(0, latency-waited), err
}

// hear notes what the agent says.
func (c *conversation) hear(response llm.Response) {
	if text := response.Message.Text; strings.TrimSpace(text) != "" {
		c.spoken = append(c.spoken, text)
		c.answer = text
	}
}

// unanswered explains why the agent's model gave no answer. What the conversation
// itself brought about is scored; all else is not the agent's doing.
func (c *conversation) unanswered(ctx context.Context, tries int, err error) bool {
	if tries > 1 && errors.Is(context.Cause(ctx), errTimeLimit) {
		// A model that is slow has used up the agent's time, one that fails has not.
		return c.modelLost(eval.ReasonModelUnavailable, fmt.Sprintf("the model: %s failed, and the next had no answer when the trial's time was over", counted(tries-1, "call")))
	}
	if c.interrupted(ctx) {
		return false
	}
	failure, ok := errors.AsType[*llm.Error](err)
	switch {
	case ok && failure.Kind == llm.ContextLength:
		c.find("context_limit", clip(failure.Error()))
		return c.stop(eval.StopContextLimit)
	case ok && failure.Kind == llm.ContentFilter:
		c.find("refused", clip(failure.Error()))
		return c.stop(eval.StopRefused)
	case ok && failure.Kind == llm.CostLimit:
		return c.outOfMoney(failure)
	case ok && failure.Kind == llm.Later:
		c.done.Later = max(failure.Wait, time.Second)
		c.stop(eval.StopNotStarted)
		return c.decide(eval.Unfinished, eval.ReasonModelUnavailable, clip(failure.Error()))
	default:
		return c.modelLost(reasonOf(err), "the model: "+err.Error())
	}
}

// outOfMoney ends a trial whose next call it may not be able to pay. That is one
// of its limits, and it is scored on what it has; one that cannot even begin says
// nothing of the agent.
func (c *conversation) outOfMoney(failure *llm.Error) bool {
	if len(c.done.Trajectory.Turns) == 0 {
		c.stop(eval.StopNotStarted)
		return c.decide(eval.Error, eval.ReasonBudget, failure.Message+"; raise limits.cost_usd or limits.tokens, or lower max_output_tokens")
	}
	c.limit(eval.StopCostLimit, "cost")
	c.find("cost_limit", failure.Message)
	return false
}

// reasonOf is the reason of a trial that ends because a model gave no answer.
func reasonOf(err error) eval.Reason {
	if failure, ok := errors.AsType[*llm.Error](err); ok {
		return failure.Reason()
	}
	return eval.ReasonFarm
}

func (c *conversation) modelLost(reason eval.Reason, message string) bool {
	c.stop(eval.StopModelLost)
	return c.decide(eval.Error, reason, clip(message))
}

// stop notes why the trial ended, and returns false because it has.
func (c *conversation) stop(why eval.StopReason) bool {
	c.done.Stop = why
	return false
}

// decide settles the verdict of a trial that is not to be scored, and returns
// false because it has ended.
func (c *conversation) decide(verdict eval.Verdict, reason eval.Reason, message string) bool {
	c.done.Verdict, c.done.Reason, c.done.Message = verdict, reason, message
	return false
}

// find reports an oddity: one entry for each code, with what was seen first.
func (c *conversation) find(code, detail string) {
	findings := &c.done.Trajectory.Findings
	for i := range *findings {
		if f := &(*findings)[i]; f.Code == code {
			f.Count++
			return
		}
	}
	*findings = append(*findings, eval.Finding{Code: code, Detail: detail, Count: 1})
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// maxMessage bounds a text of somebody else inside a message, in bytes.
const maxMessage = 300

// clip bounds a text of somebody else inside a message.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return text[:answer.RuneStart(text, maxMessage)] + "…"
}
