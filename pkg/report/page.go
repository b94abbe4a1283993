package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Options of what is printed to a terminal. The zero value prints plain text.
type Options struct {
	// Width of a line in columns; longer ones are cut. Zero means 100.
	Width int
	// Color adds ANSI colours. They only ever repeat what the text says.
	Color bool
	// Full shows values uncut, and answers byte for byte.
	Full bool
	// Explain says of each rule how it was decided.
	Explain bool
	// Next are commands that are worth a try after this.
	Next []string
}

// A page collects lines of parts. All text goes through [Line] on its way, so
// no face needs to remember it.
type page struct {
	out   strings.Builder
	width int
	o     Options
	// said is the error that was explained last.
	said string
}

// A part is text in one style.
type part struct {
	text  string
	style style
	// min pads the text with spaces to a width; a negative one puts them before.
	min int
}

// A style is the parameter of an ANSI colour.
type style string

const (
	plain  style = ""
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

func newPage(o Options) *page {
	width := o.Width
	if width <= 0 {
		width = 100
	}
	return &page{width: width, o: o}
}

func text(s string) part                 { return part{text: s} }
func textf(format string, a ...any) part { return part{text: fmt.Sprintf(format, a...)} }
func styled(st style, s string) part     { return part{text: s, style: st} }

// pad fills up to n columns with spaces behind the text, or before it.
func (p part) pad(n int) part      { p.min = n; return p }
func (p part) padLeft(n int) part  { p.min = -n; return p }
func (p part) in(st style) part    { p.style = st; return p }
func (p *page) blank()             { p.out.WriteByte('\n') }
func (p *page) indent(n int) part  { return text(strings.Repeat(" ", n)) }
func (p *page) heading(s string)   { p.line(p.indent(2), styled(bold, s)) }
func (p *page) line(parts ...part) { p.cut(p.width, parts) }

// cut writes one line of at most width columns; spaces at its end are dropped.
func (p *page) cut(width int, parts []part) {
	left := width
	spaces := 0
	write := func(s string) {
		trimmed := strings.TrimRight(s, " ")
		if trimmed == "" {
			spaces += len(s)
			return
		}
		p.out.WriteString(strings.Repeat(" ", spaces))
		p.out.WriteString(trimmed)
		spaces = len(s) - len(trimmed)
	}
	for _, part := range parts {
		if left <= 0 {
			break
		}
		s := Line(part.text, left)
		fill := strings.Repeat(" ", min(max(max(part.min, -part.min)-wide(s), 0), left-wide(s)))
		left -= wide(s) + len(fill)
		if part.min < 0 {
			write(fill)
		}
		if p.o.Color && part.style != plain && strings.TrimSpace(s) != "" {
			p.out.WriteString(strings.Repeat(" ", spaces))
			spaces = 0
			fmt.Fprintf(&p.out, "\x1b[%sm%s\x1b[0m", part.style, s)
		} else {
			write(s)
		}
		if part.min > 0 {
			write(fill)
		}
	}
	p.out.WriteByte('\n')
}

// entry writes a message behind other parts, if all of it fits on their line,
// else below it.
func (p *page) entry(indent int, message string, parts ...part) {
	used := 0
	for _, part := range parts {
		used += max(part.min, wide(Line(part.text, p.width)))
	}
	if used+wide(Line(message, p.width)) <= p.width {
		p.line(append(parts, text(message))...)
		return
	}
	p.line(parts...)
	p.value(indent, part{}, message, 3)
}

// flow writes pieces behind a label, on as many lines as they take. A piece brings
// the spaces that keep it apart, which are dropped at the start of a line.
func (p *page) flow(label, pieces []part) {
	indent := 0
	for _, l := range label {
		indent += max(l.min, wide(l.text))
	}
	line, used := slices.Clone(label), indent
	for i, piece := range pieces {
		if i > 0 && used+wide(Line(piece.text, p.width)) > p.width {
			p.line(line...)
			line, used = []part{p.indent(indent)}, indent
			piece.text = strings.TrimLeft(piece.text, " ")
		}
		line = append(line, piece)
		used += wide(Line(piece.text, p.width))
	}
	p.line(line...)
}

// value writes a labelled value over at most limit lines, the later ones
// indented below the first. Lines break behind a space where there is one in
// their second half. With Full there is no limit.
func (p *page) value(indent int, label part, s string, limit int) {
	inner := max(p.width-indent-max(label.min, wide(label.text)), 20)
	if p.o.Full {
		limit = len(s) + 1
	}
	shown := Line(s, inner*limit)
	for line := 1; line == 1 || shown != ""; line++ {
		if line == limit {
			p.line(p.indent(indent), label, text(shown))
			return
		}
		n, used := 0, 0
		for i, r := range shown {
			if used += columns(r); used > inner {
				break
			}
			n = i + len(string(r))
		}
		if space := strings.LastIndexByte(shown[:n], ' '); n < len(shown) && space > n/2 {
			n = space + 1
		}
		p.line(p.indent(indent), label, text(shown[:n]))
		shown = shown[n:]
		label = part{min: max(label.min, wide(label.text))}
	}
}

// traced writes the address of a trace, if there is one, uncut: people open it.
func (p *page) traced(indent int, address string) {
	if address != "" {
		p.cut(indent+9+len(address), []part{p.indent(indent), styled(dim, "trace").pad(9), text(address)})
	}
}

// words writes a labelled text that keeps its lines, at most limit of them.
func (p *page) words(indent int, label part, s string, limit int) {
	if p.o.Full {
		limit = len(s) + 1
	}
	lines, more := Lines(s, 0, limit)
	if more > 0 {
		lines = append(lines, fmt.Sprintf("… %d more lines", more))
	}
	for _, l := range lines {
		p.value(indent, label, l, limit)
		label = part{min: max(label.min, wide(label.text))}
	}
}

// stderr writes what a server said, or its head.
func (p *page) stderr(indent int, s string, limit int) {
	if p.o.Full {
		limit = len(s) + 1
	}
	lines, more := Lines(s, p.width, limit)
	for _, l := range lines {
		p.line(p.indent(indent), styled(dim, "stderr │ "), text(l))
	}
	if more > 0 {
		p.line(p.indent(indent), styled(dim, fmt.Sprintf("       │ … %d more lines", more)))
	}
}

// next writes the commands that the reader may want now, uncut.
func (p *page) next() {
	label := "next  "
	for i, command := range p.o.Next {
		if i == 0 {
			p.blank()
		}
		p.cut(len(label)+len(command)+1, []part{styled(dim, label), text(command)})
		label = "      "
	}
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.out.String())
	return err
}

// mark is the glyph of a verdict, in its colour.
func mark(v eval.Verdict) part {
	switch v {
	case eval.Pass:
		return styled(green, "✓")
	case eval.Fail:
		return styled(red, "✗")
	case eval.Error:
		return styled(yellow, "!")
	case eval.Unjudged:
		return styled(yellow, "?")
	case eval.Unfinished:
		return styled(yellow, "◌")
	default:
		return styled(dim, "–")
	}
}

// duration prints milliseconds in the unit that fits.
func duration(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", ms)
	case d < time.Second:
		return fmt.Sprintf("%.0fms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}
