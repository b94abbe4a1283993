package similar

import (
	"encoding/json"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/match"
)

// grade says how alike two calls are, from 0 to 1.
func (c *comparer) grade(want, got *call) float64 {
	switch {
	case want.tool != got.tool:
		return 0
	case want.anyArguments:
		return 1
	case want.arguments == nil || got.arguments == nil:
		return one(sameValue(want, got))
	}
	var sum float64
	var n int
	for name := range union(want.names, got.names) {
		if value, counts := c.argument(want, got, name); counts {
			sum += value
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / float64(n)
}

// argument says how alike an argument of two calls is, and whether it counts.
func (c *comparer) argument(want, got *call, name string) (value float64, counts bool) {
	x, wanted := want.arguments[name]
	y, given := got.arguments[name]
	over := c.override(want.tool, name)
	switch {
	case over.ignores():
		return 0, false
	case over.looksAtActual():
		return one(given && over.accepts(c, y)), true
	case want.matchers[name]:
		return one(c.matches(want, got, name)), true
	case !wanted || !given:
		return 0, true
	case over != nil:
		return over.grade(c, x, y), true
	default:
		return c.alike(x, y, c.rules[want.tool].member(name)), true
	}
}

// sameValue compares arguments one of which is no object.
func sameValue(want, got *call) bool {
	return want.arguments == nil && got.arguments == nil && match.Equal(want.value, got.value)
}

// alike says how alike two values are. Null, booleans, integers and identifiers
// are the same or not: an order number that is one off is another order. Other
// numbers are as close as their distance is small beside the larger one, texts
// by their words, arrays by their best alignment, objects by their members.
func (c *comparer) alike(x, y any, r *rule) float64 {
	if !c.spend(1) {
		return 0
	}
	if r != nil && r.exact {
		return one(match.Equal(x, y))
	}
	switch a := x.(type) {
	case nil:
		return one(y == nil)
	case bool:
		return one(x == y)
	case json.Number:
		return number(a, y, r)
	case string:
		if b, ok := y.(string); ok {
			return c.text(a, b)
		}
		if b, ok := y.(json.Number); ok {
			return one(sameNumber(a, b))
		}
	case []any:
		if b, ok := y.([]any); ok {
			return c.array(a, b, r.item())
		}
	case map[string]any:
		if b, ok := y.(map[string]any); ok {
			return c.object(a, b, r)
		}
	}
	return 0
}

// text: strings without white space are identifiers, dates or paths and the same
// or not; others have the Dice coefficient of their words (Dice 1945), repeated
// words counted.
func (c *comparer) text(a, b string) float64 {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a == b {
		return 1
	}
	if !c.spend((len(a)+len(b))/64) || !hasSpace(a) && !hasSpace(b) {
		return 0
	}
	x, y := c.wordsOf(a), c.wordsOf(b)
	if len(x)+len(y) == 0 || !c.spend((len(x)+len(y))/4) {
		return 0
	}
	return 2 * float64(common(x, y)) / float64(len(x)+len(y))
}

// object: the members that both have, by how alike they are, among all that
// either has.
func (c *comparer) object(x, y map[string]any, r *rule) float64 {
	if len(x)+len(y) == 0 {
		return 1
	}
	var sum float64
	var n int
	for name := range union(names(x), names(y)) {
		n++
		want, wanted := x[name]
		got, given := y[name]
		if wanted && given {
			sum += c.alike(want, got, r.member(name))
		}
	}
	return sum / float64(n)
}

// array: twice the weight of the best alignment among the items of both. Ends
// that are the same belong together in one of the best alignments, so only what
// lies between them is aligned.
func (c *comparer) array(x, y []any, r *rule) float64 {
	total := len(x) + len(y)
	if total == 0 {
		return 1
	}
	var sum float64
	for len(x) > 0 && len(y) > 0 && c.alike(x[0], y[0], r) == 1 {
		x, y, sum = x[1:], y[1:], sum+1
	}
	for len(x) > 0 && len(y) > 0 && c.alike(x[len(x)-1], y[len(y)-1], r) == 1 {
		x, y, sum = x[:len(x)-1], y[:len(y)-1], sum+1
	}
	above := make([]float64, len(y)+1)
	row := make([]float64, len(y)+1)
	for i := range x {
		if c.work < 0 {
			break
		}
		for j := range y {
			row[j+1] = max(row[j], above[j+1], above[j]+c.alike(x[i], y[j], r))
		}
		row, above = above, row
	}
	return 2 * (sum + above[len(y)]) / float64(total)
}

func one(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
