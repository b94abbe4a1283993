package similar

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/evalfarm/evalfarm/pkg/match"
)

// pythonEqual says whether Python's == holds between two JSON values: booleans
// are the numbers 0 and 1, and an integer equals a float of exactly its value.
func pythonEqual(x, y any) bool {
	switch a := x.(type) {
	case []any:
		b, ok := y.([]any)
		return ok && slices.EqualFunc(a, b, pythonEqual)
	case map[string]any:
		b, ok := y.(map[string]any)
		return ok && maps.EqualFunc(a, b, pythonEqual)
	case string, nil:
		return match.Equal(x, y)
	}
	a, isNumber := pythonNumber(x)
	b, bothNumbers := pythonNumber(y)
	switch {
	case !isNumber || !bothNumbers:
		return false
	case isInteger(a) && isInteger(b):
		return match.Equal(a, b)
	case isInteger(a):
		return equalsFloat(a, float(b))
	case isInteger(b):
		return equalsFloat(b, float(a))
	default:
		return float(a) == float(b)
	}
}

// pythonNumber returns a number or a boolean as a number.
func pythonNumber(v any) (json.Number, bool) {
	switch x := v.(type) {
	case json.Number:
		return x, true
	case bool:
		if x {
			return "1", true
		}
		return "0", true
	default:
		return "", false
	}
}

// equalsFloat compares an integer with the exact value of a float.
func equalsFloat(n json.Number, f float64) bool {
	return f == math.Trunc(f) && !math.IsInf(f, 0) && match.Equal(n, json.Number(strconv.FormatFloat(f, 'f', 0, 64)))
}

// pythonWords returns the set of the words of a text, in lower case.
func pythonWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(text), pythonSpace) {
		words[word] = true
	}
	return words
}

// pythonSpace is what str.split takes for white space: the four separators of
// ASCII too.
func pythonSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// pythonText is str() of a value, but for the order of an object's keys, which
// is not kept: they come sorted. It is needed only where an object stands beside
// something that is none, and then tells only in the words next to its braces.
func pythonText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	var b strings.Builder
	dialect{"None", "True", "False", "inf", pythonQuote}.write(&b, v)
	return b.String()
}

// pythonJSON is json.dumps(v, sort_keys=True).
func pythonJSON(v any) string {
	var b strings.Builder
	dialect{"null", "true", "false", "Infinity", jsonQuote}.write(&b, v)
	return b.String()
}

// dialect holds what str and json.dumps write differently.
type dialect struct {
	null, yes, no, infinity string
	quote                   func(string) string
}

// write writes a value; both dialects put ", " between items and ": " behind
// keys.
func (d dialect) write(b *strings.Builder, v any) {
	switch x := v.(type) {
	case nil:
		b.WriteString(d.null)
	case bool:
		if x {
			b.WriteString(d.yes)
		} else {
			b.WriteString(d.no)
		}
	case json.Number:
		b.WriteString(d.number(x))
	case string:
		b.WriteString(d.quote(x))
	case []any:
		b.WriteByte('[')
		for i, item := range x {
			if i > 0 {
				b.WriteString(", ")
			}
			d.write(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(x)) {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(d.quote(key) + ": ")
			d.write(b, x[key])
		}
		b.WriteByte('}')
	}
}

// number writes an integer as it is and a float in its shortest form, with an
// exponent below 1e-4 and from 1e16 on.
func (d dialect) number(n json.Number) string {
	if isInteger(n) {
		if n == "-0" {
			return "0"
		}
		return string(n)
	}
	f := float(n)
	switch size := math.Abs(f); {
	case math.IsInf(f, 1):
		return d.infinity
	case math.IsInf(f, -1):
		return "-" + d.infinity
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// pythonQuote is repr() of a string.
func pythonQuote(text string) string {
	quote := '\''
	if strings.Contains(text, "'") && !strings.Contains(text, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range text {
		switch {
		case r == quote || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// jsonQuote is a JSON string in ASCII.
func jsonQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		high, low := utf16.EncodeRune(r)
		i := strings.IndexRune("\"\\\n\r\t\f\b", r)
		switch {
		case i >= 0:
			b.WriteString(`\` + `"\nrtfb`[i:i+1])
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	b.WriteByte('"')
	return b.String()
}
