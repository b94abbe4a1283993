package suite

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// ProblemsError is a suite that cannot be used, with everything that is wrong
// with it.
type ProblemsError struct {
	// Path that was asked for. Empty leaves it out of the last line.
	Path string
	// Problems in the order of files and lines, warnings included; at least one
	// is no warning.
	Problems []strictyaml.Problem
}

// Error renders every problem with its place and source line, in whole lines,
// and counts them in the last one.
func (e *ProblemsError) Error() string {
	var b strings.Builder
	failures := 0
	for _, p := range e.Problems {
		b.WriteString(p.Render())
		if !p.Warning {
			failures++
		}
	}
	b.WriteString(count(failures, "error"))
	if warnings := len(e.Problems) - failures; warnings > 0 {
		b.WriteString(", " + count(warnings, "warning"))
	}
	if e.Path != "" {
		b.WriteString(" in " + e.Path)
	}
	b.WriteByte('\n')
	return b.String()
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// problems collects what is wrong.
type problems struct {
	all []strictyaml.Problem
	// filled counts the bytes of all values that were put in the place of
	// references to them.
	filled int
}

// maxFilled bounds what references may make of a suite, so that a large value
// with many references is an error and not an exhausted machine.
const maxFilled = 64 << 20

// fill counts a value that takes the place of a reference; false means that the
// bound is reached, which it reports once.
func (p *problems) fill(pos strictyaml.Pos, bytes int) bool {
	before := p.filled
	p.filled += bytes
	if before <= maxFilled && p.filled > maxFilled {
		p.report(pos, fmt.Sprintf("the values of vars, rows and files fill more than %d bytes", maxFilled), "refer to large values less often")
	}
	return p.filled <= maxFilled
}

func (p *problems) report(pos strictyaml.Pos, message, hint string) {
	p.all = append(p.all, pos.Problem(message, hint))
}

func (p *problems) warn(pos strictyaml.Pos, message, hint string) {
	w := pos.Problem(message, hint)
	w.Warning = true
	p.all = append(p.all, w)
}

// unknownName reports a reference to something that is not declared.
func (p *problems) unknownName(pos strictyaml.Pos, what, name string, known []string) {
	hint := strictyaml.DidYouMean(name, known)
	switch {
	case hint != "":
	case len(known) == 0:
		hint = "the suite declares none"
	default:
		hint = "declared: " + strings.Join(known, ", ")
	}
	p.report(pos, fmt.Sprintf("unknown %s %s", what, strictyaml.Quote(name)), hint)
}

func (p *problems) failed() bool {
	for _, one := range p.all {
		if !one.Warning {
			return true
		}
	}
	return false
}
