package answer

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Unlike compares an answer with the rejection that is wanted. It returns why it
// is none and what came instead, in words; the empty reason means that it is it.
func (a Answer) Unlike(want eval.ExpectError) (eval.Reason, string) {
	if !a.Rejected() {
		return eval.ReasonNoError, "the answer " + Quote(a.Complaint())
	}
	byTool := a.Outcome.Kind == eval.OutcomeToolError
	code := 0
	if a.Outcome.Error != nil {
		code = a.Outcome.Error.Code
	}
	var got string
	switch {
	case want.Kind == eval.ErrorTool && !byTool:
		got = fmt.Sprintf("a JSON-RPC error %d", code)
	case byTool && (want.Kind == eval.ErrorProtocol || want.Code != nil):
		got = "a result with isError"
	case want.Code != nil && *want.Code != code:
		got = fmt.Sprintf("the code %d", code)
	case !strings.Contains(a.Complaint(), want.Contains):
		got = "another text"
	default:
		return "", ""
	}
	return eval.ReasonWrongError, got + ": " + Quote(a.Complaint())
}

// Wanted says in words which rejection is wanted.
func Wanted(want eval.ExpectError) string {
	words := "a rejection"
	switch want.Kind {
	case eval.ErrorTool:
		words = "a result with isError"
	case eval.ErrorProtocol:
		words = "a JSON-RPC error"
	case eval.ErrorUnknownTool:
		words = "a rejection of the unknown tool"
	case eval.ErrorAny:
	}
	if want.Code != nil {
		words += fmt.Sprintf(" with code %d", *want.Code)
	}
	if want.Contains != "" {
		words += " that contains " + Quote(want.Contains)
	}
	return words
}
