package similar

import (
	"encoding/json"
	"math"
)

// positional is the score that mcp-eval gives two lists of calls, kept so that
// its thresholds keep their meaning: the mean, over the positions of the longer
// list, of how alike the calls at a position are. One call too many at the
// start ruins it; see Comparison.Ordered for a score that it does not.
//
// It compares as Python does: 1, 1.0 and true are equal, a number that was
// written with a fraction is of another type than one that was not, and objects
// and arrays are compared by how often their JSON text has each character. All
// calls count, whatever their names. Of what is ours, expectations that hold
// matchers are 1 or 0, and an expected call without arguments wants its tool
// alone; overrides go before all that, and schemas play no part.
func (c *comparer) positional(want, got []call, longer int) float64 {
	if longer == 0 {
		return 1
	}
	var sum float64
	for i := range min(len(want), len(got)) {
		sum += c.seedCall(&want[i], &got[i])
	}
	return sum / float64(longer)
}

// seedCall is 0.3 × the Jaccard index of the names of the arguments + 0.7 × how
// alike, on average, the arguments are that both have.
func (c *comparer) seedCall(want, got *call) float64 {
	switch {
	case want.tool != got.tool:
		return 0
	case want.anyArguments:
		return 1
	case want.arguments == nil || got.arguments == nil:
		return one(sameValue(want, got))
	}
	var sum float64
	var all, both int
	equal := true
	for name := range union(want.names, got.names) {
		x, wanted := want.arguments[name]
		y, given := got.arguments[name]
		over := c.override(want.tool, name)
		if over.ignores() {
			continue
		}
		all++
		switch {
		case over.looksAtActual(), want.matchers[name], over != nil && wanted && given:
			// It counts as an argument of both, or an absence that is wanted
			// would cost something.
			both++
			value, _ := c.argument(want, got, name)
			sum += value
			equal = equal && value == 1
		case wanted && given:
			both++
			same := pythonEqual(x, y)
			equal = equal && same
			if same {
				sum++
			} else {
				sum += seedValue(x, y)
			}
		default:
			equal = false
		}
	}
	if equal {
		return 1
	}
	if both == 0 {
		return 0
	}
	return 0.3*float64(both)/float64(all) + 0.7*sum/float64(both)
}

// seedValue says how alike two values are that are not equal.
func seedValue(x, y any) float64 {
	switch a := x.(type) {
	case nil:
		return 0
	case string:
		if b, ok := y.(string); ok {
			return seedText(a, b)
		}
	case bool:
		if _, ok := y.(bool); ok {
			return seedNumber(0, 1) // unequal booleans
		}
	case json.Number:
		if b, ok := y.(json.Number); ok && isInteger(a) == isInteger(b) {
			return seedNumber(float(a), float(b))
		}
	case []any:
		if _, ok := y.([]any); ok {
			return cosine(pythonJSON(x), pythonJSON(y))
		}
	case map[string]any:
		if _, ok := y.(map[string]any); ok {
			return cosine(pythonJSON(x), pythonJSON(y))
		}
	}
	if y == nil {
		return 0
	}
	return seedText(pythonText(x), pythonText(y))
}

// seedText is the Jaccard index of the words of two texts, in lower case.
func seedText(a, b string) float64 {
	x, y := pythonWords(a), pythonWords(b)
	var common int
	for word := range x {
		if y[word] {
			common++
		}
	}
	if len(x)+len(y) == 0 {
		return 1
	}
	return float64(common) / float64(len(x)+len(y)-common)
}

func seedNumber(a, b float64) float64 {
	value := max(0, 1-math.Abs(a-b)/1000)
	if math.IsNaN(value) { // two infinities
		return 0
	}
	return value
}

// cosine of how often two texts have each character, at most 1.
func cosine(a, b string) float64 {
	x, y := counts(a), counts(b)
	var dot, xx, yy float64
	for r, n := range x {
		dot += n * y[r]
		xx += n * n
	}
	for _, n := range y {
		yy += n * n
	}
	return min(1, dot/(math.Sqrt(xx)*math.Sqrt(yy)))
}

func counts(text string) map[rune]float64 {
	n := map[rune]float64{}
	for _, r := range text {
		n[r]++
	}
	return n
}
