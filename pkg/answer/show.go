package answer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxQuoted bounds a hostile text inside a message, in bytes.
const maxQuoted = 300

// Quote puts a text between quotes and cuts it where it is long, so that a
// person sees where it begins and ends. What is not seen, or would steer a
// terminal or the direction of writing, is escaped as in Go.
func Quote(text string) string {
	if len(text) <= maxQuoted {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:RuneStart(text, maxQuoted)] + "…")
}

// Line makes one line of a text that may hold hostile parts without quotes, at
// most limit bytes of it: what is not seen is escaped, and a cut is marked.
func Line(text string, limit int) string {
	var b strings.Builder
	for _, r := range text {
		piece := string(r)
		if !unicode.IsPrint(r) {
			quoted := strconv.QuoteRune(r)
			piece = quoted[1 : len(quoted)-1]
		}
		if b.Len()+len(piece) > limit {
			return b.String() + "…"
		}
		b.WriteString(piece)
	}
	return b.String()
}

// MaxShown bounds the expected and the actual value in a score, in bytes: a
// result travels through the queue, the whole answer is in the trajectory.
const MaxShown = 4 << 10

// Cut shortens a JSON value that is too long: to a JSON string that holds its
// beginning and says how long it was.
func Cut(raw eval.JSON) eval.JSON {
	if len(raw) <= MaxShown {
		return raw
	}
	marker := fmt.Sprintf("… [cut, %d bytes in all]", len(raw))
	// In a JSON string quotes and backslashes take two bytes and a few
	// characters six; there are no control characters in JSON as we write it.
	room := MaxShown - len(marker) - 2
	end := 0
	for end < len(raw) {
		r, size := utf8.DecodeRune(raw[end:])
		cost := size
		switch r {
		case '"', '\\':
			cost = 2
		case utf8.RuneError, '\u2028', '\u2029':
			cost = 6
		}
		if room -= cost; room < 0 {
			break
		}
		end += size
	}
	return eval.Encode(string(raw[:end]) + marker)
}

// RuneStart is the last place up to n at which a rune begins, or the end of a
// text that is no longer.
func RuneStart(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
