package price

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A rule says which names are meant. Exactly one of its fields is set.
type rule struct {
	test func(name string) bool
	all  []rule
	any  []rule
	not  *rule
}

// fits says whether a name in lower case is meant.
func (r rule) fits(name string) bool {
	switch {
	case r.test != nil:
		return r.test(name)
	case r.not != nil:
		return !r.not.fits(name)
	case r.all != nil:
		for _, s := range r.all {
			if !s.fits(name) {
				return false
			}
		}
		return true
	default:
		for _, s := range r.any {
			if s.fits(name) {
				return true
			}
		}
		return false
	}
}

// parseRule reads an object with one key. "not" is not of the original, whose
// expressions look ahead instead.
func parseRule(data []byte) (rule, error) {
	var form map[string]json.RawMessage
	if err := json.Unmarshal(data, &form); err != nil {
		return rule{}, err
	}
	keys := slices.Collect(maps.Keys(form))
	if len(keys) != 1 {
		return rule{}, fmt.Errorf("want one key, got %d", len(keys))
	}
	r, err := parseTerm(keys[0], form[keys[0]])
	if err != nil {
		return rule{}, fmt.Errorf("%s: %w", keys[0], err)
	}
	return r, nil
}

func parseTerm(key string, operand []byte) (rule, error) {
	switch key {
	case "and":
		all, err := parseRules(operand)
		return rule{all: all}, err
	case "or":
		some, err := parseRules(operand)
		return rule{any: some}, err
	case "not":
		not, err := parseRule(operand)
		return rule{not: &not}, err
	}
	var text string
	if err := json.Unmarshal(operand, &text); err != nil {
		return rule{}, err
	}
	lower := strings.ToLower(text)
	switch key {
	case "equals":
		return rule{test: func(name string) bool { return name == lower }}, nil
	case "starts_with":
		return rule{test: func(name string) bool { return strings.HasPrefix(name, lower) }}, nil
	case "ends_with":
		return rule{test: func(name string) bool { return strings.HasSuffix(name, lower) }}, nil
	case "contains":
		return rule{test: func(name string) bool { return strings.Contains(name, lower) }}, nil
	case "regex":
		re, err := regexp.Compile(text)
		if err != nil {
			return rule{}, err
		}
		return rule{test: re.MatchString}, nil
	default:
		return rule{}, errors.New("there is no such rule")
	}
}

func parseRules(data []byte) ([]rule, error) {
	var forms []json.RawMessage
	if err := json.Unmarshal(data, &forms); err != nil {
		return nil, err
	}
	if len(forms) == 0 {
		return nil, errors.New("there are none")
	}
	rules := make([]rule, len(forms))
	for i, form := range forms {
		r, err := parseRule(form)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		rules[i] = r
	}
	return rules, nil
}
