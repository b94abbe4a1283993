package score

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// text looks for a text at a place. Of several texts one is enough.
func (x *exam) text(c eval.TextCheck) decision {
	if c.Sentence {
		return undecided(eval.ReasonNoJudge, "a criterion in words: only a judge can decide it")
	}
	m, err := newMatcher(c)
	if err != nil {
		return lost("%v", err)
	}
	place := cmp.Or(c.In, eval.PlaceAnswer)
	d := decision{want: noun(place) + " that " + m.words, expected: m.expected}
	d.reason, d.unwanted = x.textReasons(place)
	texts := x.texts(place, false)
	for _, t := range texts {
		if m.matches(t.text) {
			d.value, d.at, d.actual, d.got = 1, t.at, t.text, answer.Quote(t.text)
			return d
		}
	}
	switch {
	case len(texts) == 0:
		d.got = "none"
	case len(texts) == 1:
		d.at, d.actual, d.got = texts[0].at, texts[0].text, answer.Quote(texts[0].text)
	default:
		d.got = fmt.Sprintf("none among %d", len(texts))
	}
	return d
}

// textReasons are those of a text that is not there, and of one that should not
// be.
func (x *exam) textReasons(place eval.Place) (missing, unwanted eval.Reason) {
	switch {
	case x.gaveUp():
		return eval.ReasonGaveUp, eval.ReasonWrongAnswer
	case place == eval.PlaceCalls, place == eval.PlaceResults:
		return eval.ReasonMismatch, eval.ReasonUnexpectedMatch
	default:
		return eval.ReasonWrongAnswer, eval.ReasonWrongAnswer
	}
}

// A matcher is a text check, ready to use.
type matcher struct {
	matches func(text string) bool
	// words say what is wanted, expected shows it.
	words    string
	expected any
}

func newMatcher(c eval.TextCheck) (matcher, error) {
	fold := func(text string) string { return text }
	if c.IgnoreCase {
		fold = strings.ToLower
	}
	switch {
	case c.Equals != nil:
		wanted := fold(strings.TrimSpace(*c.Equals))
		return matcher{
			matches: func(text string) bool { return fold(strings.TrimSpace(text)) == wanted },
			words:   "equals " + answer.Quote(*c.Equals), expected: *c.Equals,
		}, nil
	case c.Contains != nil:
		wanted := fold(*c.Contains)
		return matcher{
			matches: func(text string) bool { return strings.Contains(fold(text), wanted) },
			words:   "contains " + answer.Quote(*c.Contains), expected: map[string]any{"$contains": *c.Contains},
		}, nil
	case c.Regex != "":
		expression := c.Regex
		if c.IgnoreCase {
			expression = "(?i)" + expression
		}
		re, err := regexp.Compile(expression)
		if err != nil {
			return matcher{}, fmt.Errorf("compile the regular expression: %w", err)
		}
		return matcher{matches: re.MatchString, words: "matches " + answer.Quote(c.Regex), expected: map[string]any{"$regex": c.Regex}}, nil
	default:
		return matcher{}, errors.New("the check names no text")
	}
}
