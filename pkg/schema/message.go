package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxProblems of one value are named; the rest is counted.
const maxProblems = 3

// shorten makes one line of a validation error, which is a tree, and leaves
// other errors alone.
func shorten(err error) error {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	problems := collect(invalid)
	slices.Sort(problems)
	problems = slices.Compact(problems)
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(problems, "; "))
}

// collect returns a line for every leaf; the branches of anyOf and oneOf are
// alternatives and share one.
func collect(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{pathOf(e.InstanceLocation) + ": " + e.DetailedOutput().Error.String()}
	}
	var lines []string
	for _, cause := range e.Causes {
		lines = append(lines, collect(cause)...)
	}
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		slices.Sort(lines)
		return []string{strings.Join(slices.Compact(lines), ", or ")}
	default:
		return lines
	}
}

// pathOf writes a location such as items[0].status; the root is "value".
func pathOf(location []string) string {
	if len(location) == 0 {
		return "value"
	}
	var path strings.Builder
	for _, token := range location {
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			fmt.Fprintf(&path, "[%s]", token)
		case path.Len() > 0:
			path.WriteString("." + token)
		default:
			path.WriteString(token)
		}
	}
	return path.String()
}
