package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A panel is what the live display draws below the lines that stay: a bar, the
// counts by verdict and the trials that take longest. It is a pure function of
// its fields.
type panel struct {
	status Status
	// eta is the rest of the run's time. It is shown when known.
	eta   time.Duration
	known bool
	now   time.Time
}

const (
	// panelFirst is how many lines there are for trials and limits before the size of
	// the terminal is known.
	panelFirst = 3
	// panelRest is how many lines the panel has beside them, with one to spare
	// for what is printed above it.
	panelRest = 4
	// A bar is drawn as wide as the line allows, within these bounds.
	barMin, barMax = 10, 30
)

// view draws the panel. No line is wider than width, and the whole fits into
// height, because a panel that is taller than the terminal cannot be redrawn.
func (p panel) view(width, height int, paint palette) string {
	lines := []string{p.bar(width, paint), p.counts(width, paint)}
	room := max(height-panelRest, 0)
	// Limits are few, and say why the trials wait: up to a half of the room is theirs,
	// and what trials leave.
	if w := p.status.Waits; w != "" {
		p.status.Limits = slices.Insert(slices.Clone(p.status.Limits), 0, []string{w})
	}
	keys := 0
	for _, l := range p.status.Limits {
		keys += len(l)
	}
	keys = min(keys, max(room/2, room-len(p.status.Slowest)))
	lines = append(lines, p.running(width, room-keys, paint)...)
	return strings.Join(append(lines, p.limits(width, keys, paint)...), "\n")
}

func (p panel) bar(width int, paint palette) string {
	s := p.status
	texts := []string{fmt.Sprintf("%d/%d", s.Done, s.Total), fmt.Sprintf("%d %%", percent(s.Done, s.Total))}
	if p.known {
		texts = append(texts, "eta "+short(p.eta))
	}
	texts = append(texts, fmt.Sprintf("%d running", s.Running), fmt.Sprintf("%d queued", s.Queued))
	text := fit(width-barMin-1, texts)
	n := min(max(width-lipgloss.Width(text)-1, 0), barMax)
	full := 0
	if s.Total > 0 {
		full = min(n*s.Done/s.Total, n)
	}
	return paint.verdict(eval.Pass, strings.Repeat("█", full)) + paint.dim.Render(strings.Repeat("░", n-full)) + " " + text
}

func (p panel) counts(width int, paint palette) string {
	var texts []string
	for _, v := range shown(p.status.Counts) {
		texts = append(texts, paint.verdict(v, fmt.Sprintf("%s %d %s", mark(v), p.status.Counts.Of(v), v)))
	}
	if p.status.Spent != "" {
		texts = append(texts, paint.dim.Render(p.status.Spent))
	}
	return fit(width, texts)
}

// running names the trials that take longest, in at most limit lines.
func (p panel) running(width, limit int, paint palette) []string {
	const label = "running  "
	n := min(len(p.status.Slowest), limit)
	var lines []string
	for i := range max(n, 0) {
		t := p.status.Slowest[i]
		indent := strings.Repeat(" ", len(label))
		if i == 0 {
			indent = paint.dim.Render(label)
		}
		took := "  " + short(p.now.Sub(t.Since))
		if t.Doing != "" {
			took += "  " + clip(t.Doing, width/2)
		}
		if more := p.status.Running - n; i == n-1 && more > 0 {
			took += fmt.Sprintf("  … and %d more", more)
		}
		name := clip(trialName(t.Case, t.Variant, t.Repeat), width-len(label)-lipgloss.Width(took))
		lines = append(lines, clip(indent+name+paint.dim.Render(took), width))
	}
	return lines
}

// limits shows what holds trials back, in at most room lines: each key with all of its
// lines, or not at all.
func (p panel) limits(width, room int, paint palette) []string {
	const label = "limits   "
	var texts []string
	shown := 0
	for _, key := range p.status.Limits {
		if len(texts)+len(key) > room {
			break
		}
		texts = append(texts, key...)
		shown++
	}
	if shown == 0 && room > 0 && len(p.status.Limits) > 0 {
		texts, shown = p.status.Limits[0][:1], 1
	}
	var lines []string
	for i, text := range texts {
		indent := strings.Repeat(" ", len(label))
		if i == 0 {
			indent = label
		}
		rest := ""
		if more := len(p.status.Limits) - shown; i == len(texts)-1 && more > 0 {
			rest = fmt.Sprintf("  … and %d more", more)
		}
		lines = append(lines, paint.dim.Render(clip(clip(indent+text, width-lipgloss.Width(rest))+rest, width)))
	}
	return lines
}

// fit joins texts as long as they fit into width. The first is always there,
// clipped where it must be.
func fit(width int, texts []string) string {
	line := clip(texts[0], width)
	for _, t := range texts[1:] {
		longer := line + "  " + t
		if lipgloss.Width(longer) > width {
			break
		}
		line = longer
	}
	return line
}

// clip cuts a line to width columns and shows that it did.
func clip(s string, width int) string {
	switch {
	case lipgloss.Width(s) <= width:
		return s
	case width <= 0:
		return ""
	case width == 1: // MaxWidth takes 0 for no limit.
		return "…"
	default:
		return lipgloss.NewStyle().Inline(true).MaxWidth(width-1).Render(s) + "…"
	}
}
