package judge

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Bounds of what a judge is shown, in bytes: of one tool result, and of all.
const (
	maxResult   = 8 << 10
	maxRendered = 256 << 10
)

// render writes a trajectory as the text that a judge reads.
func render(tr eval.Trajectory) string {
	var b strings.Builder
	line := func(who, text string) {
		if text != "" {
			fmt.Fprintf(&b, "[%s]\n%s\n\n", who, clean(text))
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
			line(where+": "+answered(c), cut(answer(c), maxResult))
		}
	}
	if len(tr.Turns) == 0 || tr.Turns[len(tr.Turns)-1].Text != tr.Answer {
		line("final answer", tr.Answer)
	}
	return cut(strings.TrimSpace(b.String()), maxRendered)
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

func answer(c eval.ToolCall) string {
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
	end := limit
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return fmt.Sprintf("%s\n[cut: %d of %d bytes shown]", text[:end], end, len(text))
}

// clean makes characters visible that a reader would not see: control and format
// characters, with which text hides or turns around.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r >= 0xE0000 && r <= 0xE0FFF:
			return '�'
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "�"))
}
