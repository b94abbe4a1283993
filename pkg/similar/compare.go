package similar

import (
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Call is one tool call, made or expected.
type Call struct {
	// Tool is compared byte for byte: whoever knows several names for a tool
	// makes them one before.
	Tool string
	// Arguments is a JSON object. Empty or null means no arguments in a call that
	// was made, and any arguments in one that is expected. What is no object is
	// like nothing but itself.
	Arguments eval.JSON
}

// Options say how arguments are compared. The zero value compares them by what
// they are.
type Options struct {
	// Schemas are the raw inputSchemas of tools, by name. They say which numbers
	// may be close and which are exact; one that is no schema says nothing.
	Schemas map[string]eval.JSON
	// Overrides go before the schema and before the values, by "argument" or
	// "tool.argument"; the longer name wins. An expected value that holds matchers
	// is left to them, but for ignore and regex. A regex looks at any value that
	// is given, expected or not. Sets have grades, the others are 1 or 0.
	Overrides map[string]eval.Comparison
	// Literal is for expected calls that were recorded and not written: nothing
	// in them is a matcher, and they fit only calls with the same arguments.
	Literal bool
}

// MaxCalls is how many calls of each list are compared.
const MaxCalls = 2000

var (
	// ErrTooLong says that a list has more than MaxCalls calls.
	ErrTooLong = errors.New("too many calls to compare")
	// ErrTooMuch says that the calls' arguments are too large to compare.
	ErrTooMuch = errors.New("too much to compare")
)

// A Measure is how much two lists have in common, from 0 to 1 each. A share of
// nothing is NaN.
type Measure struct {
	// Recall is the share of the expected calls that was covered, Precision the
	// share of the calls made that was expected.
	Recall, Precision float64
	// F1 is 2S/(n+m): the harmonic mean of the two, and 0 when one list is empty
	// and the other is not.
	F1 float64
}

// A Comparison is all that can be said of two lists of calls. Two empty lists
// are the same in every way.
type Comparison struct {
	// Ordered is of the best alignment that keeps the order of both lists,
	// Unordered of the best assignment in any order.
	Ordered, Unordered Measure
	// Positional compares call by call at the same position.
	Positional float64
	// Exact: the same calls in the same order. InOrder: the expected calls in
	// their order, others between them. AnyOrder: the same calls in any order.
	// Subset: no call that is not expected. Superset: every expected call.
	Exact, InOrder, AnyOrder, Subset, Superset bool
	// Differences in the order of the calls made; a missing call stands where it
	// was expected. None when nothing differs in any way of comparing.
	Differences []Difference
}

// Compare compares the calls that were made with the expected ones.
//
// Of lists longer than [MaxCalls] only the first calls are compared; the others
// count as different, no difference names them, and the error wraps
// [ErrTooLong]. When the arguments are so large that comparing them would take
// too long, pairs that were not reached count as different and the error wraps
// [ErrTooMuch]. Both leave a comparison that says no more than is true. An
// override that cannot be used is an error without a comparison.
func Compare(expected, actual []Call, o Options) (Comparison, error) {
	c, err := newComparer(o)
	if err != nil {
		return Comparison{}, err
	}
	return c.compare(expected, actual)
}

func (c *comparer) compare(expected, actual []Call) (Comparison, error) {
	n, m := len(expected), len(actual)
	want := prepare(expected[:min(n, MaxCalls)], !c.literal)
	got := prepare(actual[:min(m, MaxCalls)], false)
	t := c.table(want, got)

	ordered, pairs := align(t)
	unordered, _ := c.assign(t, indices(want), indices(got))
	result := Comparison{
		Ordered:     measure(ordered, n, m),
		Unordered:   measure(unordered, n, m),
		Positional:  c.positional(want, got, max(n, m)),
		Differences: c.differences(t, pairs),
	}
	result.modes(t, n, m)
	var err error
	if n > MaxCalls || m > MaxCalls {
		err = fmt.Errorf("%w: %d expected and %d made, of which %d are compared", ErrTooLong, n, m, MaxCalls)
	}
	if c.work < 0 {
		err = errors.Join(err, fmt.Errorf("%w: calls with arguments of many values", ErrTooMuch))
	}
	return result, err
}

// measure makes shares of what n expected and m made calls have in common.
func measure(common float64, n, m int) Measure {
	if n == 0 && m == 0 {
		return Measure{Recall: 1, Precision: 1, F1: 1}
	}
	return Measure{
		Recall:    common / float64(n),
		Precision: common / float64(m),
		F1:        2 * common / float64(n+m),
	}
}

func indices(calls []call) []int {
	all := make([]int, len(calls))
	for i := range all {
		all[i] = i
	}
	return all
}
