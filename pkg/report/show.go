package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A Trial is one trial of a run with what is stored of it.
type Trial struct {
	eval.Trial
	// Row is the standing result, nil while there is none.
	Row *store.Row
	// Attempts at the trial, by number.
	Attempts []store.Attempt
	// Trajectory of the standing result, nil if it is not at hand.
	Trajectory *eval.Trajectory
}

func (t Trial) verdict() eval.Verdict {
	if t.Row == nil {
		return eval.Unfinished
	}
	return t.Row.Result.Verdict
}

// ShowCase writes the trials of one case, in the order given: what `show RUN
// CASE` prints. Attempts and trajectories are not needed.
func ShowCase(w io.Writer, trials []Trial, o Options) error {
	p := newPage(o)
	if len(trials) == 0 {
		p.line(text("no trials"))
		return p.writeTo(w)
	}
	first := trials[0]
	pass := 0
	names := 0
	for _, t := range trials {
		if t.verdict() == eval.Pass {
			pass++
		}
		names = max(names, wide(Line(trialName(t), p.width/2)))
	}
	p.line(styled(bold, first.Case.ID), textf("  %s  ", first.Case.Kind), styled(dim, first.Run), textf("   %d/%d pass", pass, len(trials)))
	if first.Case.Title != "" {
		p.line(p.indent(2), text(first.Case.Title))
	}
	p.blank()
	for _, t := range trials {
		parts := []part{p.indent(2), mark(t.verdict()), text(" "), text(trialName(t)).pad(names), text("  ")}
		if t.Row == nil {
			p.line(append(parts, styled(dim, "no result yet"))...)
			continue
		}
		res := t.Row.Result
		parts = append(parts, styled(dim, duration(res.Times.ToolMS)), text("  "))
		p.entry(4, cause(res.Reason, res.Message), parts...)
		for _, s := range res.Scores {
			if !s.Pass {
				p.check(4, s)
			}
		}
		if res.Verdict != eval.Pass {
			p.stderr(4, res.Stderr, stderrHead)
			p.traced(4, t.Row.TraceURL)
		}
	}
	p.next()
	return p.writeTo(w)
}

func trialName(t Trial) string {
	return eval.InVariant(fmt.Sprintf("#%d", t.Repeat), t.Variant.ID)
}

// ShowTrial writes one trial step by step with its calls, their arguments and
// their answers: what `show RUN CASE REPEAT` prints. Values are cut unless Full
// is set.
func ShowTrial(w io.Writer, t Trial, o Options) error {
	p := newPage(o)
	p.line(mark(t.verdict()), text(" "), mark(t.verdict()).word(strings.ToUpper(string(t.verdict()))),
		text("  "), styled(bold, t.Case.ID), text(" "+trialName(t)+"  "), styled(dim, t.Run))
	if t.Row == nil {
		p.line(p.indent(2), text("no result yet"))
	} else {
		p.result(t)
	}
	p.attempts(t)
	p.next()
	return p.writeTo(w)
}

func (p *page) result(t Trial) {
	res := t.Row.Result
	if why := cause(res.Reason, res.Message); why != "" {
		p.value(2, part{}, why, 3)
	}
	p.fact("server", join(res.Server.Name, res.Server.Version, res.Server.Protocol, label("profile", res.Server.Profile)))
	p.fact("image", join(res.Server.Image, res.Server.ImageDigest))
	times := res.Times
	p.fact("time", join(label("total", duration(times.TotalMS)), label("queue", duration(times.QueueMS)),
		label("server start", duration(times.ServerStartMS)), label("tools", duration(times.ToolMS))))
	if times.ModelMS+times.JudgeMS > 0 {
		p.fact("", join(label("model", duration(times.ModelMS)), spent("user", times.UserMS), spent("judge", times.JudgeMS), spent("waits", times.LimiterMS+times.BackoffMS)))
	}
	p.tokens(res)
	c := res.Counts
	turns := 0 // those of a script are its steps
	if t.Case.Kind == eval.KindAgent {
		turns = c.Turns
	}
	p.fact("calls", join(count("turns", turns), count("tool calls", c.ToolCalls), count("not made", c.InvalidCalls), count("searches", c.ToolSearches), count("rejected", c.ToolErrors), count("invalid arguments", c.InvalidArguments),
		count("retries", c.Retries), count("reads", c.ResourceReads), count("polls", c.Polls), count("bytes", c.ResponseBytes),
		count("tokens (estimate)", c.ContextTokens)))
	if l := res.Listing; l != nil {
		p.fact("listing", join(count("tools", l.Tools), count("tokens (estimate)", l.ContextTokens), l.Fingerprint))
	}
	if res.Stop != "" && res.Stop != eval.StopDone {
		p.fact("stopped", string(res.Stop))
	}
	p.traced(2, t.Row.TraceURL)
	if t.Case.Kind == eval.KindAgent {
		p.blank()
		p.conversation(t)
	} else {
		p.trace(t)
	}
	if len(res.Findings) > 0 {
		p.blank()
		p.heading("findings")
		for _, f := range res.Findings {
			p.line(p.indent(2), styled(yellow, "~ "), textf("%s ×%d  ", f.Code, max(f.Count, 1)), text(f.Detail))
		}
	}
	stderr, exit := res.Stderr, ""
	if t.Trajectory != nil {
		stderr, exit = cmp.Or(t.Trajectory.Stderr, stderr), t.Trajectory.Exit
	}
	if stderr != "" || exit != "" {
		p.blank()
		p.fact("exit", exit)
		p.stderr(2, stderr, 20)
	}
}

// spent is a time, if there is any.
func spent(name string, ms float64) string {
	if ms <= 0 {
		return ""
	}
	return label(name, duration(ms))
}

// tokens writes the usage of models, each apart.
func (p *page) tokens(res eval.Result) {
	for _, u := range usages(res.Usage, res.UserUsage, res.JudgeUsage) {
		p.fact("tokens", u)
	}
	var cost []string
	if res.CostMicroUSD != nil && *res.CostMicroUSD > 0 {
		cost = append(cost, "agent "+eval.USD(*res.CostMicroUSD))
	}
	if res.JudgeCostMicroUSD != nil && *res.JudgeCostMicroUSD > 0 {
		cost = append(cost, "judge "+eval.USD(*res.JudgeCostMicroUSD))
	}
	p.fact("cost", join(cost...))
}

// trace writes the steps in order, each with its score and its calls. Calls that
// belong to no score follow.
func (p *page) trace(t Trial) {
	p.blank()
	var turns []eval.Turn
	if t.Trajectory != nil {
		turns = slices.Clone(t.Trajectory.Turns)
	}
	for _, s := range t.Row.Result.Scores {
		p.score(2, s)
		of := func(turn eval.Turn) bool { return turn.Step == s.Check }
		if i := slices.IndexFunc(turns, of); i >= 0 {
			p.calls(turns[i])
			turns = slices.Delete(turns, i, i+1)
		}
	}
	for _, turn := range turns {
		p.line(p.indent(2), styled(dim, "· "), text(turn.Step))
		p.calls(turn)
	}
}

func (p *page) calls(turn eval.Turn) {
	for _, call := range turn.Calls {
		p.call(4, call)
	}
}

// score writes one score, and the difference if it did not pass.
func (p *page) score(indent int, s eval.Score) {
	glyph := mark(eval.Fail)
	switch {
	case s.Warning:
		glyph = styled(yellow, "~")
	case s.Pass:
		glyph = mark(eval.Pass)
	}
	parts := []part{p.indent(indent), glyph, text(" " + s.Check + "  ")}
	message := s.Message
	if s.Target != "" {
		parts = append(parts, styled(dim, s.Target+"  "))
		message = strings.TrimPrefix(message, s.Target+": ")
	}
	if s.LatencyMS > 0 {
		parts = append(parts, styled(dim, duration(s.LatencyMS)+"  "))
	}
	p.entry(indent+4, cause(s.Reason, message), parts...)
	if failed(s) {
		p.difference(indent+4, s)
	}
}

// call writes what was sent and what came back.
func (p *page) call(indent int, c eval.ToolCall) {
	const lines = 4
	sent := c.Tool + " " + string(c.Arguments)
	if c.Tool == "" {
		sent = c.Method
	}
	if c.URI != "" {
		sent = "read " + c.URI
	}
	p.value(indent, styled(dim, "→ "), sent, lines)
	o := c.Outcome
	back := styled(dim, "← ")
	switch o.Kind {
	case eval.OutcomeOK:
		for _, s := range p.contents(o.Result) {
			p.value(indent, back, s, lines)
			back = text("  ")
		}
	case eval.OutcomeToolError:
		for _, s := range p.contents(o.Result) {
			p.value(indent, back, "rejected: "+s, lines)
		}
	case eval.OutcomeProtocolError:
		if o.Error != nil {
			p.value(indent, back, fmt.Sprintf("error %d: %s %s", o.Error.Code, o.Error.Message, o.Error.Data), lines)
		}
	default:
		p.value(indent, back.in(yellow), cause(cmp.Or(o.Reason, eval.Reason(o.Kind)), o.Detail), lines)
	}
}

// contents of an answer as people read it: the texts of its blocks, if it has
// nothing but texts, else the whole result. With Full it is always the result.
func (p *page) contents(result eval.JSON) []string {
	var r struct {
		Content, Contents []struct{ Text *string }
	}
	if p.o.Full || json.Unmarshal(result, &r) != nil {
		return []string{string(result)}
	}
	var texts []string
	for _, block := range append(r.Content, r.Contents...) {
		if block.Text == nil {
			return []string{string(result)}
		}
		texts = append(texts, *block.Text)
	}
	if len(texts) == 0 {
		return []string{string(result)}
	}
	return texts
}

// attempts are shown when there was more than one, because then the farm failed.
func (p *page) attempts(t Trial) {
	if len(t.Attempts) < 2 {
		return
	}
	p.blank()
	p.heading("attempts")
	for _, a := range t.Attempts {
		outcome := string(a.Outcome)
		switch {
		case a.Counts:
			outcome += " (counts)"
		case a.Outcome == eval.AttemptDone:
			outcome += " (superseded)"
		}
		cost := ""
		if a.CostMicroUSD > 0 {
			cost = eval.USD(a.CostMicroUSD)
		}
		p.line(p.indent(2), textf("%d", a.N).padLeft(3), text("  "), text(outcome).pad(18), text("  "),
			text(cost).padLeft(8), text("  "), styled(dim, a.Worker), text("  "), text(cause(a.Reason, a.Message)))
	}
}

// fact writes a labelled line, if there is anything to say.
func (p *page) fact(name, value string) {
	if value != "" {
		p.line(p.indent(2), styled(dim, name).pad(9), text(value))
	}
}

// join puts what there is of the parts on one line.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

func label(name, value string) string {
	if value == "" {
		return ""
	}
	return name + " " + value
}

func count(name string, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s %d", name, n)
}
