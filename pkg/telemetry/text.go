package telemetry

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what others say in a span, in bytes: of what is given and comes back, and
// of what is said of it.
const (
	mostSaid    = 8 << 10
	mostMessage = 1000
)

// A showing says what the spans of a delivery may show of what models, tools and
// servers say, all of which is hostile text.
type showing struct {
	content bool
	// redact takes the secrets out. They are taken out of every span at its end; but
	// what is cut or mended before has to be rid of them first, or a piece of one
	// would be found by nobody. Nil takes out nothing.
	redact func(string) string
}

type showingKey struct{}

func shows(ctx context.Context) showing {
	if s, ok := ctx.Value(showingKey{}).(*showing); ok {
		return *s
	}
	return showing{}
}

func (s showing) clean(text string) string {
	if s.redact != nil {
		return s.redact(text)
	}
	return text
}

// said is what somebody said, cut in the middle if it has more than so many bytes.
func (s showing) said(text string, most int) string {
	if len(text) <= most && utf8.ValidString(text) {
		return text
	}
	return middle(s.clean(text), most)
}

// name makes a text fit for the name of a span: it shows all that is in it, on one
// line, and is bounded.
func (s showing) name(text string) string {
	if strings.IndexFunc(text, unseen) >= 0 {
		text = strings.Map(func(r rune) rune {
			if unseen(r) {
				return utf8.RuneError
			}
			return r
		}, s.clean(text))
	}
	return s.said(text, longest)
}

// unseen says whether a rune shows nothing of itself, or changes how others show.
func unseen(r rune) bool {
	return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
