package match

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Difference is one place at which an answer does not match.
type Difference struct {
	// Path such as items[0].status; empty for the value as a whole.
	Path string
	// Expected and Actual values at the path. Expected may hold matchers.
	Expected, Actual any
	// Missing is true when there is no value at the path.
	Missing bool
	// Message is a line for people, such as `status: want "ACTIVE", got
	// "SUSPENDED"`. Long values are cut.
	Message string
}

// String returns the message.
func (d Difference) String() string { return d.Message }

// maxShown bounds a value in a message, in bytes; a report has the whole of it.
const maxShown = 120

// Show writes a value on one line, as JSON, cut after 120 bytes.
func Show(v any) string {
	text := string(eval.Encode(v))
	if len(text) <= maxShown {
		return text
	}
	cut := maxShown
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// member and item extend a path.
func member(path, key string) string {
	switch {
	case !isPlain(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}

func item(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// isPlain says whether a key can stand in a path without quotes.
func isPlain(key string) bool {
	return key != "" && strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-'
	}) < 0
}
