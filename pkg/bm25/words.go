package bm25

import (
	"strings"
	"unicode"
)

// words takes a text apart: at whatever is no letter and no digit, and where a
// small letter or a digit meets a capital, as in getOrder, or a run of capitals
// ends, as in HTTPServer. Words come in lower case and in the singular.
func words(text string) []string {
	var out []string
	runes := []rune(text)
	start := -1
	flush := func(end int) {
		if start >= 0 {
			out = append(out, singular(strings.ToLower(string(runes[start:end]))))
		}
		start = -1
	}
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			flush(i)
			continue
		}
		if start >= 0 && unicode.IsUpper(r) {
			last := runes[i-1]
			runEnds := unicode.IsUpper(last) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if unicode.IsLower(last) || unicode.IsDigit(last) || runEnds {
				flush(i)
			}
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(runes))
	return out
}

// singular takes the plural off an English word. It need not be right: it has to
// do the same to the words of a query and of a tool.
func singular(word string) string {
	switch {
	case len(word) < 4, !strings.HasSuffix(word, "s"):
		return word
	case strings.HasSuffix(word, "ss"), strings.HasSuffix(word, "us"), strings.HasSuffix(word, "is"):
		return word
	case strings.HasSuffix(word, "ies"):
		return strings.TrimSuffix(word, "ies") + "y"
	}
	for _, ending := range []string{"sses", "xes", "ches", "shes"} {
		if strings.HasSuffix(word, ending) {
			return strings.TrimSuffix(word, "es")
		}
	}
	return strings.TrimSuffix(word, "s")
}
