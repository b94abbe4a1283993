package similar

import (
	"fmt"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// BenchmarkCompare compares lists in which every call is of the same tool and
// no two are the same: nothing that is remembered helps.
func BenchmarkCompare(b *testing.B) {
	for _, n := range []int{10, 100, MaxCalls} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			expected, actual := unlike(n, 0), unlike(n, 7)
			for b.Loop() {
				compare(b, expected, actual, Options{})
			}
		})
	}
}

// BenchmarkLoop compares with an agent that makes one call again and again.
func BenchmarkLoop(b *testing.B) {
	expected, actual := unlike(10, 0), make([]Call, MaxCalls)
	for i := range actual {
		actual[i] = expected[3]
	}
	for b.Loop() {
		compare(b, expected, actual, Options{})
	}
}

func unlike(n, offset int) []Call {
	calls := make([]Call, n)
	for i := range calls {
		k := i + offset
		calls[i] = Call{"search", eval.JSON(fmt.Sprintf(
			`{"query": "orders of customer %d in week %d", "limit": %d, "page": 1, "since": "2026-01-%02d", "min": %d.5, "tags": ["a", "b%d"]}`,
			k, k%52, 10*k, k%28+1, k, k%9))}
	}
	return calls
}
