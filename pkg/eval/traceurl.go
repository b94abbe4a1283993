package eval

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A TraceURL is where people see the trace of a trial: an address of the trace
// backend with [TracePlaceholder] in the place of the trace's id. Empty is none.
type TraceURL string

// TracePlaceholder stands for the id of a trace: 32 hex digits.
const TracePlaceholder = "{trace_id}"

var (
	// traceIDRE is the id of a trace as https://www.w3.org/TR/trace-context/ has it.
	traceIDRE     = regexp.MustCompile(`^[0-9a-f]{32}$`)
	placeholderRE = regexp.MustCompile(`\{[^{}]*\}?|\}`)
)

// ParseTraceURL reads one. The error says what is wrong with it.
func ParseTraceURL(text string) (TraceURL, error) {
	for _, found := range placeholderRE.FindAllString(text, -1) {
		if found != TracePlaceholder {
			return "", fmt.Errorf("%q is no placeholder", found)
		}
	}
	if !strings.Contains(text, TracePlaceholder) {
		return "", errors.New("it is the same for every trial, without " + TracePlaceholder)
	}
	u, err := url.Parse(fill(text, strings.Repeat("0", 32)))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.ContainsFunc(text, unicode.IsSpace):
		return "", errors.New("it is no http:// or https:// address")
	case u.User != nil:
		return "", errors.New("it has credentials, which everybody would see")
	}
	return TraceURL(text), nil
}

// Of is the address of a trace. It is empty where there is no template, no trace, or
// what came as its id is none: imported results may say anything.
func (u TraceURL) Of(traceID string) string {
	if u == "" || !traceIDRE.MatchString(traceID) {
		return ""
	}
	return fill(string(u), traceID)
}

func fill(template, traceID string) string {
	return strings.ReplaceAll(template, TracePlaceholder, traceID)
}

// Linked is the summary with the addresses of its trials' traces. Without a template
// it is the summary as it is.
func (s Summary) Linked(u TraceURL) Summary {
	if u == "" {
		return s
	}
	s.Cells = slices.Clone(s.Cells)
	for i, c := range s.Cells {
		if c.Failure != nil {
			f := *c.Failure
			f.TraceURL = u.Of(f.TraceID)
			s.Cells[i].Failure = &f
		}
	}
	return s
}
