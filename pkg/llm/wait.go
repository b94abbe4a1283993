package llm

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait that is believed. A provider that asks for more than a year is
// taken to have said nothing.
const longestWait = 365 * 24 * time.Hour

// WaitFrom reads how long a provider asks to hold off, and from what: the header
// or the field of the body, in lower case as "retry-after". When nothing says so
// the wait is zero and from is empty; a time in the past is a wait of zero that
// somebody asked for. These are read, and the first that makes sense is taken:
//
//   - retry-after-ms, a number of milliseconds (OpenAI, Azure);
//   - retry-after, a number of seconds or an HTTP-date (RFC 9110, 10.2.3);
//   - retryDelay of a google.rpc.RetryInfo in the body (Gemini);
//   - on a 429 alone the latest of x-ratelimit-reset-requests and -tokens (OpenAI:
//     a duration as 6m0s, or seconds) and of anthropic-ratelimit-requests-reset,
//     -tokens-reset, -input-tokens-reset and -output-tokens-reset (RFC 3339). They
//     say when the whole budget is back, which is later than need be, so they are
//     the last resort and no hint on a 503.
func WaitFrom(h http.Header, body []byte, status int, now time.Time) (wait time.Duration, from string) {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d, "retry-after-ms"
	}
	if d, ok := seconds(h.Get("Retry-After")); ok {
		return d, "retry-after"
	}
	if d, ok := date(h.Get("Retry-After"), now); ok {
		return d, "retry-after"
	}
	if d, ok := parseProblem(body).retryDelay(); ok {
		return d, "retry-info"
	}
	if status != http.StatusTooManyRequests {
		return 0, ""
	}
	for _, name := range []string{
		"x-ratelimit-reset-requests", "x-ratelimit-reset-tokens",
		"anthropic-ratelimit-requests-reset", "anthropic-ratelimit-tokens-reset",
		"anthropic-ratelimit-input-tokens-reset", "anthropic-ratelimit-output-tokens-reset",
	} {
		if d, ok := reset(h.Get(name), now); ok && (from == "" || d > wait) {
			wait, from = d, name
		}
	}
	return wait, from
}

// reset reads when a budget is back: in seconds, as a duration or as a time.
func reset(v string, now time.Time) (time.Duration, bool) {
	if d, ok := seconds(v); ok {
		return d, true
	}
	if d, err := time.ParseDuration(strings.TrimSpace(v)); err == nil {
		return sane(d)
	}
	return date(v, now)
}

// seconds reads a number of seconds, whole or not.
func seconds(v string) (time.Duration, bool) { return number(v, time.Second) }

// number reads a number of units.
func number(v string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f > float64(longestWait/unit) {
		return 0, false
	}
	return sane(time.Duration(f * float64(unit)))
}

// date reads an HTTP-date or an RFC 3339 time.
func date(v string, now time.Time) (time.Duration, bool) {
	v = strings.TrimSpace(v)
	t, err := http.ParseTime(v)
	if err != nil {
		t, err = time.Parse(time.RFC3339, v)
	}
	if err != nil {
		return 0, false
	}
	return sane(max(0, t.Sub(now)))
}

// sane refuses waits that nobody can mean.
func sane(d time.Duration) (time.Duration, bool) {
	if d < 0 || d > longestWait {
		return 0, false
	}
	return d, true
}
