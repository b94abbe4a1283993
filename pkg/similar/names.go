package similar

import (
	"iter"
	"maps"
	"slices"
)

// names returns the keys of an object, sorted: sums in a fixed order are the
// same to the last bit.
func names(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// union yields the names that either of two sorted lists has, sorted.
func union(x, y []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(x) > 0 || len(y) > 0 {
			var name string
			if len(y) == 0 || len(x) > 0 && x[0] <= y[0] {
				name = x[0]
			} else {
				name = y[0]
			}
			if len(x) > 0 && x[0] == name {
				x = x[1:]
			}
			if len(y) > 0 && y[0] == name {
				y = y[1:]
			}
			if !yield(name) {
				return
			}
		}
	}
}
