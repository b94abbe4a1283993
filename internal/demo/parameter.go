package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A parameter is one argument that a tool takes, with the constraints of its
// schema: what the listing promises is what calls are held to.
type parameter struct {
	name     string
	kind     string // string, integer or array (of strings)
	required bool
	pattern  *regexp.Regexp // nil without one
	choices  []string       // nil means any
	min, max int            // of a string's characters; no bound when max is 0
	low, top float64        // of an integer
}

// A parameters is all that a tool takes, by name, and how many of them a call
// gives at least and at most.
type parameters struct {
	all         []parameter
	fewest, top int
}

// A violation is why a call is rejected.
type violation struct {
	// at is the parameter that is to blame; empty means the call as a whole.
	at, why string
}

func parseParameters(input json.RawMessage) (parameters, error) {
	var schema struct {
		Properties map[string]struct {
			Type      string   `json:"type"`
			Pattern   string   `json:"pattern"`
			Enum      []string `json:"enum"`
			MinLength int      `json:"minLength"`
			MaxLength int      `json:"maxLength"`
			Minimum   *float64 `json:"minimum"`
			Maximum   *float64 `json:"maximum"`
		} `json:"properties"`
		Required      []string `json:"required"`
		MinProperties int      `json:"minProperties"`
		MaxProperties *int     `json:"maxProperties"`
	}
	if err := json.Unmarshal(input, &schema); err != nil {
		return parameters{}, fmt.Errorf("read input schema: %w", err)
	}
	ps := parameters{fewest: schema.MinProperties, top: len(schema.Properties)}
	if schema.MaxProperties != nil {
		ps.top = *schema.MaxProperties
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		s := schema.Properties[name]
		p := parameter{
			name: name, kind: s.Type, required: slices.Contains(schema.Required, name),
			choices: s.Enum, min: s.MinLength, max: s.MaxLength, low: math.Inf(-1), top: math.Inf(1),
		}
		if s.Minimum != nil {
			p.low = *s.Minimum
		}
		if s.Maximum != nil {
			p.top = *s.Maximum
		}
		if s.Pattern != "" {
			re, err := regexp.Compile(s.Pattern)
			if err != nil {
				return parameters{}, fmt.Errorf("pattern of %s: %w", name, err)
			}
			p.pattern = re
		}
		ps.all = append(ps.all, p)
	}
	return ps, nil
}

// check gives the arguments of a call, or the first constraint that they violate.
func (ps parameters) check(arguments any) (object, *violation) {
	given, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return nil, &violation{why: "arguments must be an object"}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(ps.all, func(p parameter) bool { return p.name == name }) {
			return nil, &violation{fmt.Sprintf("%.40q", name), "is no parameter"}
		}
	}
	for _, p := range ps.all {
		v, present := given[p.name]
		if !present && !p.required {
			continue
		}
		if why := p.check(v); why != "" {
			return nil, &violation{p.name, why}
		}
	}
	if n := len(given); n < ps.fewest || n > ps.top {
		return nil, &violation{why: fmt.Sprintf("must have %s of %s", span(ps.fewest, ps.top), ps.names())}
	}
	return given, nil
}

// span words a range.
func span(low, high int) string {
	if low == high {
		return fmt.Sprintf("exactly %d", low)
	}
	return fmt.Sprintf("%d to %d", low, high)
}

func (ps parameters) names() string {
	var names []string
	for _, p := range ps.all {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// check says what is wrong with a value, as Bean Validation words it.
func (p parameter) check(value any) string {
	if value == nil {
		return "must not be null"
	}
	switch p.kind {
	case "integer":
		return p.checkInteger(value)
	case "array":
		items, ok := value.([]any)
		if !ok || slices.ContainsFunc(items, func(item any) bool { _, text := item.(string); return !text }) {
			return "must be an array of strings"
		}
		return ""
	default:
		return p.checkText(value)
	}
}

func (p parameter) checkInteger(value any) string {
	n, ok := value.(float64) // so mcp-go decodes every number
	switch {
	case !ok || n != math.Trunc(n):
		return "must be an integer"
	case n < p.low:
		return fmt.Sprintf("must be greater than or equal to %.0f", p.low)
	case n > p.top:
		return fmt.Sprintf("must be less than or equal to %.0f", p.top)
	default:
		return ""
	}
}

func (p parameter) checkText(value any) string {
	text, ok := value.(string)
	if !ok {
		return "must be a string"
	}
	if p.pattern != nil && !p.pattern.MatchString(text) {
		return fmt.Sprintf("must match %q", p.pattern)
	}
	if n := utf8.RuneCountInString(text); p.max > 0 && (n < p.min || n > p.max) {
		return fmt.Sprintf("size must be between %d and %d", p.min, p.max)
	}
	if p.choices != nil && !slices.Contains(p.choices, text) {
		return "must be one of " + strings.Join(p.choices, ", ")
	}
	return ""
}
