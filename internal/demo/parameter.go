package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"
)

// A parameter is the one argument that a tool takes, with the constraints of
// its schema: what the listing promises is what calls are held to.
type parameter struct {
	name     string
	pattern  *regexp.Regexp // nil without one
	min, max int            // characters; no bound when max is 0
}

func parseParameter(input json.RawMessage) (parameter, error) {
	var schema struct {
		Properties map[string]struct {
			Pattern   string `json:"pattern"`
			MinLength int    `json:"minLength"`
			MaxLength int    `json:"maxLength"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(input, &schema); err != nil {
		return parameter{}, fmt.Errorf("read input schema: %w", err)
	}
	if len(schema.Properties) != 1 {
		return parameter{}, fmt.Errorf("input schema has %d properties, want 1", len(schema.Properties))
	}
	var p parameter
	for name, s := range schema.Properties {
		p = parameter{name: name, min: s.MinLength, max: s.MaxLength}
		if s.Pattern != "" {
			re, err := regexp.Compile(s.Pattern)
			if err != nil {
				return parameter{}, fmt.Errorf("pattern of %s: %w", name, err)
			}
			p.pattern = re
		}
	}
	return p, nil
}

// check gives the argument's value, or the constraint that it violates.
func (p parameter) check(arguments any) (value, violation string) {
	given, ok := arguments.(map[string]any)
	if !ok && arguments != nil {
		return "", p.name + ": arguments must be an object"
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != p.name {
			return "", fmt.Sprintf("%.40q: is no parameter", name)
		}
	}
	switch v := given[p.name].(type) {
	case nil:
		return "", p.name + ": must not be null"
	case string:
		value = v
	default:
		return "", p.name + ": must be a string"
	}
	if p.pattern != nil && !p.pattern.MatchString(value) {
		return "", fmt.Sprintf("%s: must match %q", p.name, p.pattern)
	}
	if n := utf8.RuneCountInString(value); p.max > 0 && (n < p.min || n > p.max) {
		return "", fmt.Sprintf("%s: size must be between %d and %d", p.name, p.min, p.max)
	}
	return value, ""
}
