package llm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// statusOverloaded is what Anthropic answers when it is busy for everybody.
const statusOverloaded = 529

// noQuota is how Gemini's message names a quota that an account does not have.
var noQuota = regexp.MustCompile(`\blimit: 0(?:$|[^0-9.])`)

// Classify says what an answer means that is no answer of a model: an HTTP
// status with its header and body, by what the providers document. A status of
// success with an error in its body, which gateways send when the model failed
// after the header was out, counts as the status that the body claims. now is
// for a Retry-After that is a date.
func Classify(status int, h http.Header, body []byte, now time.Time) *Error {
	p, meant := parseProblem(body), status
	switch {
	case status >= 300:
	case p.flat:
		p = problem{}
	case p.status >= 400 && p.status < 600:
		meant = p.status
	}
	e := &Error{Kind: kindOf(meant, p), Status: status, Code: clip(p.code(), 100), Message: clip(p.message, 1000)}
	if e.Message == "" {
		e.Message = bare(status, body)
	}
	if e.Temporary() {
		e.Wait, e.WaitFrom = WaitFrom(h, body, meant, now)
	}
	e.Sent = spent(e.Kind, status, meant)
	return e
}

// kindOf tells what a status and a body mean. Money comes first, because its
// codes arrive with the statuses of rate limits, of refusals and of bad requests.
func kindOf(status int, p problem) Kind {
	switch {
	case outOfMoney(status, p):
		return Quota
	case status == http.StatusUnauthorized:
		return Auth
	case filtered(status, p):
		return ContentFilter
	case status == http.StatusForbidden:
		return Auth
	case tooLong(status, p):
		return ContextLength
	case status == http.StatusTooManyRequests, p.is("RESOURCE_EXHAUSTED", "rate_limit_error", "ThrottlingException"):
		return RateLimit
	case status == http.StatusServiceUnavailable, status == statusOverloaded, p.is("overloaded_error"):
		return Overloaded
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status < 300, status >= 500:
		return Network
	default:
		return BadRequest
	}
}

func outOfMoney(status int, p problem) bool {
	return status == http.StatusPaymentRequired ||
		p.is("insufficient_quota", "credit_balance_exhausted", "organization_spend_limit_exceeded",
			"project_spend_limit_exceeded", "organization_usage_limit_exceeded", "billing_hard_limit_reached",
			"billing_error", "enforced_spend_limit_reached", "contract_spend_limit_reached") ||
		p.is("RESOURCE_EXHAUSTED") && p.hopeless() ||
		// Anthropic has no code for these two.
		status == http.StatusBadRequest && p.says("credit balance is too low", "api usage limits")
}

func filtered(status int, p problem) bool {
	return p.is("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation") ||
		status == http.StatusBadRequest && p.says("content filtering policy", "content management policy") ||
		status == http.StatusForbidden && p.says("moderation")
}

func tooLong(status int, p problem) bool {
	return status == http.StatusRequestEntityTooLarge ||
		p.is("context_length_exceeded", "exceed_context_size_error", "request_too_large") ||
		// Anthropic, Gemini, and most servers that speak OpenAI's format have no code.
		status == http.StatusBadRequest && p.says("maximum context length", "prompt is too long", "exceed context limit",
			"exceeds the maximum number of tokens", "context window", "available context size")
}

// spent says whether a call that failed may have cost something: not when it was
// refused before the model saw it. An answer that a filter blocked is paid for.
func spent(k Kind, status, meant int) bool {
	switch k {
	case ContentFilter:
		return true
	case Network:
		return meant != http.StatusConflict
	default:
		return status < 300
	}
}

// bare is what can be said of an answer without an error object: the beginning
// of a text helps to see that base_url leads to something else.
func bare(status int, body []byte) string {
	switch {
	case status < 300, json.Valid(body):
		return ""
	case status < 400:
		return "the server redirects elsewhere; base_url must name the final address"
	default:
		return clip(strings.TrimSpace(string(body)), 200)
	}
}

// clip bounds a text of a stranger, in bytes, and makes it valid UTF-8.
func clip(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}
