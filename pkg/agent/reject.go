package agent

import (
	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// rejection compares an answer with the rejection that a step wants.
func rejection(want eval.ExpectError, a answer.Answer) *failure {
	reason, got := a.Unlike(want)
	if reason == "" {
		return nil
	}
	var actual any = a.Complaint()
	if reason == eval.ReasonNoError {
		actual = a.Value
	}
	return failf(reason, "want %s, got %s", answer.Wanted(want), got).showing(want, actual)
}
