package wire_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

func TestExcerpt(t *testing.T) {
	e := wire.NewExcerpt(4, 6)
	for _, part := range []string{"ab", "cdef", "ghijklmno", "p"} {
		if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("got %d, %v, want %d", n, err, len(part))
		}
	}
	if got, want := e.String(), "abcd\n… 6 bytes left out …\nklmnop"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestExcerptKeepsBothEnds: however a text is cut into writes, the excerpt is the
// same, and the whole text if it fits.
func TestExcerptKeepsBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.StringMatching(`[a-z]{0,20}`)).Draw(t, "parts")
		head, tail := rapid.IntRange(0, 30).Draw(t, "head"), rapid.IntRange(0, 30).Draw(t, "tail")
		text := strings.Join(parts, "")
		e, whole := wire.NewExcerpt(head, tail), wire.NewExcerpt(head, tail)
		for _, part := range parts {
			_, _ = e.Write([]byte(part))
		}
		_, _ = whole.Write([]byte(text))
		if e.String() != whole.String() {
			t.Fatalf("in parts got %q, at once %q", e.String(), whole.String())
		}
		if len(text) <= head+tail {
			if e.String() != text {
				t.Fatalf("got %q, want all of %q", e.String(), text)
			}
			return
		}
		if got := e.String(); !strings.HasPrefix(got, text[:head]) || !strings.HasSuffix(got, text[len(text)-tail:]) {
			t.Fatalf("got %q, want head and tail of %q", got, text)
		}
	})
}
