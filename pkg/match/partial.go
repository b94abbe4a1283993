package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Partial compares a value with what is expected of it and returns the
// differences, sorted by key; none means that it matches. What [Check] objects
// to is a difference too, and so is an operand whose placeholder nobody filled.
func Partial(expected, actual any) []Difference {
	if problems := check("", expected, true); len(problems) > 0 {
		var said []string
		for _, p := range problems {
			said = append(said, p.String())
		}
		return []Difference{{Expected: expected, Actual: actual, Message: strings.Join(said, "\n")}}
	}
	var c comparison
	c.compare("", expected, actual)
	return c.differences
}

// matches compares with an expectation that was checked.
func matches(expected, actual any) bool {
	var c comparison
	c.compare("", expected, actual)
	return len(c.differences) == 0
}

// comparison collects the differences of one tree.
type comparison struct {
	differences []Difference
}

// report adds a difference. What was wanted and got are the words of the
// message.
func (c *comparison) report(path string, expected, actual any, want, got string) {
	d := Difference{Path: path, Expected: expected, Actual: actual}
	d.Message = fmt.Sprintf("want %s, got %s", want, got)
	if path != "" {
		d.Message = path + ": " + d.Message
	}
	c.differences = append(c.differences, d)
}

func (c *comparison) reportMissing(path string, expected any) {
	c.report(path, expected, nil, describe(expected), "no such field")
	c.differences[len(c.differences)-1].Missing = true
}

func (c *comparison) compare(path string, expected, actual any) {
	switch want := expected.(type) {
	case map[string]any:
		if isMatcher(want) {
			c.matchers(path, want, actual)
			return
		}
		c.object(path, want, actual)
	case []any:
		c.array(path, want, actual)
	case json.Number:
		if got, ok := actual.(json.Number); !ok || compareNumbers(want, got) != 0 {
			c.report(path, expected, actual, Show(expected), Show(actual))
		}
	default: // string, bool, nil
		// Values of different types are never equal; maps and slices, which
		// cannot be compared, have a type that no leaf has.
		if typeOf(expected) != typeOf(actual) || expected != actual {
			c.report(path, expected, actual, Show(expected), Show(actual))
		}
	}
}

func (c *comparison) object(path string, want map[string]any, actual any) {
	got, ok := actual.(map[string]any)
	if !ok {
		c.report(path, want, actual, "an object like "+Show(want), Show(actual))
		return
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, ok := got[key]
		if !ok {
			if !wantsNothing(want[key]) {
				c.reportMissing(member(path, key), want[key])
			}
			continue
		}
		c.compare(member(path, key), want[key], value)
	}
}

// wantsNothing says whether an expectation is that there is no value: that of
// {"$not": {"$any": true}}. Any other $not wants a value, since a field that is
// gone is what a check is there to notice.
func wantsNothing(expected any) bool {
	want, ok := expected.(map[string]any)
	if !ok || len(want) != 1 {
		return false
	}
	inner, ok := want["$not"].(map[string]any)
	return ok && len(inner) == 1 && inner["$any"] == true
}

func (c *comparison) array(path string, want []any, actual any) {
	got, ok := actual.([]any)
	switch {
	case !ok:
		c.report(path, want, actual, "an array like "+Show(want), Show(actual))
	case len(got) != len(want):
		c.report(path, want, actual, fmt.Sprintf("%d items %s", len(want), Show(want)), fmt.Sprintf("%d items %s", len(got), Show(got)))
	default:
		for i := range want {
			c.compare(item(path, i), want[i], got[i])
		}
	}
}

// typeOf names the JSON type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return fmt.Sprintf("%T", v)
	}
}
