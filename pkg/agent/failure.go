package agent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A failure is why a step did not pass.
type failure struct {
	reason  eval.Reason
	message string
	// expected and actual show the difference, where there is one to show.
	expected, actual eval.JSON
}

func failf(reason eval.Reason, format string, args ...any) *failure {
	return &failure{reason: reason, message: fmt.Sprintf(format, args...)}
}

// showing adds what was expected and what came instead.
func (f *failure) showing(expected, actual any) *failure {
	f.expected, f.actual = eval.Encode(expected), eval.Encode(actual)
	return f
}

// merge makes one failure of several: the first decides, the messages of all
// are told.
func merge(failures []*failure) *failure {
	if len(failures) == 0 {
		return nil
	}
	merged := *failures[0]
	messages := make([]string, len(failures))
	for i, f := range failures {
		messages[i] = f.message
	}
	merged.message = strings.Join(messages, "; ")
	return &merged
}

// maxShown bounds the expected and the actual value in a score, in bytes: a
// result travels through the queue, the whole answer is in the trajectory.
const maxShown = 4 << 10

// cut shortens a JSON value that is too long: to a JSON string that holds its
// beginning and says how long it was.
func cut(raw eval.JSON) eval.JSON {
	if len(raw) <= maxShown {
		return raw
	}
	marker := fmt.Sprintf("… [cut, %d bytes in all]", len(raw))
	// In a JSON string quotes and backslashes take two bytes and a few
	// characters six; there are no control characters in JSON as we write it.
	room := maxShown - len(marker) - 2
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

// maxMessage bounds a text of the server inside a message, in bytes.
const maxMessage = 300

// quote shortens a server's text and puts it in quotes, so that its control
// characters do nothing and a person sees where it begins and ends.
func quote(text string) string {
	if len(text) > maxMessage {
		text = text[:runeStart(text, maxMessage)] + "…"
	}
	return string(eval.Encode(text))
}
