package llm_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// noon is when the answers of these tests arrive.
func noon() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }

// header reads lines as "Retry-After: 2".
func header(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestWaitFrom(t *testing.T) {
	retryInfo := `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.Help"},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"46.5s"}]}}`
	for _, row := range []struct {
		name   string
		header http.Header
		body   string
		status int
		wait   time.Duration
		from   string
	}{
		{"nothing", nil, "", 429, 0, ""},
		{"milliseconds", header("Retry-After-Ms: 1500"), "", 429, 1500 * time.Millisecond, "retry-after-ms"},
		{"milliseconds before seconds", header("Retry-After: 9", "Retry-After-Ms: 20.5"), "", 503, 20500 * time.Microsecond, "retry-after-ms"},
		{"unreadable milliseconds, then seconds", header("Retry-After: 9", "Retry-After-Ms: soon"), "", 503, 9 * time.Second, "retry-after"},
		{"seconds", header("Retry-After: 2"), "", 429, 2 * time.Second, "retry-after"},
		{"seconds with spaces", header("Retry-After:  2 "), "", 429, 2 * time.Second, "retry-after"},
		{"parts of seconds", header("Retry-After: 0.25"), "", 529, 250 * time.Millisecond, "retry-after"},
		{"no wait at all", header("Retry-After: 0"), "", 429, 0, "retry-after"},
		{"hours are believed", header("Retry-After: 35477"), "", 429, 35477 * time.Second, "retry-after"},
		{"negative seconds", header("Retry-After: -3"), "", 429, 0, ""},
		{"no number", header("Retry-After: NaN"), "", 429, 0, ""},
		{"endless", header("Retry-After: +Inf"), "", 429, 0, ""},
		{"more than a year", header("Retry-After: 31536001"), "", 429, 0, ""},
		{"HTTP-date", header("Retry-After: Mon, 30 Nov 2026 12:00:05 GMT"), "", 429, 5 * time.Second, "retry-after"},
		{"HTTP-date, RFC 850", header("Retry-After: Monday, 30-Nov-26 12:01:00 GMT"), "", 429, time.Minute, "retry-after"},
		{"HTTP-date, asctime", header("Retry-After: Mon Nov 30 12:00:07 2026"), "", 429, 7 * time.Second, "retry-after"},
		{"HTTP-date that is over", header("Retry-After: Mon, 30 Nov 2026 11:00:00 GMT"), "", 429, 0, "retry-after"},
		{"HTTP-date in ten years", header("Retry-After: Mon, 30 Nov 2036 12:00:05 GMT"), "", 429, 0, ""},
		{"a duration is no Retry-After", header("Retry-After: 6m0s"), "", 429, 0, ""},
		{"window as a duration", header("X-Ratelimit-Reset-Requests: 6m0s"), "", 429, 6 * time.Minute, "x-ratelimit-reset-requests"},
		{"window in milliseconds", header("X-Ratelimit-Reset-Tokens: 12ms"), "", 429, 12 * time.Millisecond, "x-ratelimit-reset-tokens"},
		{"window in bare seconds", header("X-Ratelimit-Reset-Tokens: 7.5"), "", 429, 7500 * time.Millisecond, "x-ratelimit-reset-tokens"},
		{
			"the latest window", header("X-Ratelimit-Reset-Requests: 1s", "X-Ratelimit-Reset-Tokens: 2s"), "", 429,
			2 * time.Second, "x-ratelimit-reset-tokens",
		},
		{
			"windows as times", header("Anthropic-Ratelimit-Requests-Reset: 2026-11-30T12:00:01Z", "Anthropic-Ratelimit-Input-Tokens-Reset: 2026-11-30T13:00:06.65+01:00"),
			"", 429, 6650 * time.Millisecond, "anthropic-ratelimit-input-tokens-reset",
		},
		{"a window that is back", header("Anthropic-Ratelimit-Tokens-Reset: 2026-11-30T11:59:00Z"), "", 429, 0, "anthropic-ratelimit-tokens-reset"},
		{"a window says nothing of a 503", header("X-Ratelimit-Reset-Requests: 6m0s"), "", 503, 0, ""},
		{"Retry-After before a window", header("Retry-After: 3", "X-Ratelimit-Reset-Requests: 6m0s"), "", 429, 3 * time.Second, "retry-after"},
		{"in the body", nil, retryInfo, 429, 46500 * time.Millisecond, "retry-info"},
		{"in the body, in a list", nil, "[" + retryInfo + "]", 503, 46500 * time.Millisecond, "retry-info"},
		{"in the body before a window", header("X-Ratelimit-Reset-Requests: 6m0s"), retryInfo, 429, 46500 * time.Millisecond, "retry-info"},
		{"a body that is none", nil, `{"error":`, 429, 0, ""},
		{"details of another form", nil, `{"error":{"details":{"retryDelay":"46s"}}}`, 429, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			wait, from := llm.WaitFrom(row.header, []byte(row.body), row.status, noon())
			if wait != row.wait || from != row.from {
				t.Errorf("WaitFrom = %s from %q, want %s from %q", wait, from, row.wait, row.from)
			}
		})
	}
}

func FuzzWaitFrom(f *testing.F) {
	f.Add("1500", "2", "6m0s", "2026-11-30T12:00:01Z", `{"error":{"details":[{"@type":"google.rpc.RetryInfo","retryDelay":"46s"}]}}`, 429)
	f.Add("", "Mon, 30 Nov 2026 12:00:05 GMT", "1e300", "9999-12-31T23:59:59Z", `[{"error":"x"}]`, 503)
	f.Add("-1", "0x1p62", "2562047h", "0000-01-01T00:00:00Z", `{"error":{"details":[{"@type":"google.rpc.RetryInfo","retryDelay":"-9e9s"}]}}`, 429)
	f.Fuzz(func(t *testing.T, millis, after, window, at, body string, status int) {
		h := http.Header{}
		h.Set("Retry-After-Ms", millis)
		h.Set("Retry-After", after)
		h.Set("X-Ratelimit-Reset-Requests", window)
		h.Set("Anthropic-Ratelimit-Tokens-Reset", at)
		wait, from := llm.WaitFrom(h, []byte(body), status, noon())
		if wait < 0 || wait > 365*24*time.Hour {
			t.Errorf("a wait of %s", wait)
		}
		if from == "" && wait != 0 {
			t.Errorf("a wait of %s from nowhere", wait)
		}
		if strings.Contains(from, "ratelimit") && status != 429 {
			t.Errorf("a window is taken for the wait of a %d", status)
		}
	})
}
