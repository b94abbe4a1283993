package agent

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marker is how our own notes in a result go on after their bracket, such as
// "[cut: 10 of 20 bytes shown]".
var marker = regexp.MustCompile(`(?i)^(?:cut|image|audio|resource|link|block|result):`)

// maxMarker is more than the longest of them takes.
const maxMarker = 16

// visible makes a server's text harmless to place before a model: whatever is
// not seen, controls a terminal or turns the direction of writing becomes its
// code point, as ⟦U+202E⟧, and what imitates our own notes gets a backslash.
// Line breaks and tabs stay.
func visible(text string) string {
	var out strings.Builder
	writeVisible(&out, text, len(text)*16+1) // longer than any text becomes
	return out.String()
}

// writeVisible writes a text made visible, as far as out holds no more than
// limit bytes, and returns how many bytes of the text that was.
func writeVisible(out *strings.Builder, text string, limit int) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		piece := text[i : i+size]
		switch {
		case r == '\r' && strings.HasPrefix(text[i+1:], "\n"):
		case hidden(r), r == '⟦':
			piece = fmt.Sprintf("⟦U+%04X⟧", r)
		case r == '[' && marker.MatchString(text[i+1:min(len(text), i+maxMarker)]):
			piece = `\[`
		case r == utf8.RuneError:
			piece = "\uFFFD" // bytes that are no UTF-8, too
		}
		if out.Len()+len(piece) > limit {
			return i
		}
		out.WriteString(piece)
		i += size
	}
	return len(text)
}

// hidden says whether a rune shows nothing of itself, or changes how others show.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t': // most text, and quickly
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp): // tags are among Cf
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // joiner and fillers
		return true
	default:
		return r >= 0xe0100 && r <= 0xe01ef // variation selectors that carry text unseen
	}
}
