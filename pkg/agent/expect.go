package agent

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// expectations compares an answer with all that a step expects of it.
func expectations(s eval.Step, a answer.Answer) []*failure {
	var failures []*failure
	for _, check := range []func(eval.Step, answer.Answer) *failure{expect, expectNot, expectText, expectCount} {
		if failed := check(s, a); failed != nil {
			failures = append(failures, failed)
		}
	}
	return failures
}

// expect decides on the value, which is the structured content where there is
// one: a server that keeps its text right and its structured content wrong has
// broken a promise.
func expect(s eval.Step, a answer.Answer) *failure {
	if len(s.Expect) == 0 {
		return nil
	}
	expected := operand(s.Expect)
	differences := match.Partial(expected, a.Value)
	if len(differences) == 0 {
		return nil
	}
	message := list(differences)
	if a.Structured && len(match.Partial(expected, a.BlocksValue)) == 0 {
		message += " (in structuredContent; the text matches)"
	}
	return failf(eval.ReasonMismatch, "%s", message).showing(expected, a.Value)
}

// expectNot forbids a match in the structured content and in the blocks.
func expectNot(s eval.Step, a answer.Answer) *failure {
	if len(s.ExpectNot) == 0 {
		return nil
	}
	forbidden := operand(s.ExpectNot)
	for _, value := range []any{a.Value, a.BlocksValue} {
		if len(match.Partial(forbidden, value)) == 0 {
			unwanted := map[string]any{"$not": forbidden}
			return failf(eval.ReasonUnexpectedMatch, "want no match with %s, got %s", match.Show(forbidden), match.Show(value)).showing(unwanted, value)
		}
	}
	return nil
}

// expectText decides on the text of all blocks. An object is one of matchers,
// whether or not they are written with a $: a text has no fields.
func expectText(s eval.Step, a answer.Answer) *failure {
	if len(s.ExpectText) == 0 {
		return nil
	}
	expected := operand(s.ExpectText)
	if object, ok := expected.(map[string]any); ok {
		matchers := map[string]any{}
		for name, operand := range object {
			matchers["$"+strings.TrimPrefix(name, "$")] = operand
		}
		expected = matchers
	}
	if differences := match.Partial(expected, a.Text); len(differences) > 0 {
		return failf(eval.ReasonMismatch, "text: %s", list(differences)).showing(expected, a.Text)
	}
	return nil
}

func expectCount(s eval.Step, a answer.Answer) *failure {
	if s.ExpectCount == nil || a.Count() == *s.ExpectCount {
		return nil
	}
	return failf(eval.ReasonCountMismatch, "want %d items, got %d", *s.ExpectCount, a.Count()).showing(*s.ExpectCount, a.Count())
}

// operand decodes an expectation. Filling has written it, so that it is JSON.
func operand(raw eval.JSON) any {
	v, err := eval.Decode(raw)
	if err != nil {
		panic(fmt.Sprintf("the filled expectation %.80q: %v", raw, err))
	}
	return v
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
