package judge

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Bounds of what a judge is shown, in bytes: of one tool result, and of all.
const (
	maxResult   = 8 << 10
	maxRendered = 256 << 10
)

// render writes a trajectory as the text that a judge reads. What somebody wrote
// stands behind bars, so that nobody can write the lines that say who spoke, and
// with them calls that were never made.
func render(tr eval.Trajectory) string {
	var b strings.Builder
	line := func(who, text string) {
		if text != "" {
			fmt.Fprintf(&b, "[%s]\n| %s\n\n", who, strings.ReplaceAll(clean(text), "\n", "\n| "))
		}
	}
	line("system prompt", tr.System)
	for i, turn := range tr.Turns {
		line("user", turn.User)
		line("agent", turn.Text)
		for n, c := range turn.Calls {
			where := fmt.Sprintf("turn %d, call %d", i+1, n+1)
			arguments := string(c.Arguments)
			if c.RawArguments != "" {
				arguments = c.RawArguments
			}
			line(where+": the agent calls", name(c)+" "+arguments)
			line(where+": "+answered(c), cut(heard(c), maxResult))
		}
	}
	if len(tr.Turns) == 0 || tr.Turns[len(tr.Turns)-1].Text != tr.Answer {
		line("final answer", tr.Answer)
	}
	return cutMiddle(strings.TrimSpace(b.String()), maxRendered)
}

func name(c eval.ToolCall) string {
	if c.URI != "" {
		return c.Method + " " + c.URI
	}
	return c.Tool
}

func answered(c eval.ToolCall) string {
	switch {
	case c.Invalid != "":
		return "the call was not made"
	case c.Outcome.Kind == eval.OutcomeOK:
		return "the tool answers"
	default:
		return "the tool answers with an error"
	}
}

func heard(c eval.ToolCall) string {
	switch {
	case c.Invalid != "":
		return c.Invalid
	case c.Outcome.Error != nil:
		return c.Outcome.Error.Message
	case len(c.Outcome.Result) > 0:
		return string(c.Outcome.Result)
	default:
		return c.Outcome.Detail
	}
}

// cut shortens a text, and says so.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := answer.RuneStart(text, limit)
	return fmt.Sprintf("%s\n[cut: %d of %d bytes shown]", text[:end], end, len(text))
}

// cutMiddle keeps both ends of a text: the task, and what came of it.
func cutMiddle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end, begin := answer.RuneStart(text, limit/2), answer.RuneStart(text, len(text)-limit/2)
	return fmt.Sprintf("%s\n\n[cut: %d bytes are not shown]\n\n| %s", text[:end], begin-end, text[begin:])
}

// clean makes characters visible that a reader would not see: control and format
// characters, with which text hides or turns around, and line breaks of other
// kinds than ours.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp), r >= 0xE0000 && r <= 0xE0FFF:
			return '�'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "�"))
}
