package agent

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// codeInvalidParams is JSON-RPC's (section 5.1 of its specification).
const codeInvalidParams = -32602

// rejection compares an answer with the rejection that a step wants.
func rejection(want eval.ExpectError, a answer) *failure {
	if !a.rejected() {
		return failf(eval.ReasonNoError, "want %s, got the answer %s", wanted(want), quote(a.complaint())).showing(want, a.value)
	}
	byTool := a.outcome.Kind == eval.OutcomeToolError
	code := 0
	if a.outcome.Error != nil {
		code = a.outcome.Error.Code
	}
	var problem string
	switch {
	case want.Kind == eval.ErrorTool && !byTool:
		problem = fmt.Sprintf("a JSON-RPC error %d", code)
	case byTool && (want.Kind == eval.ErrorProtocol || want.Code != nil):
		problem = "a result with isError"
	case want.Code != nil && *want.Code != code:
		problem = fmt.Sprintf("the code %d", code)
	case !strings.Contains(a.complaint(), want.Contains):
		problem = "another text"
	default:
		return nil
	}
	return failf(eval.ReasonWrongError, "want %s, got %s: %s", wanted(want), problem, quote(a.complaint())).showing(want, a.complaint())
}

// wanted says in words which rejection is wanted.
func wanted(want eval.ExpectError) string {
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
		words += " that contains " + quote(want.Contains)
	}
	return words
}

// invalidArguments says whether a rejection of a tool call blames its
// arguments. Servers say so in three ways: a JSON-RPC error, a result with
// isError that quotes one (TypeScript SDK 1.x), and one in the words of the
// SDKs' validators.
func (a answer) invalidArguments() bool {
	switch a.outcome.Kind {
	case eval.OutcomeProtocolError:
		return a.outcome.Error != nil && a.outcome.Error.Code == codeInvalidParams
	case eval.OutcomeToolError:
		for _, sign := range []string{"-32602", "Input validation error", "Invalid arguments"} {
			if strings.Contains(a.text, sign) {
				return true
			}
		}
	default: // no rejection
	}
	return false
}
