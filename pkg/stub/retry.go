package stub

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is a way to tell a client how long to wait.
type RetryAfter string

const (
	// RetrySeconds is Retry-After in whole seconds (RFC 9110).
	RetrySeconds RetryAfter = "seconds"
	// RetryFloat is Retry-After with a fraction, which is no RFC but is sent.
	RetryFloat RetryAfter = "float"
	// RetryDate is Retry-After as an HTTP date (RFC 9110).
	RetryDate RetryAfter = "http-date"
	// RetryMS is retry-after-ms, as Azure and OpenAI send it.
	RetryMS RetryAfter = "ms"
	// RetryResets are the headers that say when a limit is full again, later than
	// the call could be made.
	RetryResets RetryAfter = "reset-headers"
	// RetryInfo is google.rpc.RetryInfo in the body. Anthropic's bodies have no
	// place for it, so there nothing is said.
	RetryInfo RetryAfter = "retry-info"
	// RetryNone says nothing.
	RetryNone RetryAfter = "none"
	// RetryMixed is each of the others in turn.
	RetryMixed RetryAfter = "mixed"
)

// retryAfters lists all ways, mixed last.
func retryAfters() []RetryAfter {
	return []RetryAfter{RetrySeconds, RetryFloat, RetryDate, RetryMS, RetryResets, RetryInfo, RetryNone, RetryMixed}
}

// ParseRetryAfter reads the name of a way.
func ParseRetryAfter(s string) (RetryAfter, error) {
	all := retryAfters()
	if !slices.Contains(all, RetryAfter(s)) {
		var names []string
		for _, f := range all {
			names = append(names, string(f))
		}
		return "", fmt.Errorf("want one of %s, got %q", strings.Join(names, ", "), s)
	}
	return RetryAfter(s), nil
}

// pick is the way that the nth refusal, counted from 0, is told.
func (f RetryAfter) pick(n uint64) RetryAfter {
	switch f {
	case "":
		return RetrySeconds
	case RetryMixed:
		ways := retryAfters()
		return ways[n%uint64(len(ways)-1)] //nolint:gosec // G115: a length
	default:
		return f
	}
}

// header sets the header of the way, if it is one. The time is rounded up: a
// client that waits as long as it was told is let in.
func (f RetryAfter) header(h http.Header, wait time.Duration, now time.Time) {
	switch f {
	case RetrySeconds:
		h.Set("Retry-After", strconv.FormatFloat(f.until(wait, now).Sub(now).Seconds(), 'f', 0, 64))
	case RetryFloat:
		h.Set("Retry-After", strconv.FormatFloat(math.Ceil(wait.Seconds()*1000)/1000, 'f', 3, 64))
	case RetryDate:
		h.Set("Retry-After", f.until(wait, now).UTC().Format(http.TimeFormat))
	case RetryMS:
		h.Set("Retry-After-Ms", strconv.FormatFloat(math.Ceil(wait.Seconds()*1000), 'f', 0, 64))
	default: // elsewhere, or not at all
	}
}

// until is when a client comes again that waits as long as it was told.
func (f RetryAfter) until(wait time.Duration, now time.Time) time.Time {
	switch f {
	case RetrySeconds:
		return now.Add((wait + time.Second - 1).Truncate(time.Second))
	case RetryDate:
		return now.Add(wait + time.Second - 1).Truncate(time.Second)
	case RetryNone:
		return now
	default:
		return now.Add(wait)
	}
}
