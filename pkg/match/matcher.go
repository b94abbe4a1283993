package match

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// isMatcher says whether an object is one of matchers.
func isMatcher(object map[string]any) bool {
	for key := range object {
		if strings.HasPrefix(key, "$") {
			return true
		}
	}
	return false
}

// matchers applies every matcher of an object to a value.
func (c *comparison) matchers(path string, matchers map[string]any, actual any) {
	for _, name := range slices.Sorted(maps.Keys(matchers)) {
		operand := matchers[name]
		expected := map[string]any{name: operand}
		if name == "$length" {
			c.length(path, expected, operand, actual)
		} else if !holds(name, operand, actual) {
			c.report(path, expected, actual, describe(expected), Show(actual))
		}
	}
}

// holds decides a well-formed matcher.
func holds(name string, operand, actual any) bool {
	switch name {
	case "$gte":
		n, ok := actual.(json.Number)
		return ok && compareNumbers(n, operand.(json.Number)) >= 0
	case "$lte":
		n, ok := actual.(json.Number)
		return ok && compareNumbers(n, operand.(json.Number)) <= 0
	case "$regex":
		s, ok := actual.(string)
		return ok && regexp.MustCompile(operand.(string)).MatchString(s)
	case "$any":
		choices, ok := operand.([]any)
		return !ok || slices.ContainsFunc(choices, func(choice any) bool { return matches(choice, actual) })
	case "$type":
		return hasType(operand.(string), actual)
	case "$not":
		return !matches(operand, actual)
	case "$contains":
		return contains(operand, actual)
	default:
		return false
	}
}

func hasType(name string, actual any) bool {
	if n, ok := actual.(json.Number); ok && name == "integer" {
		return parseDecimal(n).integral()
	}
	return typeOf(actual) == name
}

func contains(operand, actual any) bool {
	switch v := actual.(type) {
	case string:
		part, ok := operand.(string)
		return ok && strings.Contains(v, part)
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return matches(operand, item) })
	default:
		return false
	}
}

// length compares the length of a value, where it has one, with a number or
// matchers.
func (c *comparison) length(path string, expected, operand, actual any) {
	var n int
	switch v := actual.(type) {
	case string:
		n = utf8.RuneCountInString(v)
	case []any:
		n = len(v)
	case map[string]any:
		n = len(v)
	default:
		c.report(path, expected, actual, describe(expected), Show(actual))
		return
	}
	if !matches(operand, json.Number(strconv.Itoa(n))) {
		c.report(path, expected, actual, describe(expected), fmt.Sprintf("length %d: %s", n, Show(actual)))
	}
}

// describe says in words what is expected.
func describe(expected any) string {
	object, ok := expected.(map[string]any)
	if !ok || !isMatcher(object) {
		return Show(expected)
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		words = append(words, describeMatcher(name, object[name]))
	}
	return strings.Join(words, " and ")
}

func describeMatcher(name string, operand any) string {
	switch name {
	case "$gte":
		return "a number ≥ " + Show(operand)
	case "$lte":
		return "a number ≤ " + Show(operand)
	case "$regex":
		return "a string that matches " + Show(operand)
	case "$any":
		if _, list := operand.([]any); list {
			return "one of " + Show(operand)
		}
		return "any value"
	case "$type":
		return fmt.Sprintf("the type %v", operand)
	case "$not":
		return "not " + describe(operand)
	case "$length":
		return "a length of " + describe(operand)
	case "$contains":
		return "something that contains " + describe(operand)
	default:
		return Show(map[string]any{name: operand})
	}
}
