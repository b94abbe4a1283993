package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A Problem is a place in an expectation that cannot be decided.
type Problem struct {
	// Pointer is the JSON pointer (RFC 6901) of the place.
	Pointer string
	// Message is one line for people.
	Message string
}

func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// Check finds unknown matchers, matchers beside plain keys, bad expressions and
// operands of the wrong type. An
// operand that holds a {{name}} placeholder is not looked at: it is no operand
// before it is filled.
func Check(expected any) []Problem { return check("", expected, false) }

// check walks an expectation. Filled says that placeholders were filled, so that
// what looks like one is text.
func check(pointer string, expected any, filled bool) []Problem {
	var problems []Problem
	switch v := expected.(type) {
	case []any:
		for i := range v {
			problems = append(problems, check(fmt.Sprintf("%s/%d", pointer, i), v[i], filled)...)
		}
	case map[string]any:
		matchers := isMatcher(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := pointer + "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
			switch {
			case !matchers:
				problems = append(problems, check(at, v[key], filled)...)
			case !strings.HasPrefix(key, "$"):
				problems = append(problems, Problem{at, fmt.Sprintf("%q is a plain key beside matchers; an object holds the one or the other", key)})
			case !filled && isPlaceholder(v[key]):
			default:
				if message := malformed(key, v[key]); message != "" {
					problems = append(problems, Problem{at, message})
				} else if takesExpectation(key) {
					problems = append(problems, check(at, v[key], filled)...)
				}
			}
		}
	}
	return problems
}

// isPlaceholder says whether an operand will only be known at run time.
func isPlaceholder(operand any) bool {
	s, ok := operand.(string)
	if !ok {
		return false
	}
	names, err := vars.NamesIn(s)
	return err == nil && len(names) > 0
}

// takesExpectation says whether a matcher's operand may hold matchers.
func takesExpectation(name string) bool {
	return name == "$any" || name == "$not" || name == "$length" || name == "$contains"
}

// matcherNames lists the matchers, for the hint of a typo.
const matcherNames = "$any, $contains, $gte, $length, $lte, $not, $regex, $type"

// typeNames lists what $type knows.
const typeNames = "array, boolean, integer, null, number, object, string"

// malformed says what is wrong with a matcher itself, or nothing.
func malformed(name string, operand any) string {
	switch name {
	case "$gte", "$lte":
		if _, ok := operand.(json.Number); !ok {
			return fmt.Sprintf("%s wants a number, not %s", name, Show(operand))
		}
	case "$regex":
		expression, ok := operand.(string)
		if !ok {
			return fmt.Sprintf("$regex wants a string, not %s", Show(operand))
		}
		if _, err := regexp.Compile(expression); err != nil {
			return fmt.Sprintf("$regex is no RE2 expression: %v", err)
		}
	case "$any":
		if _, list := operand.([]any); !list && operand != true {
			return fmt.Sprintf("$any wants true or a list of alternatives, not %s", Show(operand))
		}
	case "$type":
		if wanted, ok := operand.(string); !ok || !slices.Contains(strings.Split(typeNames, ", "), wanted) {
			return fmt.Sprintf("$type wants one of %s, not %s", typeNames, Show(operand))
		}
	case "$length":
		if object, ok := operand.(map[string]any); ok && isMatcher(object) {
			return ""
		}
		if n, ok := operand.(json.Number); !ok || !parseDecimal(n).integral() || parseDecimal(n).negative {
			return fmt.Sprintf("$length wants a whole number or matchers, not %s", Show(operand))
		}
	case "$not", "$contains":
	default:
		return fmt.Sprintf("%s is no matcher; there are %s", name, matcherNames)
	}
	return ""
}
