package score

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A decision is what a check came to, before the check's threshold and its not
// are applied.
type decision struct {
	// value from 0 to 1, and the threshold with which it passes unless the check
	// has one of its own; zero means 1. A scorer may say pass itself.
	value, threshold float64
	pass             *bool
	// want and got are the words of the message. Want begins with an article, if
	// it can, so that it can become "no …".
	want, got string
	// reason of a fail, unwanted of a pass where the check wants none.
	reason, unwanted eval.Reason
	// remark is the message of a pass.
	remark string
	// expected and actual show the difference; nil where there is none to show.
	expected, actual any
	at               string
	differences      []string
	// undecided is why there is no value: nobody has judged, or the farm failed.
	undecided eval.Reason
	// target and latencyMS of a step.
	target    string
	latencyMS float64
}

// undecided is a check without a value. The message is in got.
func undecided(reason eval.Reason, message string) decision {
	return decision{undecided: reason, got: message}
}

// lost is a check that the farm could not decide.
func lost(format string, args ...any) decision {
	return undecided(eval.ReasonScorerFailed, fmt.Sprintf(format, args...))
}

// yes is 1 for true.
func yes(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// Bounds of what a score says of hostile text: a result travels through the
// queue.
const (
	maxMessage     = 1 << 10 // bytes
	maxDifference  = 400     // bytes of each
	maxDifferences = 50
)

// score applies the check's own threshold and its not. All text leaves through
// here.
func (d decision) score(c eval.Check) eval.Score {
	s := newScore(c)
	s.At, s.Target, s.LatencyMS = d.at, d.target, d.latencyMS
	for i, line := range d.differences {
		if i == maxDifferences {
			s.Differences = append(s.Differences, fmt.Sprintf("and %d more", len(d.differences)-i))
			break
		}
		s.Differences = append(s.Differences, answer.Line(line, maxDifference))
	}
	if d.undecided != "" {
		s.Reason, s.Message = d.undecided, answer.Line(d.got, maxMessage)
		s.Pending = !d.undecided.Infra() && d.undecided != eval.ReasonCancelled
		return s
	}
	s.Value, s.Pass = d.value, d.passes(c)
	want, reason, expected := d.want, d.reason, d.expected
	if c.Not {
		s.Value, s.Pass = 1-s.Value, !s.Pass
		want, reason = negate(want), d.unwanted
		if expected != nil {
			expected = map[string]any{"$not": expected}
		}
	}
	if s.Pass {
		s.Message = answer.Line(d.remark, maxMessage)
		return s
	}
	s.Reason, s.Message = reason, answer.Line(fmt.Sprintf("want %s, got %s", want, d.got), maxMessage)
	s.Expected, s.Actual = show(expected), show(d.actual)
	return s
}

// newScore is a score of a check that says nothing yet.
func newScore(c eval.Check) eval.Score {
	return eval.Score{Check: c.ID, Title: c.Title, Weight: c.Weight, Warning: c.Weight != nil && *c.Weight == 0}
}

func (d decision) passes(c eval.Check) bool {
	threshold := d.threshold
	switch {
	case c.Threshold != nil:
		threshold = *c.Threshold
	case d.pass != nil:
		return *d.pass
	case threshold == 0:
		threshold = 1
	}
	return d.value+rounding >= threshold
}

// rounding is what a mean of shares may miss its threshold by.
const rounding = 1e-9

// negate turns what is wanted around.
func negate(want string) string {
	for _, article := range []string{"a ", "an "} {
		if rest, ok := strings.CutPrefix(want, article); ok {
			return "no " + rest
		}
	}
	if rest, ok := strings.CutPrefix(want, "no "); ok {
		return "a " + rest
	}
	return "anything but " + want
}

// show is a value as a score keeps it.
func show(v any) eval.JSON {
	if v == nil {
		return nil
	}
	return answer.Cut(eval.Encode(v))
}

// decoded is a raw value as a tree; what is no JSON is its text.
func decoded(raw eval.JSON) any {
	v, err := eval.Decode(raw)
	if err != nil {
		return string(raw)
	}
	return v
}
