package match_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/match"
)

// number draws a JSON number in any of the ways to write one.
func number() *rapid.Generator[json.Number] {
	return rapid.Custom(func(t *rapid.T) json.Number {
		return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number"))
	})
}

// Numbers are ordered as exact fractions are.
func TestNumbersCompareLikeFractions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := number().Draw(t, "a"), number().Draw(t, "b")
		want := fraction(t, a).Cmp(fraction(t, b))
		if got := order(a, b); got != want {
			t.Fatalf("%s and %s: got order %d, want %d", a, b, got, want)
		}
	})
}

// A number equals itself written in another way.
func TestNumbersEqualHoweverWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		zeros := rapid.IntRange(0, 5).Draw(t, "zeros")
		written := json.Number(fmt.Sprintf("%d%0*d.000e-%d", n, zeros+1, 0, zeros+1))
		if got := order(json.Number(fmt.Sprint(n)), written); got != 0 {
			t.Fatalf("%d and %s: got order %d, want 0", n, written, got)
		}
	})
}

// order compares through the matchers, which are the only way in.
func order(a, b json.Number) int {
	gte := match.Partial(map[string]any{"$gte": b}, a) == nil
	lte := match.Partial(map[string]any{"$lte": b}, a) == nil
	switch {
	case gte && lte:
		if match.Partial(a, b) != nil {
			return -2
		}
		return 0
	case gte:
		return 1
	default:
		return -1
	}
}

func fraction(t *rapid.T, n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		t.Fatalf("%s is no number", n)
	}
	return r
}
