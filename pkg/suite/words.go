package suite

import (
	"errors"
	"strings"
)

// splitWords splits a command line into words as a POSIX shell does: white space
// separates, '…' keeps everything, "…" and \ keep the next characters. Nothing
// is expanded.
func splitWords(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord, escaped := false, false
	quote := rune(0)
	for _, r := range s {
		switch {
		case escaped:
			if quote == '"' && !strings.ContainsRune(`"\$`+"`", r) {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case quote == '\'':
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\\':
			escaped, inWord = true, true
		case quote == '"':
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case strings.ContainsRune(" \t\r\n", r):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("a quote is never closed")
	case escaped:
		return nil, errors.New("a backslash ends the command")
	case inWord:
		words = append(words, word.String())
	}
	return words, nil
}
