package score

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
	"github.com/evalfarm/evalfarm/pkg/schema"
)

// json looks at a value in the answer, or in a tool's latest result.
func (x *exam) json(c eval.JSONCheck) decision {
	value, d := x.jsonOf(c.Tool)
	if d.want != "" {
		return d
	}
	source := "the answer"
	d.reason, d.unwanted = eval.ReasonWrongAnswer, eval.ReasonWrongAnswer
	if c.Tool != "" {
		source = "the result of " + answer.Line(c.Tool, maxDifference)
		d.reason, d.unwanted = eval.ReasonMismatch, eval.ReasonUnexpectedMatch
	}
	if c.Path != "" {
		found, ok, err := match.Get(value, c.Path)
		if err != nil {
			return lost("%v", err)
		}
		if !ok {
			d.want, d.got = fmt.Sprintf("a value at %s in %s", answer.Line(c.Path, maxDifference), source), "nothing there"
			d.expected, d.actual = map[string]any{c.Path: map[string]any{"$any": true}}, value
			return d
		}
		value = found
		source = answer.Line(c.Path, maxDifference) + " in " + source
	}
	return x.jsonValue(c, value, source, d)
}

// jsonValue compares a value with all that is wanted of it.
func (x *exam) jsonValue(c eval.JSONCheck, value any, source string, d decision) decision {
	d.value, d.actual = 1, value
	d.want, d.got = "a value at "+source, match.Show(value)
	if len(c.Match) > 0 {
		expected, err := eval.Decode(c.Match)
		if err != nil {
			return lost("read what is expected: %v", err)
		}
		d.want, d.expected = source+" to match "+match.Show(expected), expected
		if differences := match.Partial(expected, value); len(differences) > 0 {
			d.value, d.got = 0, list(differences)
			return d
		}
	}
	if len(c.Schema) > 0 {
		compile := x.options.Schemas
		if compile == nil {
			compile = func(raw eval.JSON) (*schema.Schema, error) { return schema.Compile(raw) }
		}
		compiled, err := compile(c.Schema)
		if err != nil {
			return lost("%v", err)
		}
		d.want = source + " to satisfy its schema"
		if err := compiled.Validate(eval.Encode(value)); err != nil {
			d.value, d.expected, d.got = 0, decoded(c.Schema), err.Error()
			return d
		}
	}
	if c.Count != nil {
		items, isArray := value.([]any)
		d.want, d.expected, d.got = fmt.Sprintf("%d items in %s", *c.Count, source), *c.Count, fmt.Sprint(len(items))
		if !isArray {
			d.got = match.Show(value)
		}
		d.value = yes(isArray && len(items) == *c.Count)
	}
	return d
}

// jsonOf is the value that a check looks at. A decision with words says why there
// is none.
func (x *exam) jsonOf(tool string) (any, decision) {
	if tool == "" {
		d := decision{at: fmt.Sprintf("turn %d", len(x.Trajectory.Turns))}
		value, ok := jsonIn(x.Trajectory.Answer)
		if !ok {
			d.want, d.got = "JSON as the answer", answer.Quote(x.Trajectory.Answer)
			d.reason, d.unwanted = x.textReasons(eval.PlaceAnswer)
			d.actual = x.Trajectory.Answer
		}
		return value, d
	}
	calls := of(x.made(), tool)
	d := decision{want: "a result of " + answer.Line(tool, maxDifference), unwanted: eval.ReasonUnexpectedMatch}
	if len(calls) == 0 {
		d.reason, d.got = x.missing(tool)
		return nil, d
	}
	last := calls[len(calls)-1]
	a := answer.Read(last.Outcome)
	d.at = last.at
	switch {
	case a.Rejected():
		d.reason, d.got, d.actual = eval.ReasonUnexpectedError, "the rejection "+answer.Quote(a.Complaint()), a.Complaint()
	case a.Outcome.Kind != eval.OutcomeOK, a.Unreadable != nil:
		d.reason, d.got = eval.ReasonMismatch, "no answer that can be read"
	default:
		return a.Value, decision{at: last.at}
	}
	return nil, d
}

// jsonIn is a text as JSON, or the JSON in its only fenced block.
func jsonIn(text string) (any, bool) {
	if v, err := eval.Decode([]byte(text)); err == nil {
		return v, true
	}
	var blocks []string
	inside := false
	for line := range strings.Lines(text) {
		switch fence := strings.HasPrefix(strings.TrimSpace(line), "```"); {
		case fence && !inside:
			blocks = append(blocks, "")
			inside = true
		case fence:
			inside = false
		case inside:
			blocks[len(blocks)-1] += line
		}
	}
	if len(blocks) != 1 {
		return nil, false
	}
	v, err := eval.Decode([]byte(blocks[0]))
	return v, err == nil
}

// maxListed differences of one value are told in a message.
const maxListed = 5

func list(differences []match.Difference) string {
	var lines []string
	for i, d := range differences {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("and %d more", len(differences)-i))
			break
		}
		lines = append(lines, d.Message)
	}
	return strings.Join(lines, "; ")
}
