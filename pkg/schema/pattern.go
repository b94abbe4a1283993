package schema

import (
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var (
	// unicodeEscape is how ECMA 262 writes a code point and RE2 does not.
	unicodeEscape = regexp.MustCompile(`\\u(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{4}))`)
	// beyondRE2 finds look-around and back-references.
	beyondRE2 = regexp.MustCompile(`\(\?<?[=!]|\\[1-9]|\\k<`)
)

// compilePattern compiles a pattern of JSON Schema, which is one of ECMA 262.
// A legal pattern that RE2 cannot run, because it looks around or back, accepts
// every text: the server enforces it, and the tool is not at fault.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	re, err := regexp.Compile(unicodeEscape.ReplaceAllString(pattern, `\x{$1$2}`))
	if err == nil {
		return re, nil
	}
	if beyondRE2.MatchString(pattern) {
		return unchecked(pattern), nil
	}
	return nil, err
}

// unchecked is a pattern that matches everything.
type unchecked string

func (unchecked) MatchString(string) bool { return true }
func (u unchecked) String() string        { return string(u) }
