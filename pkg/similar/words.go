package similar

import (
	"slices"
	"strings"
	"unicode"
)

// wordsOf returns the words of a text, runs of letters, digits and underscores
// in lower case, sorted. It remembers them, since a text is compared with many.
func (c *comparer) wordsOf(text string) []string {
	if words, known := c.words[text]; known {
		return words
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_'
	})
	slices.Sort(words)
	c.words[text] = words
	return words
}

// common counts what two sorted lists have in common, repeated words as often as
// both repeat them.
func common(x, y []string) int {
	var n, i, j int
	for i < len(x) && j < len(y) {
		switch order := strings.Compare(x[i], y[j]); {
		case order < 0:
			i++
		case order > 0:
			j++
		default:
			n, i, j = n+1, i+1, j+1
		}
	}
	return n
}

func hasSpace(text string) bool { return strings.ContainsFunc(text, unicode.IsSpace) }
