package compare

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// excerpt is how many characters of arguments and texts a step shows.
const excerpt = 160

// FirstStep finds the first step in which two trajectories of one cell did something
// else; nil if there is none. Of an agent that is what it called, with which arguments,
// or what it said instead; of a script, whose calls are the suite's, what the server
// answered. The texts are those of models and servers: hostile, and cut.
func FirstStep(base, head eval.Trajectory, k eval.Kind) *eval.StepDifference {
	deed := asked
	if k != eval.KindAgent {
		deed = answered
	}
	for i := range max(len(base.Turns), len(head.Turns)) {
		a, b := turn(base, i), turn(head, i)
		step := eval.StepDifference{Turn: i + 1, Step: b.Step}
		if step.Step == "" {
			step.Step = a.Step
		}
		for j := range max(len(a.Calls), len(b.Calls)) {
			step.Base, step.Head = deed(a, j), deed(b, j)
			if step.Base != step.Head {
				step.Call = j + 1
				return shortened(step)
			}
		}
		if k == eval.KindAgent && len(a.Calls) == 0 && a.Text != b.Text {
			step.Base, step.Head = said(a), said(b)
			return shortened(step)
		}
	}
	return nil
}

func turn(t eval.Trajectory, i int) eval.Turn {
	if i < len(t.Turns) {
		return t.Turns[i]
	}
	return eval.Turn{}
}

// asked is the j-th call of a turn, or what was said in the place of any.
func asked(t eval.Turn, j int) string {
	if j >= len(t.Calls) {
		if len(t.Calls) > 0 || t.Text == "" && t.Generation == nil {
			return "made no call"
		}
		return said(t)
	}
	c := t.Calls[j]
	return "called " + what(c) + " " + arguments(c)
}

func said(t eval.Turn) string {
	if t.Text == "" {
		return "said nothing"
	}
	return fmt.Sprintf("answered without a call: %q", t.Text)
}

// answered is what the server made of the j-th call of a step.
func answered(t eval.Turn, j int) string {
	if j >= len(t.Calls) {
		return "made no call"
	}
	c := t.Calls[j]
	o := c.Outcome
	text := "called " + what(c) + " " + arguments(c) + ": " + string(o.Kind)
	switch {
	case o.Error != nil:
		text += fmt.Sprintf(" %d %q", o.Error.Code, o.Error.Message)
	case o.Reason != "":
		text += " " + string(o.Reason)
	case len(o.Result) > 0:
		text += " " + canonical(o.Result)
	}
	return text
}

func what(c eval.ToolCall) string {
	name := c.Tool
	if c.URI != "" {
		name = c.URI
	}
	if c.Server != "" {
		name = c.Server + "." + name
	}
	return name
}

func arguments(c eval.ToolCall) string {
	if c.RawArguments != "" {
		return c.RawArguments
	}
	return canonical(c.Arguments)
}

// canonical writes JSON with its keys sorted: their order is no difference.
func canonical(j eval.JSON) string {
	if len(j) == 0 {
		return "{}"
	}
	tree, err := eval.Decode(j)
	if err != nil {
		return string(j)
	}
	return string(eval.Encode(tree))
}

// shortened cuts what was done, around the place in which it differs.
func shortened(s eval.StepDifference) *eval.StepDifference {
	same := 0
	a, b := []rune(s.Base), []rune(s.Head)
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	s.Base, s.Head = around(a, same), around(b, same)
	return &s
}

// around cuts a text to its beginning and what stands at a place of it.
func around(text []rune, place int) string {
	if len(text) <= excerpt {
		return string(text)
	}
	var out strings.Builder
	const lead, before = 40, 20
	from := place - before
	if from <= lead {
		return string(text[:excerpt]) + "…"
	}
	out.WriteString(string(text[:lead]) + "…")
	to := min(len(text), from+excerpt-lead)
	out.WriteString(string(text[min(from, to):to]))
	if to < len(text) {
		out.WriteString("…")
	}
	return out.String()
}
