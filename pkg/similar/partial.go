package similar

import (
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/match"
)

// matcherWork is what applying a matcher counts as, in steps.
const matcherWork = 200

// fits says whether a call is the expected one.
func (c *comparer) fits(want, got *call) bool {
	switch {
	case want.tool != got.tool:
		return false
	case want.anyArguments:
		return true
	case want.arguments == nil || got.arguments == nil:
		return sameValue(want, got)
	}
	for name := range union(want.names, got.names) {
		if !c.argumentFits(want, got, name) {
			return false
		}
	}
	return true
}

// argumentFits says whether an argument is as expected.
func (c *comparer) argumentFits(want, got *call, name string) bool {
	x, wanted := want.arguments[name]
	y, given := got.arguments[name]
	over := c.override(want.tool, name)
	switch {
	case over.ignores():
		return true
	case over.looksAtActual():
		return given && over.accepts(c, y)
	case want.matchers[name]:
		return c.matches(want, got, name)
	case !wanted:
		return !c.literal
	case !given:
		return false
	case over != nil:
		return over.grade(c, x, y) == 1
	case c.literal:
		return c.spend(1) && match.Equal(x, y)
	default:
		return c.partial(x, y)
	}
}

// matches applies an expectation that holds matchers to an argument, which may
// be absent. Its name stays out of it: one such as $filter is no matcher.
func (c *comparer) matches(want, got *call, name string) bool {
	expected, actual := map[string]any{"argument": want.arguments[name]}, map[string]any{}
	if value, given := got.arguments[name]; given {
		actual["argument"] = value
	}
	return c.spend(matcherWork) && len(match.Partial(expected, actual)) == 0
}

// partial decides as match.Partial does, for expectations without matchers and
// without saying what differs: most pairs of calls differ, and nobody asks how.
func (c *comparer) partial(want, got any) bool {
	if !c.spend(1) {
		return false
	}
	switch x := want.(type) {
	case map[string]any:
		y, ok := got.(map[string]any)
		for name, value := range x {
			other, given := y[name]
			if !ok || !given || !c.partial(value, other) {
				return false
			}
		}
		return ok
	case []any:
		y, ok := got.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !c.partial(x[i], y[i]) {
				return false
			}
		}
		return true
	default:
		return match.Equal(want, got)
	}
}

// holdsMatchers says whether an expected value is, or has in it, an object of
// matchers.
func holdsMatchers(v any) bool {
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			if strings.HasPrefix(name, "$") || holdsMatchers(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(x, holdsMatchers)
	}
	return false
}
