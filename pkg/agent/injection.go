package agent

import (
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
)

// instructing are the words with which a text turns to the model or to a judge
// instead of answering, in small letters, from one of the openings on. It is a
// sign and no proof: nothing is decided by it.
var instructing = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`(?:ignore|disregard|forget|override)\s+(?:(?:all|any|the|of|your|my|our|these|those|previous|prior|above|earlier|preceding|other)\s+)*(?:instructions?|prompts?|rules|rubric|guidelines)\b`,
	`(?:answer|respond|reply|grade|judge)\s+(?:(?:with|it|this|as|only|trial)\s+)*["'*]*pass\b`,
	`new\s+(?:system\s+)?instructions?\s*:`,
	`(?:do\s+not|don't|never)\s+(?:tell|inform|mention|reveal)\b[^.\n]{0,40}\buser\b`,
	`(?:system|developer)(?:\s+(?:prompt|message))?\s*:\s+(?:you|the\s+(?:user|assistant|agent)|ignore|from\s+now|always|never|do\s+not|new)\b`,
	`<\|(?:im_start|im_end|system|user|assistant|eot_id|start_header_id|end_of_turn)\|>`,
	`\[/?inst\]`,
	`</?(?:system|important|tool_result|tool_response|function_results?)>`,
}, "|") + `)`)

// openings are where such words begin: looking for them goes a hundred times as
// fast as for the words themselves.
func openings() []string {
	return []string{
		"ignore", "disregard", "forget", "override", "answer", "respond", "reply", "grade", "judge",
		"new", "do", "never", "system", "developer", "<", "[",
	}
}

// Bounds of the look for instructions, in bytes: how far into a text, and how
// long they may be.
const (
	maxRead        = 1 << 20
	maxInstruction = 256
)

// injected returns the words with which a text tries to instruct, or nothing.
// What is written in characters that nobody sees is read too.
func injected(text string) string {
	text = text[:answer.RuneStart(text, min(len(text), maxRead))]
	if strings.ContainsFunc(text, hidden) {
		text = strings.Map(uncovered, text)
	}
	text = strings.ToLower(text)
	for _, opening := range openings() {
		for from := 0; ; from += len(opening) {
			at := strings.Index(text[from:], opening)
			if at < 0 {
				break
			}
			from += at
			if !opens(text, from) {
				continue
			}
			if words := instructing.FindString(text[from:min(len(text), from+maxInstruction)]); words != "" {
				return words
			}
		}
	}
	return ""
}

// opens says whether instructions could begin at a place: where a word does, and
// a role's only where a line does.
func opens(text string, at int) bool {
	before := text[:at]
	if strings.HasPrefix(text[at:], "system") || strings.HasPrefix(text[at:], "developer") {
		before = strings.TrimRight(before, " \t")
		return before == "" || strings.HasSuffix(before, "\n")
	}
	return before == "" || !isWord(before[len(before)-1]) || !isWord(text[at])
}

func isWord(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

// uncovered reads characters that nobody sees: tags spell ASCII, and the others
// only keep words from being found.
func uncovered(r rune) rune {
	switch {
	case r >= 0xe0020 && r <= 0xe007e:
		return r - 0xe0000
	case r != '\r' && hidden(r):
		return -1
	default:
		return r
	}
}
