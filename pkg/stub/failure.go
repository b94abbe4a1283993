package stub

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A failure is an error as the client is told of it.
type failure struct {
	kind    llm.Kind
	status  int
	message string
	// scarce is what a rate limit counts: requests or tokens.
	scarce string
	// delay is how long to wait, where the body says so (google.rpc.RetryInfo).
	delay time.Duration
}

// statusOverloaded is Anthropic's "busy for everybody".
const statusOverloaded = 529

// failureOf gives the failure that stands for a kind of error.
func failureOf(kind llm.Kind) failure {
	f := failure{kind: kind}
	switch kind {
	case llm.RateLimit:
		f.status, f.scarce, f.message = http.StatusTooManyRequests, "requests", "Rate limit reached."
	case llm.Overloaded:
		f.status, f.message = statusOverloaded, "Overloaded"
	case llm.Quota:
		f.status, f.message = http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details."
	case llm.Auth:
		f.status, f.message = http.StatusUnauthorized, "This key is not let in."
	case llm.ContextLength:
		f.status, f.message = http.StatusBadRequest, "prompt is too long: it does not fit the model's maximum context length"
	case llm.ContentFilter:
		f.status, f.message = http.StatusBadRequest, "Output blocked by content filtering policy"
	case llm.BadRequest:
		f.status, f.message = http.StatusBadRequest, "The request is refused."
	case llm.Network, llm.ReplayMiss:
		f.status, f.message = http.StatusInternalServerError, "Internal server error"
	default:
		f.status, f.message = http.StatusInternalServerError, fmt.Sprintf("The model failed with %q.", kind)
	}
	return f
}

// refusal is the failure of a request that makes no sense.
func refusal(err error) failure {
	f := failureOf(llm.BadRequest)
	f.message = err.Error()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		f.status = http.StatusRequestEntityTooLarge
	}
	return f
}

// retryInfo is google.rpc.RetryInfo, in ms and rounded up. Gemini has it in its
// errors, and in those of its OpenAI face.
func retryInfo(d time.Duration) object {
	return object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": strconv.FormatFloat(math.Ceil(d.Seconds()*1000)/1000, 'f', 3, 64) + "s"}
}
