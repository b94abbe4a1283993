package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// minBytes of a value that is redacted. A shorter one, such as "1" or "no",
// would blacken half of every record and is no secret worth the name.
const minBytes = 4

// A Redactor replaces secrets. A nil Redactor replaces nothing. It may be used
// by several goroutines.
type Redactor struct {
	replacer *strings.Replacer
	// forms are all that the replacer looks for. To search for each of them is
	// several times faster than to replace, and most texts hold no secret.
	forms []string
}

// New makes a Redactor of values by the names of their secrets. Values shorter
// than 4 bytes are left out.
func New(values map[string]string) *Redactor {
	type form struct{ text, name string }
	var all []form
	for name, value := range values {
		for _, text := range forms(value) {
			if len(text) >= minBytes {
				all = append(all, form{text, name})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	// The replacer prefers what comes first: the longest, so that a secret which
	// holds another one leaves no rest; then by name, to be the same each time.
	slices.SortFunc(all, func(a, b form) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.name+a.text, b.name+b.text)
	})
	r := &Redactor{}
	var pairs []string
	for _, f := range all {
		pairs = append(pairs, f.text, "[secret "+f.name+"]")
		r.forms = append(r.forms, f.text)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// String redacts a text.
func (r *Redactor) String(s string) string {
	if r == nil || !r.finds(s) {
		return s
	}
	return r.replacer.Replace(s)
}

// Bytes redacts a text.
func (r *Redactor) Bytes(b []byte) []byte {
	if r == nil {
		return b
	}
	if s := string(b); r.finds(s) {
		return []byte(r.replacer.Replace(s))
	}
	return b
}

// finds says whether a secret is in a text.
func (r *Redactor) finds(s string) bool {
	return slices.ContainsFunc(r.forms, func(form string) bool { return strings.Contains(s, form) })
}

// JSON redacts the strings, keys and numbers of a JSON document, which stays
// one: a number that holds a secret becomes a string. All other bytes stay as
// they are. What is no JSON is redacted as text.
func (r *Redactor) JSON(raw []byte) []byte {
	if r == nil {
		return raw
	}
	if !json.Valid(raw) {
		return r.Bytes(raw)
	}
	if usual(raw) && !r.finds(string(raw)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			end := stringEnd(raw, i)
			out = append(out, r.literal(raw[i:end])...)
			i = end
		case c == '-' || '0' <= c && c <= '9':
			end := i + 1
			for end < len(raw) && bytes.IndexByte([]byte("0123456789+-.eE"), raw[end]) >= 0 {
				end++
			}
			if number := string(raw[i:end]); r.String(number) != number {
				out = append(out, quote(r.String(number))...)
			} else {
				out = append(out, number...)
			}
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// literal redacts a JSON string with its quotes, by what it says and not by how
// it is escaped.
func (r *Redactor) literal(raw []byte) []byte {
	if usual(raw) && !r.finds(string(raw)) {
		return raw
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return raw
	}
	if redacted := r.String(text); redacted != text {
		return quote(redacted)
	}
	return raw
}

// usual says that no character is escaped which need not be, so that a secret
// in JSON stands there in one of its forms.
func usual(raw []byte) bool {
	return !bytes.Contains(raw, []byte(`\u`)) && !bytes.Contains(raw, []byte(`\/`))
}

// stringEnd is the end of the JSON string that starts at i, in valid JSON.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// quote writes a JSON string without HTML escapes.
func quote(s string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string can always be encoded
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
