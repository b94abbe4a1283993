package strictyaml

import "fmt"

// DidYouMean is a hint that names the [Closest] word, or nothing.
func DidYouMean(word string, words []string) string {
	if best := Closest(word, words); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// Closest finds the word that was probably meant: the nearest one at a
// Levenshtein distance of at most 2, and less than the word is long. The first
// of equals wins; "" means that none is near.
func Closest(word string, words []string) string {
	best, distance := "", 3
	for _, w := range words {
		if d := levenshtein(word, w, distance); d < distance && d < len([]rune(w)) {
			best, distance = w, d
		}
	}
	return best
}

// levenshtein counts the edits between two words; it gives up at the limit,
// which it then returns.
func levenshtein(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= limit || len(y)-len(x) >= limit {
		return limit
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return min(limit, row[len(y)])
}
