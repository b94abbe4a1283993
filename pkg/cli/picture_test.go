package cli_test

import (
	"cmp"
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// picture is where the docs show a trace.
const picture = "../../docs/trace.svg"

// pictured wants the picture of the docs to show a trail, but for its times and its
// waits. With -update one that does not is drawn anew.
func pictured(t *testing.T, trail []step) {
	t.Helper()
	var want []string
	for _, s := range trail {
		if kind(s) != "wait" {
			want = append(want, s.Name)
		}
	}
	got, err := shown()
	if slices.Equal(got, want) {
		return
	}
	if flag.Lookup("update").Value.String() != "true" {
		t.Errorf("docs/trace.svg shows\n%q (%v), the trace has\n%q; -update draws it anew", got, err, want)
	} else if err := os.WriteFile(picture, []byte(draw(trail)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shown are the names of the spans in the picture, but for waits.
func shown() ([]string, error) {
	content, err := os.ReadFile(picture)
	var names []string
	for _, m := range label.FindAllSubmatch(content, -1) {
		if name := html.UnescapeString(string(m[1])); !strings.HasPrefix(name, "wait ") {
			names = append(names, name)
		}
	}
	return names, err
}

// label finds the names of spans in a picture.
var label = regexp.MustCompile(`class="name"[^>]*>([^<]*)<`)

// Sizes of a picture, in its units: of a row, of the column of names and of that of
// bars.
const (
	rowHeight, nameWidth, barWidth = 22, 262, 470
	margin, indent, numberWidth    = 16, 13, 190
	headHeight                     = 46
)

// draw makes a waterfall of a trail: a row for each span, with its name, a bar from
// its begin to its end, and how long it took. Colours follow whoever looks at it, in a
// light or a dark window.
func draw(trail []step) string {
	begin, end := trail[0].Start, trail[0].End
	for _, s := range trail {
		if s.Start.Before(begin) {
			begin = s.Start
		}
		if s.End.After(end) {
			end = s.End
		}
	}
	width, height := margin*2+nameWidth+barWidth+numberWidth, headHeight+rowHeight*len(trail)+margin
	left := margin + nameWidth
	x := func(at time.Time) float64 {
		return float64(left) + barWidth*at.Sub(begin).Seconds()/end.Sub(begin).Seconds()
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" role="img" aria-labelledby="title">
<title id="title">A trace of the trial of an agent: its spans as bars over time</title>
<style>
text { font: 12px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
.number, .head { fill: #59636e } .number { font-size: 11px } .bad { fill: #d1242f }
.ground { fill: #ffffff } .line { stroke: #d1d9e0; stroke-width: 1 }
.scheduler { fill: #8250df } .worker { fill: #57606a } .model { fill: #0969da } .server { fill: #1a7f37 } .judge { fill: #bf3989 } .wait { fill: #d4a72c }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .number, .head { fill: #9198a1 } .bad { fill: #ff7b72 }
.ground { fill: #0d1117 } .line { stroke: #3d444d }
.scheduler { fill: #a371f7 } .worker { fill: #8b949e } .model { fill: #4493f8 } .server { fill: #3fb950 } .judge { fill: #db61a2 } .wait { fill: #bb8009 }
}
</style>
<rect class="ground" width="%[1]d" height="%[2]d" rx="6"/>
`, width, height)
	at := margin
	for _, kind := range []string{"scheduler", "worker", "server", "model", "wait", "judge"} {
		fmt.Fprintf(&b, `<rect class="%s" x="%d" y="10" width="10" height="10" rx="2"/><text class="head" x="%d" y="19">%[1]s</text>`+"\n", kind, at, at+15)
		at += 90
	}
	for tick := time.Duration(0); tick <= end.Sub(begin); tick += 500 * time.Millisecond {
		fmt.Fprintf(&b, `<path class="line" d="M%.1f %d V%d"/><text class="head" x="%.1[1]f" y="%[4]d" text-anchor="middle">%.1[5]f s</text>`+"\n",
			x(begin.Add(tick)), headHeight, height-margin, headHeight-6, tick.Seconds())
	}
	for i, s := range trail {
		y := headHeight + rowHeight*i
		from, to := x(s.Start), x(s.End)
		fmt.Fprintf(&b, `<text class="name" x="%d" y="%d">%s</text>`, margin+indent*s.depth, y+15, html.EscapeString(s.Name))
		fmt.Fprintf(&b, `<rect class="%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="2"/>`, kind(s), from, y+5, max(2, to-from), rowHeight-10)
		fmt.Fprintf(&b, `<text class="number" x="%d" y="%d">%s`, left+barWidth+8, y+15, took(s.End.Sub(s.Start)))
		if said := learned(s); said != "" {
			class := "number"
			if s.Status == "Error" {
				class = "number bad"
			}
			fmt.Fprintf(&b, ` <tspan class="%s" dx="4">%s</tspan>`, class, html.EscapeString(said))
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// kind is who a span is of: the class of its bar.
func kind(s step) string {
	switch word, _, _ := strings.Cut(s.Name, " "); word {
	case "trial", "send":
		return "scheduler"
	case "chat":
		return "model"
	case "wait", "judge":
		return word
	case "start", "execute_tool", "tools/list":
		return "server"
	default:
		return "worker"
	}
}

// learned is the most telling thing that a span says.
func learned(s step) string {
	if s.Status == "Error" {
		return strings.TrimSpace(fmt.Sprint(cmp.Or(s.Attrs["http.response.status_code"], any("")), " ", s.Attrs["error.type"]))
	}
	for _, e := range s.Events {
		if e.Name == "gen_ai.evaluation.result" && strings.HasPrefix(s.Name, "judge ") {
			return fmt.Sprintf("%s, score %v", e.Attrs["gen_ai.evaluation.score.label"], e.Attrs["gen_ai.evaluation.score.value"])
		}
	}
	switch {
	case s.depth == 0:
		return fmt.Sprint(s.Attrs["evalfarm.verdict"])
	case strings.HasPrefix(s.Name, "chat "):
		return fmt.Sprintf("%v tokens in, %v out", s.Attrs["gen_ai.usage.input_tokens"], s.Attrs["gen_ai.usage.output_tokens"])
	default:
		return ""
	}
}

func took(d time.Duration) string {
	switch ms := float64(d.Microseconds()) / 1000; {
	case ms == 0: // a moment
		return ""
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	default:
		return fmt.Sprintf("%.2f s", ms/1000)
	}
}
