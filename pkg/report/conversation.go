package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// conversation writes what an agent did, turn by turn, below what its checks
// came to.
func (p *page) conversation(t Trial) {
	for _, s := range t.Row.Result.Scores {
		p.check(2, s)
	}
	if t.Trajectory != nil {
		p.turns(t, true)
	}
}

// Blind writes what an agent did without what could sway who scores it: the
// variant, what the checks came to, and what it took.
func Blind(w io.Writer, t Trial, where string, o Options) error {
	p := newPage(o)
	p.line(styled(bold, t.Case.ID), textf("  #%d  ", t.Repeat), styled(dim, where))
	if t.Case.Title != "" {
		p.line(p.indent(2), text(t.Case.Title))
	}
	if t.Trajectory != nil {
		p.turns(t, false)
	}
	p.blank()
	return p.writeTo(w)
}

// Unblind writes what Blind has withheld.
func Unblind(w io.Writer, t Trial, o Options) error {
	p := newPage(o)
	res := t.Row.Result
	p.fact("variant", t.Variant.ID)
	p.fact("time", join(label("model", duration(res.Times.ModelMS)), label("tools", duration(res.Times.ToolMS))))
	p.tokens(res)
	p.fact("calls", join(count("turns", res.Counts.Turns), count("tool calls", res.Counts.ToolCalls), count("not made", res.Counts.InvalidCalls)))
	p.traced(2, t.Row.TraceURL)
	return p.writeTo(w)
}

// turns writes a conversation, with what each answer took if efficiency is set.
func (p *page) turns(t Trial, efficiency bool) {
	p.side("system", t.Trajectory.System)
	for i, turn := range t.Trajectory.Turns {
		p.side("user", turn.User)
		p.blank()
		parts := []part{p.indent(2), styled(bold, fmt.Sprintf("turn %d", i+1))}
		if g := turn.Generation; g != nil && efficiency {
			facts := join(g.Model, duration(g.LatencyMS), count("in", g.Usage.Input), count("out", g.Usage.Output), count("reasoning", g.Usage.Reasoning), g.Stop)
			if g.WaitedMS >= 1 {
				facts = join(facts, label("waited", duration(g.WaitedMS)))
			}
			parts = append(parts, styled(dim, "  "+facts))
		}
		p.line(parts...)
		if turn.Reasoning != "" {
			p.words(4, styled(dim, "thinks  "), turn.Reasoning, 4)
		}
		if turn.Text != "" {
			p.words(4, styled(dim, "says    "), turn.Text, 12)
		}
		for _, c := range turn.Calls {
			p.agentCall(c)
		}
	}
	if last := len(t.Trajectory.Turns) - 1; last < 0 || t.Trajectory.Turns[last].Text != t.Trajectory.Answer {
		p.side("answer", t.Trajectory.Answer)
	}
}

// side writes one side's words, if it said anything.
func (p *page) side(who, words string) {
	if words == "" {
		return
	}
	p.blank()
	p.line(p.indent(2), styled(bold, who))
	p.words(4, part{}, words, 12)
}

// agentCall writes a call that an agent asked for, also one that was not made.
func (p *page) agentCall(c eval.ToolCall) {
	if c.Server != "" {
		c.Tool = c.Server + "." + c.Tool
	}
	if c.RawArguments != "" {
		c.Arguments = eval.JSON(c.RawArguments)
	}
	if c.Invalid != "" {
		p.value(4, styled(dim, "→ "), c.Tool+" "+string(c.Arguments), 4)
		p.value(4, styled(yellow, "← "), "not called: "+c.Invalid, 4)
		return
	}
	p.call(4, c)
	if c.CutBytes > 0 {
		p.line(p.indent(6), styled(yellow, fmt.Sprintf("the model was not shown %d bytes of it", c.CutBytes)))
	}
}

// check writes the score of a check with its parts, differences and votes.
func (p *page) check(indent int, s eval.Score) {
	if s.Pending {
		p.entry(indent+4, cause(s.Reason, s.Message), p.indent(indent), mark(eval.Unjudged), text(" "+s.Check+"  "))
	} else {
		shown := s
		if s.At != "" && !s.Pass {
			shown.Message = strings.TrimSpace(s.Message + " (" + s.At + ")")
		}
		p.score(indent, shown)
	}
	for _, d := range s.Differences {
		p.value(indent+4, part{}, d, 2)
	}
	for i, v := range s.Votes {
		verdict := eval.Unjudged
		if v.Pass != nil && *v.Pass {
			verdict = eval.Pass
		} else if v.Pass != nil {
			verdict = eval.Fail
		}
		p.value(indent+4, mark(verdict).word(fmt.Sprintf("vote %d: %s  ", i+1, verdict)), cause(v.Reason, v.Text), 3)
	}
	for _, one := range s.Parts {
		p.check(indent+4, one)
	}
}
