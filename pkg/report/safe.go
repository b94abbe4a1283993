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
	case r == utf8.RuneError:
		return "�", n
	default:
		return s[:n], n
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

// sequence measures the complete escape sequence (ECMA-48) at the start of s and
// says whether all it does is to set colours. It is 0 where there is none. An
// unfinished sequence is none, or it would hide the text behind it.
func sequence(s string) (n int, colour bool) {
	if len(s) < 2 {
		return 0, false
	}
	kind, body := s[1], s[2:]
	switch {
	case s[0] == 0x1b:
	case control(s):
		kind -= 0x40 // the eight-bit form of ESC and a letter
	default:
		return 0, false
	}
	switch {
	case kind == '[':
		return parameters(body)
	case strings.IndexByte("]PX^_", kind) >= 0:
		return payload(body), false
	case s[0] != 0x1b:
		return 0, false
	case kind >= 0x20 && kind <= 0x2f && body != "" && body[0] >= 0x30 && body[0] <= 0x7e:
		return 3, false // ESC ( B and the like: a character set
	case kind >= 0x30 && kind <= 0x7e:
		return 2, false
	default:
		return 0, false
	}
}

// control says whether s starts with one of U+0080 to U+009F.
func control(s string) bool {
	return len(s) >= 2 && s[0] == 0xc2 && s[1] >= 0x80 && s[1] <= 0x9f
}

// parameters measures a control sequence from its introducer on: parameters,
// then one final byte.
func parameters(body string) (n int, colour bool) {
	for i := range len(body) {
		switch c := body[i]; {
		case c >= 0x40 && c <= 0x7e:
			return 2 + i + 1, c == 'm'
		case c < 0x20 || c > 0x3f:
			return 0, false
		}
	}
	return 0, false
}

// payload measures a control string from its introducer on: text up to BEL or ST.
// Any other control character breaks it off.
func payload(body string) int {
	for i := range len(body) {
		switch rest := body[i:]; {
		case rest[0] == 0x07:
			return 2 + i + 1
		case strings.HasPrefix(rest, "\x1b\\"), strings.HasPrefix(rest, "\u009c"):
			return 2 + i + 2
		case rest[0] < 0x20, control(rest):
			return 0
		}
	}
	return 0
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
