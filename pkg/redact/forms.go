package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// maxNesting is how deep JSON inside a string of JSON is looked into: a tool's
// text is often JSON, and its record is JSON again.
const maxNesting = 3

// forms returns the ways in which a value may be written, each once.
func forms(value string) []string {
	if len(value) < minBytes {
		return nil
	}
	all := []string{value}
	// A file's last line break is rarely sent along.
	if trimmed := strings.TrimSpace(value); len(trimmed) >= minBytes {
		all = append(all, trimmed)
	}
	for _, plain := range slices.Clone(all) {
		level := []string{plain}
		for range maxNesting {
			for _, text := range slices.Clone(level) {
				level = append(level, escapes(text)...)
			}
			slices.Sort(level)
			level = slices.Compact(level)
		}
		all = append(all, level...)
		all = append(all, urlForms(plain)...)
		all = append(all, base64Forms(plain)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// escapes returns a text as it stands inside a JSON string: escaped as little
// as can be, with HTML's characters escaped, and in ASCII alone.
func escapes(s string) []string {
	html, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return []string{inside(quote(s)), inside(html), ascii(inside(quote(s)))}
}

func inside(literal []byte) string { return string(literal[1 : len(literal)-1]) }

// ascii writes the characters beyond ASCII as \u escapes.
func ascii(s string) string {
	var out strings.Builder
	for _, r := range s {
		if r < 0x80 {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// urlForms returns a text percent-encoded for a query, a path, and as
// encodeURIComponent of ECMA 262 does, with large and small hex digits.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	component := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*").Replace(query)
	all := []string{query, url.PathEscape(s), component}
	for _, text := range slices.Clone(all) {
		all = append(all, smallHex(text))
	}
	return all
}

// smallHex turns %2F into %2f.
func smallHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64Forms returns a text in base64, alone and inside a longer text. In the
// latter case three encodings are possible, by how many bytes stand before it,
// and its first and last characters may hold bits of its neighbours: they are
// left out.
func base64Forms(s string) []string {
	var all []string
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		all = append(all, encoding.EncodeToString([]byte(s)))
		bare := encoding.WithPadding(base64.NoPadding)
		all = append(all, bare.EncodeToString([]byte(s)))
		for before := range 3 {
			encoded := bare.EncodeToString([]byte(strings.Repeat("\x00", before) + s))
			first := (before*8 + 5) / 6
			end := (before + len(s)) * 8 / 6
			all = append(all, encoded[first:end])
		}
	}
	return all
}
