package similar

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// override is a Comparison that can be used.
type override struct {
	how     string
	pattern *regexp.Regexp
	number  *eval.Tolerance
}

func newOverride(c eval.Comparison) (*override, error) {
	o := &override{how: c.How, number: c.Number}
	switch {
	case c.Regex != "":
		pattern, err := regexp.Compile(c.Regex)
		if err != nil {
			return nil, err
		}
		o.pattern = pattern
	case c.Number != nil, c.How == "exact", c.How == "ignore_case", c.How == "ignore", c.How == "set":
	default:
		return nil, fmt.Errorf("unknown comparison %q", c.How)
	}
	return o, nil
}

func (o *override) ignores() bool { return o != nil && o.how == "ignore" }

// looksAtActual says that only the value that was given matters.
func (o *override) looksAtActual() bool { return o != nil && o.pattern != nil }

// accepts finds the pattern in a value as text: in a string itself, in the JSON
// of anything else.
func (o *override) accepts(c *comparer, got any) bool {
	text, ok := got.(string)
	if !ok {
		text = string(eval.Encode(got))
	}
	return c.spend(1+len(text)/8) && o.pattern.MatchString(text)
}

// grade is 1 or 0, but for sets, which have the Jaccard index of their items.
func (o *override) grade(c *comparer, want, got any) float64 {
	if !c.spend(1) {
		return 0
	}
	switch {
	case o.number != nil:
		return one(within(want, got, o.number))
	case o.how == "ignore_case":
		return one(equalFold(want, got))
	case o.how == "set":
		return c.set(want, got)
	default:
		return one(match.Equal(want, got))
	}
}

func equalFold(want, got any) bool {
	x, ok := want.(string)
	y, both := got.(string)
	if !ok || !both {
		return match.Equal(want, got)
	}
	return strings.EqualFold(strings.TrimSpace(x), strings.TrimSpace(y))
}

// set compares two arrays without regard to order and repeated items.
func (c *comparer) set(want, got any) float64 {
	a, isArray := want.([]any)
	b, bothArrays := got.([]any)
	if !isArray || !bothArrays {
		return one(match.Equal(want, got))
	}
	x, y := c.distinct(a), c.distinct(b)
	var common int
	for _, item := range x {
		if c.has(y, item) {
			common++
		}
	}
	if len(x)+len(y) == 0 {
		return 1
	}
	return float64(common) / float64(len(x)+len(y)-common)
}

func (c *comparer) distinct(items []any) []any {
	var kept []any
	for _, item := range items {
		if !c.has(kept, item) {
			kept = append(kept, item)
		}
	}
	return kept
}

func (c *comparer) has(items []any, item any) bool {
	for _, other := range items {
		if !c.spend(1) {
			return false
		}
		if match.Equal(item, other) {
			return true
		}
	}
	return false
}

// rounding is the relative error that decimal fractions in binary are forgiven:
// 1.11 is within 0.01 of 1.10.
const rounding = 1e-12

// within says whether two numbers, one of which may be written as text, lie
// close enough: by a share of the larger, or by a distance.
func within(want, got any, t *eval.Tolerance) bool {
	x, ok := asNumber(want)
	y, both := asNumber(got)
	if !ok || !both {
		return false
	}
	if match.Equal(x, y) {
		return true
	}
	a, b := float(x), float(y)
	larger := max(math.Abs(a), math.Abs(b))
	allowed := max(t.Absolute, t.Relative*larger) + rounding*larger
	return math.Abs(a-b) <= allowed && !math.IsInf(larger, 0)
}

func asNumber(v any) (json.Number, bool) {
	switch x := v.(type) {
	case json.Number:
		return x, true
	case string:
		return parseNumber(x)
	default:
		return "", false
	}
}
