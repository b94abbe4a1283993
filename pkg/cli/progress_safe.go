package cli

import "unicode"

// safe is report.Safe until that lands.
func safe(s string, max int) string {
	var b []rune
	for _, r := range s {
		if !unicode.IsPrint(r) {
			r = '\uFFFD'
		}
		b = append(b, r)
		if len(b) >= max {
			break
		}
	}
	return string(b)
}
