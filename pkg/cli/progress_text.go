package cli

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
)

// maxMessage bounds what one failure may print, in columns. The report has the
// whole of it.
const maxMessage = 300

// A palette holds the styles of everything that is shown. The zero palette is
// without colours.
type palette struct {
	verdicts map[eval.Verdict]lipgloss.Style
	bold     lipgloss.Style
	dim      lipgloss.Style
}

func newPalette(color bool) palette {
	if !color {
		return palette{}
	}
	style := lipgloss.NewStyle()
	return palette{
		verdicts: map[eval.Verdict]lipgloss.Style{
			eval.Pass:       style.Foreground(lipgloss.Green),
			eval.Fail:       style.Foreground(lipgloss.Red),
			eval.Error:      style.Foreground(lipgloss.Magenta),
			eval.Unjudged:   style.Foreground(lipgloss.Yellow),
			eval.Unfinished: style.Foreground(lipgloss.Yellow),
			eval.Skipped:    style.Faint(true),
		},
		bold: style.Bold(true),
		dim:  style.Faint(true),
	}
}

func (p palette) verdict(v eval.Verdict, s string) string { return p.verdicts[v].Render(s) }

// mark gives the sign of a verdict, so that colour is never the only difference.
func mark(v eval.Verdict) string {
	switch v {
	case eval.Pass:
		return "✓"
	case eval.Fail:
		return "✗"
	case eval.Error:
		return "!"
	case eval.Unjudged:
		return "?"
	case eval.Unfinished:
		return "–"
	case eval.Skipped:
		return "·"
	}
	return " "
}

// notable says whether a verdict is worth a line of its own while the run goes
// on. An unfinished trial is not: when a run is stopped there are thousands.
func notable(v eval.Verdict) bool {
	return v == eval.Fail || v == eval.Error || v == eval.Unjudged
}

// shown lists the verdicts whose counts are printed: pass and fail always, the
// others when there are any.
func shown(c eval.VerdictCounts) []eval.Verdict {
	var list []eval.Verdict
	for _, v := range eval.Verdicts() {
		if v == eval.Pass || v == eval.Fail || c.Of(v) > 0 {
			list = append(list, v)
		}
	}
	return list
}

// trialName names a trial as people type and read it: case, repeat, variant.
func trialName(id, variant string, repeat int) string {
	name := fmt.Sprintf("%s #%d", clean(id), repeat)
	if variant != "" && variant != "default" {
		name += "  " + clean(variant)
	}
	return name
}

// explain gives the reason and the message of a result in one line.
func explain(f Finished) string {
	reason, message := clean(string(f.Reason)), clean(f.Message)
	switch {
	case reason == "":
		return message
	case message == "":
		return reason
	default:
		return reason + ": " + message
	}
}

// address is one that people open: harmless, and never cut, since it would lead
// nowhere.
func address(url string) string { return report.Line(url, len(url)) }

// clean makes one harmless line of a text that somebody else wrote.
func clean(s string) string {
	if len(s) > 4*maxMessage {
		s = s[:4*maxMessage]
	}
	return report.Line(strings.Join(strings.Fields(s), " "), maxMessage)
}

// percent gives whole percents, rounded down so that 100 means all.
func percent(done, total int) int {
	if total <= 0 {
		return 0
	}
	return int(100 * int64(done) / int64(total))
}

// short formats a duration with the two units that matter. A negative one, as
// between two clocks, is none.
func short(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	default:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
}

// plural gives a count with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// sizes says how large a run is and what carries it.
func sizes(r RunInfo) []string {
	list := []string{plural(r.Cases, "case")}
	if r.Variants > 1 {
		list = append(list, plural(r.Variants, "variant"))
	}
	list = append(list, plural(r.Trials, "trial"))
	if r.Queue != "" {
		list = append(list, "queue "+clean(r.Queue))
	}
	return list
}
