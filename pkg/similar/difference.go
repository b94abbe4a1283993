package similar

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// A Kind of difference, as a report names it.
type Kind string

const (
	// Missing: an expected call that was not made.
	Missing Kind = "Missing"
	// Extra: a call that nobody expected.
	Extra Kind = "Extra"
	// OutOfOrder: an expected call that was made at another place.
	OutOfOrder Kind = "Out of order"
	// ArgumentMismatch: an expected call with another argument.
	ArgumentMismatch Kind = "Argument mismatch"
)

// A Difference is one thing that differs between the expected calls and those
// that were made.
type Difference struct {
	Kind Kind
	// Want and Got are the indices of the expected call and of the call that was
	// made, from 0; -1 where there is none.
	Want, Got int
	Tool      string
	// Argument that differs; empty means the arguments as a whole.
	Argument string
	// Expected and Actual are that argument's values, or the arguments of a call
	// that is missing, extra or out of order. Nil where there are none.
	Expected, Actual eval.JSON
	// Unasked marks an argument of a call that the expected one does not have and
	// that lowers the grade only: the call fits all the same.
	Unasked bool
	// More is how many arguments of the same call differ too and have no
	// Difference of their own.
	More int
}

// String is one line for people. Names and values, which a model made up, are
// quoted and cut.
func (d Difference) String() string {
	switch d.Kind {
	case Missing:
		return fmt.Sprintf("%s: expected call %d, %s%s", d.Kind, d.Want+1, name(d.Tool), after(d.Expected))
	case Extra:
		return fmt.Sprintf("%s: call %d, %s%s", d.Kind, d.Got+1, name(d.Tool), after(d.Actual))
	case OutOfOrder:
		return fmt.Sprintf("%s: call %d, %s%s, is expected call %d", d.Kind, d.Got+1, name(d.Tool), after(d.Actual), d.Want+1)
	case ArgumentMismatch:
		return d.mismatch()
	default:
		return string(d.Kind)
	}
}

func (d Difference) mismatch() string {
	where := "arguments"
	if d.Argument != "" {
		where = name(d.Argument)
	}
	line := fmt.Sprintf("%s: call %d, %s, %s: want %s, got %s", d.Kind, d.Got+1, name(d.Tool), where, show(d.Expected), show(d.Actual))
	if d.More > 0 {
		line += fmt.Sprintf(" (and %d more arguments)", d.More)
	}
	return line
}

func after(arguments eval.JSON) string {
	if arguments == nil {
		return ""
	}
	return " " + show(arguments)
}

// show writes a value as JSON on one line; what would not be seen, or would
// steer a terminal, is escaped.
func show(value eval.JSON) string {
	if value == nil {
		return "none"
	}
	var b strings.Builder
	for _, r := range match.Show(value) {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// maxName bounds a name in a line, in bytes.
const maxName = 80

// name writes the name of a tool or an argument: as it is when it is plain,
// quoted when not.
func name(text string) string {
	plain := text != "" && strings.IndexFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./", r)
	}) < 0
	cut := ""
	if len(text) > maxName {
		text, cut = strings.ToValidUTF8(text[:maxName], ""), "…"
	}
	if plain {
		return text + cut
	}
	return strconv.Quote(text) + cut
}
