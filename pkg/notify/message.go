package notify

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/report"
)

const (
	// A message lists so many reasons and failures, of so many characters. With them
	// a webhook's payload stays below the 20 KB that Standard Webhooks recommends.
	maxListed = 5
	maxText   = 200
	maxName   = 100
	// maxLink is how long an address of a run may be: a cut one leads nowhere.
	maxLink = 2000
	// maxTrace is how long an address of a trace may be: there are maxListed of them.
	maxTrace = 500
)

// The types of messages.
const (
	typeFinished = "run.finished"
	typeTest     = "notification.test"
)

// A message is what a target is told of a run. In its JSON form it is the payload of
// a webhook. Texts of strangers in it are on one line, harmless and cut.
type message struct {
	// id is that of the notice: the same in every try.
	id        string
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	Run      string          `json:"run"`
	Suite    string          `json:"suite"`
	Outcome  eval.RunOutcome `json:"outcome"`
	Verdict  eval.RunVerdict `json:"verdict"`
	ExitCode int             `json:"exit_code"`
	Trials   int             `json:"trials"`
	// Kinds have counts, the pass rate with its intervals and what else a summary says of
	// them; kinds are never pooled.
	Kinds map[eval.Kind]eval.Stats `json:"kinds"`
	// CostMicroUSD is null when nobody knows the price of a model that was asked.
	CostMicroUSD *int64    `json:"cost_microusd"`
	DurationMS   int64     `json:"duration_ms"`
	Started      time.Time `json:"started"`
	Finished     time.Time `json:"finished"`
	// Reasons explain the verdict. Failures are the first cells that did not pass, of
	// FailedCells.
	Reasons     []string `json:"reasons,omitempty"`
	Failures    []cell   `json:"failures,omitempty"`
	FailedCells int      `json:"failed_cells"`
	// Commit of the suite; Dirty is true when its files differed from the commit.
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
	// URL of the run for people.
	URL string `json:"url,omitempty"`
}

// A cell is one that did not pass.
type cell struct {
	Case    string       `json:"case"`
	Variant string       `json:"variant,omitempty"`
	Verdict eval.Verdict `json:"verdict"`
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	// TraceURL is where people see the trace of the trial that the cell is explained by.
	TraceURL string `json:"trace_url,omitempty"`
}

// tell makes the message of a run for a target.
func tell(id string, s eval.Summary, t eval.Target, secrets *redact.Redactor) message {
	text := func(s string, limit int) string { return shown(secrets.String(s), limit) }
	m := message{id: id, Type: typeFinished, Timestamp: s.Finished.UTC(), Data: data{
		Run: text(s.Run, maxName), Suite: text(s.Suite, maxName), Outcome: s.Outcome, Verdict: s.Verdict, ExitCode: s.ExitCode,
		Trials: s.Trials, Kinds: s.Kinds, CostMicroUSD: s.Cost.MicroUSD, DurationMS: s.Finished.Sub(s.Started).Milliseconds(),
		Started: s.Started.UTC(), Finished: s.Finished.UTC(), URL: link(t.Link, s),
	}}
	for _, reason := range s.Reasons[:min(len(s.Reasons), maxListed)] {
		m.Data.Reasons = append(m.Data.Reasons, text(reason, maxText))
	}
	if s.Git != nil {
		m.Data.Commit, m.Data.Dirty = text(s.Git.Commit, maxName), s.Git.Dirty
	}
	failed := slices.DeleteFunc(slices.Clone(s.Cells), func(c eval.CellStats) bool { return c.Failure == nil })
	// What is under test goes first, then trouble of ours, then what is open.
	rank := func(c eval.CellStats) int { return slices.Index(eval.Verdicts(), c.Failure.Verdict) }
	slices.SortStableFunc(failed, func(a, b eval.CellStats) int { return cmp.Compare(rank(a), rank(b)) })
	m.Data.FailedCells = len(failed)
	for _, c := range failed[:min(len(failed), maxListed)] {
		one := cell{
			Case: text(c.Case, maxName), Verdict: c.Failure.Verdict, Reason: text(string(c.Failure.Reason), maxName),
			Message: text(said(*c.Failure), maxText),
		}
		if c.Variant != "default" {
			one.Variant = text(c.Variant, maxName)
		}
		if len(c.Failure.TraceURL) <= maxTrace {
			one.TraceURL = c.Failure.TraceURL
		}
		m.Data.Failures = append(m.Data.Failures, one)
	}
	return m
}

// said is what a failure is explained with: that of the trial, or of what was found
// wrong in it first.
func said(f eval.Failure) string {
	if f.Message == "" && len(f.Scores) > 0 {
		return f.Scores[0].Message
	}
	return f.Message
}

// sample is a message that says that it is none.
func sample(id string, t eval.Target, now time.Time) message {
	var nothing int64
	s := eval.Summary{
		Run: "r-test", Suite: "test", Verdict: eval.RunPass, Outcome: eval.OutcomeComplete, Started: now, Finished: now,
		Cost: eval.Cost{MicroUSD: &nothing}, Kinds: map[eval.Kind]eval.Stats{},
		Reasons: []string{"A test of evalfarm's notifications: no run has ended."},
	}
	m := tell(id, s, t, nil)
	m.Type = typeTest
	return m
}

// headline says it all in a line of at most so many characters.
func (m message) headline(limit int) string {
	if m.Type == typeTest {
		return shown("TEST "+m.Data.Reasons[0], limit)
	}
	parts := []string{strings.ToUpper(string(m.Data.Verdict)) + " " + m.Data.Suite}
	parts = append(parts, m.kinds()...)
	if m.Data.Outcome != eval.OutcomeComplete {
		parts = append(parts, string(m.Data.Outcome))
	}
	return shown(strings.Join(append(parts, m.length(), m.cost()), ", "), limit)
}

// kinds tells how many trials of each kind passed.
func (m message) kinds() []string {
	var parts []string
	for _, k := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
		if c := m.Data.Kinds[k].Counts; c.Total() > 0 {
			parts = append(parts, fmt.Sprintf("%s %d/%d pass", k, c.Pass, c.Total()))
		}
	}
	return parts
}

func (m message) length() string {
	d := time.Duration(m.Data.DurationMS) * time.Millisecond
	if d > time.Minute {
		d = d.Round(time.Second)
	}
	return d.String()
}

func (m message) cost() string {
	if m.Data.CostMicroUSD == nil {
		return "cost unknown"
	}
	return eval.USD(*m.Data.CostMicroUSD)
}

// rates tells the pass rate of each kind with its interval.
func (m message) rates() []string {
	var lines []string
	for _, k := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
		stats := m.Data.Kinds[k]
		if stats.Counts.Total() == 0 {
			continue
		}
		line := string(k) + ": no rate, nothing passed or failed"
		if r := stats.PassRate; r.Value != nil {
			line = fmt.Sprintf("%s: %.1f %% [%.1f, %.1f] of %d passed", k, 100**r.Value, 100*r.Low, 100*r.High, r.N)
			if d := stats.Disagreement; d != nil && d.Value != nil && r.Others != nil {
				line += fmt.Sprintf(", cases like these [%.1f, %.1f], two runs of the same case disagree %.1f %% of the time", 100*r.Others.Low, 100*r.Others.High, 100**d.Value)
			}
		} else if stats.Settled().Total() == 0 {
			line = string(k) + ": no rate, no round is complete"
		}
		for _, v := range eval.Verdicts()[1:] {
			if n := stats.Counts.Of(v); n > 0 {
				line += fmt.Sprintf(", %d %s", n, v)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// A point is a line of a message, and the address of what it tells of, if there is one.
type point struct{ Text, URL string }

// points are all that is told below the headline: the rates, the reasons and the
// failures.
func (m message) points() [][]point {
	plain := func(lines []string) (ps []point) {
		for _, l := range lines {
			ps = append(ps, point{Text: l})
		}
		return ps
	}
	return [][]point{plain(m.rates()), plain(m.Data.Reasons), m.failures()}
}

// failures tells the first cells that did not pass, and how many more there are.
func (m message) failures() []point {
	var lines []point
	for _, c := range m.Data.Failures {
		name := string(c.Verdict) + " " + c.Case
		if c.Variant != "" {
			name += " [" + c.Variant + "]"
		}
		parts := slices.DeleteFunc([]string{name, c.Reason, c.Message}, func(s string) bool { return s == "" })
		lines = append(lines, point{strings.Join(parts, ": "), c.TraceURL})
	}
	if more := m.Data.FailedCells - len(m.Data.Failures); more > 0 {
		lines = append(lines, point{Text: fmt.Sprintf("and %d more", more)})
	}
	return lines
}

// link fills in the address of a run; empty if there is none.
func link(template string, s eval.Summary) string {
	// A space is %20 in a path and in a query alike.
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	filled := strings.NewReplacer("{run}", escape(s.Run), "{suite}", escape(s.Suite)).Replace(template)
	if len(filled) > maxLink {
		return ""
	}
	return filled
}

// shown makes a stranger's text harmless and short: at most limit characters.
// What takes no column of a terminal still counts as one.
func shown(s string, limit int) string {
	short, n := s, 0
	for i := range s {
		if n == limit {
			short = s[:i]
			break
		}
		n++
	}
	line := report.Line(short, limit)
	if len(short) < len(s) && !strings.HasSuffix(line, "…") {
		runes := []rune(line)
		line = string(runes[:min(len(runes), limit-1)]) + "…"
	}
	return line
}
