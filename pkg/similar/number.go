package similar

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/match"
)

// number compares a number with any value. Two integers are the same or not,
// unless the schema says that any number will do.
func number(a json.Number, y any, r *rule) float64 {
	switch b := y.(type) {
	case string:
		return one(sameNumber(b, a))
	case json.Number:
		switch {
		case a == b:
			return 1
		case isInteger(a) && isInteger(b) && (r == nil || !r.relative):
			return one(a == "-0" && b == "0" || a == "0" && b == "-0") // others have one form
		case match.Equal(a, b):
			return 1
		default:
			return closeness(float(a), float(b))
		}
	default:
		return 0
	}
}

// closeness is 1 - |x-y|/max(|x|,|y|), at least 0.
func closeness(x, y float64) float64 {
	if x == y && !math.IsInf(x, 0) {
		return 1
	}
	share := math.Abs(x-y) / max(math.Abs(x), math.Abs(y))
	if math.IsNaN(share) { // two infinities, of numbers beyond float64
		return 0
	}
	return max(0, 1-share)
}

// isInteger says whether a number was written as an integer.
func isInteger(n json.Number) bool {
	for i := range len(n) {
		if n[i] == '.' || n[i] == 'e' || n[i] == 'E' {
			return false
		}
	}
	return true
}

// sameNumber says whether a text is a number of the same value.
func sameNumber(text string, n json.Number) bool {
	parsed, ok := parseNumber(text)
	return ok && match.Equal(parsed, n)
}

// parseNumber reads a JSON number from a text.
func parseNumber(text string) (json.Number, bool) {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '-' && (text[0] < '0' || text[0] > '9') || !json.Valid([]byte(text)) {
		return "", false
	}
	return json.Number(text), true
}

// float returns the nearest float64, infinite beyond its range.
func float(n json.Number) float64 {
	f, _ := n.Float64() // a range error comes with the infinity
	return f
}
