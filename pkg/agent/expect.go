package agent

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// expectations compares an answer with all that a step expects of it.
func expectations(s eval.Step, a answer) []*failure {
	var failures []*failure
	for _, check := range []func(eval.Step, answer) *failure{expect, expectNot, expectText, expectCount} {
		if failed := check(s, a); failed != nil {
			failures = append(failures, failed)
		}
	}
	return failures
}

// expect decides on the value, which is the structured content where there is
// one: a server that keeps its text right and its structured content wrong has
// broken a promise.
func expect(s eval.Step, a answer) *failure {
	expected, failed := operand(s.Expect)
	if failed != nil || len(s.Expect) == 0 {
		return failed
	}
	differences := match.Partial(expected, a.value)
	if len(differences) == 0 {
		return nil
	}
	message := list(differences)
	if a.structured && len(match.Partial(expected, a.blocksValue)) == 0 {
		message += " (in structuredContent; the text matches)"
	}
	return failf(eval.ReasonMismatch, "%s", message).showing(expected, a.value)
}

// expectNot forbids a match in the structured content and in the blocks.
func expectNot(s eval.Step, a answer) *failure {
	forbidden, failed := operand(s.ExpectNot)
	if failed != nil || len(s.ExpectNot) == 0 {
		return failed
	}
	for _, value := range []any{a.value, a.blocksValue} {
		if len(match.Partial(forbidden, value)) == 0 {
			unwanted := map[string]any{"$not": forbidden}
			return failf(eval.ReasonUnexpectedMatch, "want no match with %s, got %s", match.Show(forbidden), match.Show(value)).showing(unwanted, value)
		}
	}
	return nil
}

// expectText decides on the text of all blocks. An object is one of matchers,
// whether or not they are written with a $: a text has no fields.
func expectText(s eval.Step, a answer) *failure {
	expected, failed := operand(s.ExpectText)
	if failed != nil || len(s.ExpectText) == 0 {
		return failed
	}
	if object, ok := expected.(map[string]any); ok {
		matchers := map[string]any{}
		for name, operand := range object {
			matchers["$"+strings.TrimPrefix(name, "$")] = operand
		}
		expected = matchers
	}
	if differences := match.Partial(expected, a.text); len(differences) > 0 {
		return failf(eval.ReasonMismatch, "text: %s", list(differences)).showing(expected, a.text)
	}
	return nil
}

func expectCount(s eval.Step, a answer) *failure {
	if s.ExpectCount == nil || a.count() == *s.ExpectCount {
		return nil
	}
	return failf(eval.ReasonCountMismatch, "want %d items, got %d", *s.ExpectCount, a.count()).showing(*s.ExpectCount, a.count())
}

// operand decodes an expectation; the loader has seen to it that it is JSON.
func operand(raw eval.JSON) (any, *failure) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := eval.Decode(raw)
	if err != nil {
		return nil, failf(eval.ReasonFarm, "the expectation cannot be read: %v", err)
	}
	return v, nil
}

// maxDifferences of one value are told in a message.
const maxDifferences = 5

func list(differences []match.Difference) string {
	var lines []string
	for i, d := range differences {
		if i == maxDifferences {
			lines = append(lines, fmt.Sprintf("and %d more", len(differences)-i))
			break
		}
		lines = append(lines, d.Message)
	}
	return strings.Join(lines, "; ")
}
