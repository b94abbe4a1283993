package llm

import (
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Kind says why a call to a model failed, and with it what helps.
type Kind string

const (
	// RateLimit: too many requests or tokens; Wait says how long to hold off.
	RateLimit Kind = "rate_limit"
	// Overloaded: the provider is busy for everybody (503, 529).
	Overloaded Kind = "overloaded"
	// Quota: credit, a spend limit or a daily quota is used up. Waiting is no use.
	Quota Kind = "quota"
	// Auth: the key is missing, wrong or not allowed to.
	Auth Kind = "auth"
	// BadRequest: the provider refuses the request itself.
	BadRequest Kind = "bad_request"
	// ContextLength: the conversation does not fit the model.
	ContextLength Kind = "context_length"
	// ContentFilter: the provider refuses the content.
	ContentFilter Kind = "content_filter"
	// Network: no answer came, it was cut, or it made no sense; other 5xx too.
	Network Kind = "network"
	// CostLimit: what the trial may still spend does not cover the call, which was
	// not made.
	CostLimit Kind = "cost_limit"
	// Later: the call would have to wait for long, and nothing of the trial is paid
	// yet, so that it had better come back after Wait.
	Later Kind = "later"
	// Farm: the farm itself could not let the call go.
	Farm Kind = "farm"
	// ReplayMiss: the call to be played back was not recorded.
	ReplayMiss Kind = "replay_miss"
)

// An Error is a call to a model that brought no answer.
type Error struct {
	Kind Kind
	// Status of the HTTP answer; 0 where there was none.
	Status int
	// Code is the provider's own for the error.
	Code string
	// Message for people. It may hold the provider's text, which is hostile.
	Message string
	// Wait is how long the provider asks to hold off, and WaitFrom the header or
	// field that said so. Zero and empty when it did not say.
	Wait     time.Duration
	WaitFrom string
	// Sent is true when the request may have reached the model, so that it may
	// cost money although no answer came.
	Sent bool
	Err  error
}

func (e *Error) Error() string {
	text := string(e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d", e.Status)
		if e.Code != "" {
			text += " " + e.Code
		}
		text += ")"
	} else if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Wait >= time.Second && e.Kind != Later {
		text += fmt.Sprintf(" (come again in %s)", e.Wait.Round(time.Second))
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary says whether the same call may succeed later.
func (e *Error) Temporary() bool {
	return e.Kind == RateLimit || e.Kind == Overloaded || e.Kind == Network
}

// Ours says whether the farm itself kept the call from being made, so that the
// error says nothing of the model.
func (e *Error) Ours() bool { return e.Kind == CostLimit || e.Kind == Later || e.Kind == Farm }

// Reason is how a trial that ends with the error is explained.
func (e *Error) Reason() eval.Reason {
	switch e.Kind {
	case Quota:
		return eval.ReasonModelQuota
	case Auth:
		return eval.ReasonModelUnauthorized
	case BadRequest:
		return eval.ReasonModelRefused
	case ReplayMiss:
		return eval.ReasonReplayMiss
	case Farm:
		return eval.ReasonFarm
	case CostLimit:
		return eval.ReasonBudget
	default:
		return eval.ReasonModelUnavailable
	}
}
