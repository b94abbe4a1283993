package vars

import (
	"fmt"
	"strings"
	"unicode"
)

// opener starts a placeholder; twice in a row it stands for itself.
const (
	opener = "{{"
	closer = "}}"
	escape = opener + opener
)

// A SyntaxError is a placeholder that cannot be read.
type SyntaxError struct {
	// Offset is the byte at which the placeholder's {{ starts in its string.
	Offset int
	// Problem is one line for people.
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("placeholder at byte %d: %s", e.Offset, e.Problem)
}

// part is a piece of a scanned string: literal text, or a placeholder's name.
type part struct {
	text string
	name string
}

// scan splits s into parts. Literal text comes unescaped.
func scan(s string) ([]part, error) {
	var parts []part
	for at := 0; at < len(s); {
		i := strings.Index(s[at:], opener)
		if i < 0 {
			return append(parts, part{text: s[at:]}), nil
		}
		if i > 0 {
			parts = append(parts, part{text: s[at : at+i]})
			at += i
		}
		if strings.HasPrefix(s[at:], escape) {
			parts = append(parts, part{text: opener})
			at += len(escape)
			continue
		}
		inside, _, closed := strings.Cut(s[at+len(opener):], closer)
		if !closed {
			return nil, &SyntaxError{at, "{{ is never closed by }}; write {{{{ for a literal {{"}
		}
		name := strings.Trim(inside, " ")
		if problem := malformed(name); problem != "" {
			return nil, &SyntaxError{at, problem}
		}
		parts = append(parts, part{name: name})
		at += len(opener) + len(inside) + len(closer)
	}
	return parts, nil
}

// malformed says what is wrong with a name, or nothing.
func malformed(name string) string {
	if name == "" {
		return "{{}} holds no name"
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r) {
			return fmt.Sprintf("%.40q is no name: letters, digits, _, - and . only; write {{{{ for a literal {{", name)
		}
	}
	return ""
}
