package answer

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// codeInvalidParams is JSON-RPC's (section 5.1 of its specification).
const codeInvalidParams = -32602

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

// InvalidArguments says whether a rejection of a tool call blames its arguments.
// Servers say so in three ways: a JSON-RPC error, a result with isError that
// quotes one (TypeScript SDK 1.x), and one in the words of the SDKs' validators.
func (a Answer) InvalidArguments() bool {
	switch a.Outcome.Kind {
	case eval.OutcomeProtocolError:
		return a.Outcome.Error != nil && a.Outcome.Error.Code == codeInvalidParams
	case eval.OutcomeToolError:
		for _, sign := range []string{"-32602", "Input validation error", "Invalid arguments"} {
			if strings.Contains(a.Text, sign) {
				return true
			}
		}
	default: // no rejection
	}
	return false
}
