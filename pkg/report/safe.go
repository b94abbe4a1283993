package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text of strangers harmless to show: on one line, without anything
// that a terminal would obey or that hides what is written, and at most width
// columns wide (0 means as wide as it is). Text that is cut ends in "…".
//
// Colours are dropped. Any other escape sequence becomes "␛", control
// characters become their pictures ("␊" for a new line), and what is invisible
// or changes the direction of writing becomes its code point, as ⟦U+202E⟧.
// Bytes that are no UTF-8 become "�". The result is also legal in XML.
func Line(s string, width int) string {
	var out strings.Builder
	used := 0 // columns
	room := 0 // bytes of out that leave room for "…"
	for s != "" {
		shown, n := next(s)
		s = s[n:]
		for _, r := range shown {
			w := columns(r)
			if width > 0 && used+w > width {
				return out.String()[:room] + "…"
			}
			out.WriteRune(r)
			used += w
			if used < width {
				room = out.Len()
			}
		}
	}
	return out.String()
}

// Lines makes text of strangers harmless like [Line], but keeps its lines. It
// returns at most limit lines and how many more there are; empty lines at the
// end do not count.
func Lines(s string, width, limit int) (lines []string, more int) {
	s = strings.TrimRight(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	if s == "" {
		return nil, 0
	}
	for l := range strings.SplitSeq(s, "\n") {
		if len(lines) == limit {
			more++
			continue
		}
		lines = append(lines, Line(l, width))
	}
	return lines, more
}

// next gives what to show for the start of s, and how many bytes that stands for.
func next(s string) (shown string, n int) {
	if n, colour := sequence(s); n > 0 {
		if colour {
			return "", n
		}
		return "␛", n
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == '\t':
		return " ", n
	case r < ' ':
		return string('␀' + r), n
	case r == 0x7f:
		return "␡", n
	case hidden(r):
		return fmt.Sprintf("⟦U+%04X⟧", r), n
	default:
		return string(r), n
	}
}

// hidden says whether a rune shows nothing of itself, or changes how its
// neighbours show.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7f: // most text, and quickly
		return false
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // joiner and fillers
		return true
	case r >= 0xe0100 && r <= 0xe01ef: // variation selectors that carry text unseen
		return true
	case r == 0xfffe, r == 0xffff: // no characters, and illegal in XML
		return true
	default:
		return false
	}
}

// maxSequence bounds the search for the end of an escape sequence. Real ones are
// shorter; without a bound, text full of unfinished ones would take for ever.
const maxSequence = 4096

// sequence measures the complete escape sequence (ECMA-48) at the start of s and
// says whether all it does is to set colours. It is 0 where there is none. An
// unfinished sequence is none, or it would hide all the text behind it.
func sequence(s string) (n int, colour bool) {
	kind, body := byte(0), 0
	switch {
	case len(s) >= 2 && s[0] == 0x1b:
		kind, body = s[1], 2
	case len(s) >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f:
		// The eight-bit form of ESC and a letter, as U+0080 to U+009F.
		kind, body = s[1]-0x40, 2
	default:
		return 0, false
	}
	switch {
	case kind == '[':
		for i := body; i < min(len(s), maxSequence); i++ {
			switch c := s[i]; {
			case c >= 0x40 && c <= 0x7e:
				return i + 1, c == 'm'
			case c < 0x20 || c > 0x3f:
				return 0, false
			}
		}
		return 0, false
	case strings.IndexByte("]PX^_", kind) >= 0:
		text := s[body:min(len(s), maxSequence)]
		for i := range len(text) {
			switch rest := text[i:]; {
			case rest[0] == 0x07:
				return body + i + 1, false
			case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
				return body + i + 2, false
			}
		}
		return 0, false
	case s[0] == 0x1b && kind >= 0x20 && kind <= 0x2f: // a character set, and the like
		if len(s) >= 3 && s[2] >= 0x30 && s[2] <= 0x7e {
			return 3, false
		}
		return 0, false
	case s[0] == 0x1b && kind >= 0x30 && kind <= 0x7e:
		return 2, false
	default:
		return 0, false
	}
}

// columns is how wide a terminal shows a rune: 2 for East Asian wide characters
// and emoji, 0 for marks on the letter before. It is rough on purpose; being one
// off moves a column and harms nobody.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3ffff:
		return 2
	default:
		return 1
	}
}

// wide is the width of harmless text.
func wide(s string) int {
	n := 0
	for _, r := range s {
		n += columns(r)
	}
	return n
}
