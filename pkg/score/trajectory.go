package score

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/similar"
)

// similarEnough is the threshold of the graded matches, where the suite sets
// none.
const similarEnough = 0.8

// trajectory compares the calls that were made with expected ones: a match of
// yes or no by its grade only if the check has a threshold.
func (x *exam) trajectory(c eval.TrajectoryCheck, graded bool) decision {
	expected, recorded := [][]eval.CallPattern{c.Calls}, c.Baseline != "" || len(c.Calls) == 0
	if recorded {
		if expected = c.Trajectories; len(expected) == 0 {
			return undecided(eval.ReasonNoBaseline, "no baseline has a passing trial of this case")
		}
	}
	how := cmp.Or(c.Match, eval.MatchAligned)
	made := x.made()
	var best decision
	closest := 0.0
	for i, calls := range expected {
		comparison, err := x.compare(calls, made, similar.Options{Overrides: c.Compare, Literal: recorded})
		if err != nil && !errors.Is(err, similar.ErrTooLong) && !errors.Is(err, similar.ErrTooMuch) {
			return lost("%v", err)
		}
		d := x.compared(how, graded, comparison, made)
		d.expected = patterns(calls)
		if err != nil {
			d.differences = append([]string{err.Error()}, d.differences...)
		}
		// Where none holds, the most similar one explains it best.
		grade := comparison.Value(eval.MatchAligned)
		if i == 0 || d.value > best.value || d.value == best.value && grade > closest {
			best, closest = d, grade
		}
	}
	return best
}

// compare calls the tools by the same names on both sides.
func (x *exam) compare(calls []eval.CallPattern, made []call, o similar.Options) (similar.Comparison, error) {
	o.Schemas = map[string]eval.JSON{}
	for _, t := range x.Trajectory.Tools {
		for _, name := range []string{qualified(t.Server, t.Tool), t.Tool} {
			if _, known := o.Schemas[name]; !known {
				o.Schemas[name] = t.Schema
			}
		}
	}
	expected := make([]similar.Call, len(calls))
	for i, p := range calls {
		expected[i] = similar.Call{Tool: p.Tool, Arguments: p.Arguments}
	}
	actual := make([]similar.Call, len(made))
	for i, m := range made {
		name := qualified(m.Server, m.Tool)
		if !slices.ContainsFunc(calls, func(p eval.CallPattern) bool { return p.Tool == name }) {
			name = m.Tool
		}
		actual[i] = similar.Call{Tool: name, Arguments: m.Arguments}
	}
	return similar.Compare(expected, actual, o)
}

// compared makes a decision of a comparison.
func (x *exam) compared(how eval.Match, graded bool, comparison similar.Comparison, made []call) decision {
	d := decision{value: comparison.Value(how), want: wanted(how), unwanted: eval.ReasonUnexpectedMatch, actual: shownCalls(made)}
	switch {
	case how == eval.MatchAligned || how == eval.MatchPositional:
		d.threshold = similarEnough
	case !graded:
		d.value = yes(comparison.Holds(how))
	}
	d.got = fmt.Sprintf("%.3g", d.value)
	if !graded && d.threshold == 0 {
		d.got = "them"
		if d.value == 0 {
			d.got = "others"
		}
	}
	for _, difference := range comparison.Differences {
		d.differences = append(d.differences, difference.String())
	}
	d.reason = eval.ReasonMismatch
	decisive := func(f similar.Difference) bool {
		return matters(how, f.Kind) && (graded || d.threshold > 0 || !f.Unasked)
	}
	if i := slices.IndexFunc(comparison.Differences, decisive); i >= 0 {
		first := comparison.Differences[i]
		d.reason = x.cause(first)
		d.got += "; " + first.String()
		if first.Got >= 0 && first.Got < len(made) {
			d.at = made[first.Got].at
		}
	} else if how == eval.MatchPositional && comparison.Exact {
		// Calls that fit, one by one, and are not alike to Python.
		d.reason = eval.ReasonWrongArguments
	}
	if x.gaveUp() {
		d.reason = eval.ReasonGaveUp
	}
	return d
}

// matters says whether a kind of difference keeps a match from holding.
func matters(how eval.Match, kind similar.Kind) bool {
	switch how {
	case eval.MatchSubset:
		return kind == similar.Extra || kind == similar.ArgumentMismatch
	case eval.MatchSuperset:
		return kind == similar.Missing || kind == similar.ArgumentMismatch
	case eval.MatchInOrder:
		return kind != similar.Extra
	case eval.MatchAnyOrder:
		return kind != similar.OutOfOrder
	default:
		return true
	}
}

// cause says what a difference is to an agent.
func (x *exam) cause(d similar.Difference) eval.Reason {
	switch d.Kind {
	case similar.Missing:
		reason, _ := x.missing(d.Tool)
		return reason
	case similar.ArgumentMismatch:
		return eval.ReasonWrongArguments
	case similar.OutOfOrder:
		return eval.ReasonWrongOrder
	default:
		return eval.ReasonUnwantedCall
	}
}

func wanted(how eval.Match) string {
	switch how {
	case eval.MatchExact:
		return "the expected calls and no others"
	case eval.MatchInOrder:
		return "the expected calls in their order"
	case eval.MatchAnyOrder:
		return "the expected calls in any order and no others"
	case eval.MatchSubset:
		return "no calls but the expected ones"
	case eval.MatchSuperset:
		return "all of the expected calls"
	default:
		return "a trajectory like the expected one"
	}
}

func patterns(expected []eval.CallPattern) []any {
	list := make([]any, len(expected))
	for i, p := range expected {
		list[i] = shown(p.Tool, p.Arguments)
	}
	return list
}

func shownCalls(made []call) []any {
	list := make([]any, len(made))
	for i, m := range made {
		list[i] = shown(m.Tool, m.Arguments)
	}
	return list
}
