package match

import "encoding/json"

// Equal says whether two values are the same: objects with the same members,
// arrays with the same items, numbers of the same value. Nothing in them is a
// matcher.
func Equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && compareNumbers(x, y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !Equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, value := range x {
			other, ok := y[key]
			if !ok || !Equal(value, other) {
				return false
			}
		}
		return true
	default:
		return typeOf(a) == typeOf(b) && a == b
	}
}
