package notify

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestShown(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"short":                      {"tier", "tier"},
		"as long as it may be":       {"0123456789", "0123456789"},
		"longer":                     {"0123456789a", "012345678…"},
		"wide":                       {"全角文字の長い", "全角文字…"},
		"no wider than it looks":     {"e\u0301" + strings.Repeat("\u0301", 20), "e" + strings.Repeat("\u0301", 8) + "…"},
		"two lines":                  {"a\nb", "a␊b"},
		"what grows when it is seen": {"a\u202eb\u202ec", "a⟦U+202E⟧…"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := shown(test.text, 10); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What is shown is never longer than it may be, and is on one line.
func FuzzShown(f *testing.F) {
	f.Add("a\nb", 3)
	f.Add(strings.Repeat("\u0301", 30), 7)
	f.Add("\x1b[31mred\x1b[0m \xff", 1)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 1 + int(uint(limit)%300)
		got := shown(s, limit)
		if n := utf8.RuneCountInString(got); n > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\r\n\x1b") {
			t.Errorf("got %q of %d characters, want at most %d on a line", got, n, limit)
		}
	})
}

// Whatever a server asks for, the wait is bounded.
func FuzzRetryAfter(f *testing.F) {
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	for _, s := range []string{"", "0", "-1", "120", "99999999999999999999", "Sun, 01 Mar 2026 03:00:00 GMT", "soon"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := retryAfter(http.Header{"Retry-After": {s}}, now); got < 0 || got > longest {
			t.Errorf("got %v for %q, want 0 to %v", got, s, longest)
		}
	})
}
