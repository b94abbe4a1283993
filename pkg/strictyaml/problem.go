package strictyaml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// A Problem is one thing that is wrong with a file.
type Problem struct {
	// File is the name that was given to [Parse].
	File string
	// Line and Column count from 1; zero means the file as a whole. Columns
	// count characters.
	Line   int
	Column int
	// Message says what is wrong, in one line. It has no control characters.
	Message string
	// Hint says what to do about it; it may be empty.
	Hint string
	// Warning marks what does not keep the file from being used.
	Warning bool
	// Source is the text of the line, as it is in the file.
	Source string
}

// Render writes the problem for a terminal, in whole lines: the message, the
// place, the source line and a caret with the hint. Control characters of the
// source are not shown, and of a long line only the part around the caret.
func (p Problem) Render() string {
	var b strings.Builder
	level := "error"
	if p.Warning {
		level = "warning"
	}
	fmt.Fprintf(&b, "%s: %s\n", level, p.Message)
	if p.Line == 0 {
		fmt.Fprintf(&b, "  --> %s\n", visible(p.File))
		if p.Hint != "" {
			fmt.Fprintf(&b, "   = %s\n", p.Hint)
		}
		return b.String()
	}
	source, column := window([]rune(visible(p.Source)), p.Column)
	number := fmt.Sprintf("%4d", p.Line)
	gutter := strings.Repeat(" ", len(number))
	fmt.Fprintf(&b, "  --> %s:%d:%d\n", visible(p.File), p.Line, p.Column)
	fmt.Fprintf(&b, "%s | %s\n", number, source)
	fmt.Fprintf(&b, "%s | %s^", gutter, strings.Repeat(" ", column-1))
	if p.Hint != "" {
		fmt.Fprintf(&b, " %s", p.Hint)
	}
	b.WriteByte('\n')
	return b.String()
}

// shown is how many characters of a source line are printed: a line of a
// minified file must not fill the screen.
const shown = 120

// window cuts a long line to the part around a column, which it returns as
// counted in that part.
func window(line []rune, column int) (string, int) {
	column = max(1, min(column, len(line)+1))
	if len(line) <= shown {
		return string(line), column
	}
	from := max(0, min(column-1-shown/3, len(line)-shown))
	part := line[from:min(from+shown, len(line))]
	column -= from
	out := string(part)
	if from > 0 {
		out, column = "…"+out, column+1
	}
	if from+shown < len(line) {
		out += "…"
	}
	return out, column
}

// visible replaces what could move the cursor or reorder the text.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

// Quote shows text of a file inside a message: quoted, without control
// characters, and cut when it is long.
func Quote(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:59]) + "…"
	}
	return strconv.Quote(s)
}

// Sort orders problems by file, in the order of the files' first problem, and
// inside a file by place.
func Sort(problems []Problem) {
	first := map[string]int{}
	for i, p := range problems {
		if _, ok := first[p.File]; !ok {
			first[p.File] = i
		}
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(first[a.File], first[b.File]),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}
