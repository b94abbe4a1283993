package score

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

// called counts the calls that match a pattern.
func (x *exam) called(c eval.CallCheck) decision {
	ofTool := of(x.made(), c.Tool)
	matching, nearest, err := sift(ofTool, c.Arguments)
	if err != nil {
		return lost("%v", err)
	}
	least, most := c.Bounds()
	n := len(matching)
	d := decision{
		value: yes(n >= least && (most < 0 || n <= most)),
		want:  howMany(least, most) + " of " + pattern(c.CallPattern), got: fmt.Sprint(n), unwanted: eval.ReasonUnwantedCall,
		expected: shown(c.Tool, c.Arguments),
	}
	switch {
	case n > 0 && most >= 0 && n > most:
		d.reason, d.at = eval.ReasonUnwantedCall, matching[most].at
		d.got = fmt.Sprintf("%d, the first too many at %s", n, d.at)
	case n > 0 && (n >= least || len(ofTool) == n):
		d.reason, d.at = eval.ReasonNotSelected, matching[0].at
		d.got = fmt.Sprintf("%d, the first at %s", n, d.at)
	case len(ofTool) > n:
		d.reason, d.at = eval.ReasonWrongArguments, nearest.call.at
		d.got = fmt.Sprintf("%d with these arguments; the nearest, at %s: %s", n, d.at, list(nearest.differences))
		d.actual = shown(nearest.call.Tool, nearest.call.Arguments)
	default:
		d.reason, d.got = x.missing(c.Tool)
	}
	return d
}

// howMany says how many calls are wanted; most is negative for no bound.
func howMany(least, most int) string {
	switch {
	case most < 0 && least == 1:
		return "a call"
	case most < 0:
		return "at least " + plural(least, "call")
	case least == most:
		return "exactly " + plural(most, "call")
	case least == 0:
		return "at most " + plural(most, "call")
	default:
		return fmt.Sprintf("%d to %s", least, plural(most, "call"))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// notCalled wants no call that matches a pattern. A call that reached no server
// does no harm.
func (x *exam) notCalled(p eval.CallPattern) decision {
	matching, _, err := sift(of(x.made(), p.Tool), p.Arguments)
	if err != nil {
		return lost("%v", err)
	}
	d := decision{
		value: 1, want: "no call of " + pattern(p), got: "none", reason: eval.ReasonUnwantedCall, unwanted: eval.ReasonNotSelected,
		expected: map[string]any{"$not": shown(p.Tool, p.Arguments)},
	}
	if len(matching) > 0 {
		first := matching[0]
		d.value, d.at, d.actual = 0, first.at, shown(first.Tool, first.Arguments)
		d.got = fmt.Sprintf("%d, the first at %s: %s", len(matching), first.at, answer.Line(first.Tool+" "+string(first.Arguments), maxDifference))
	}
	return d
}

// A near call has the right tool and other arguments.
type near struct {
	call        call
	differences []match.Difference
}

// sift finds the calls whose arguments match, and of the others the first of
// those with the fewest differences.
func sift(calls []call, arguments eval.JSON) ([]call, near, error) {
	if len(arguments) == 0 {
		return calls, near{}, nil
	}
	expected, err := eval.Decode(arguments)
	if err != nil {
		return nil, near{}, fmt.Errorf("read the expected arguments: %w", err)
	}
	var matching []call
	var nearest near
	for _, c := range calls {
		var given any = map[string]any{}
		if len(c.Arguments) > 0 {
			given = decoded(c.Arguments)
		}
		differences := match.Partial(expected, given)
		switch {
		case len(differences) == 0:
			matching = append(matching, c)
		case nearest.differences == nil || len(differences) < len(nearest.differences):
			nearest = near{c, differences}
		}
	}
	return matching, nearest, nil
}
