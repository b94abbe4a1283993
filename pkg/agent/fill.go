package agent

import (
	"errors"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// fill gives the placeholders of a step their values.
func (r *run) fill(s eval.Step) (eval.Step, *failure) {
	f := filler{lookup: r.find, extracted: r.extracted}
	f.text(&s.Call)
	f.text(&s.Read)
	f.json(&s.Arguments)
	f.expectation(&s.Expect)
	f.expectation(&s.ExpectNot)
	f.expectation(&s.ExpectText)
	if s.ExpectError != nil {
		want := *s.ExpectError
		f.text(&want.Contains)
		s.ExpectError = &want
	}
	if s.RepeatUntil != nil {
		until := *s.RepeatUntil
		if len(until.Equals) == 0 {
			f.fail(errors.New("repeat_until has no equals"))
		}
		f.expectation(&until.Equals)
		s.RepeatUntil = &until
	}
	if s.Collect != nil && s.Collect.SameAs != "" {
		if _, ok := r.find(s.Collect.SameAs); !ok {
			f.fail(&vars.MissingError{Name: s.Collect.SameAs})
		}
	}
	if f.err != nil {
		return s, r.unfilled(f.err)
	}
	if len(s.Arguments) > 0 && s.Arguments[0] != '{' {
		return s, failf(eval.ReasonMismatch, "not called: want an object of arguments, got %.80s", s.Arguments)
	}
	return s, nil
}

// unfilled explains why a step has an empty place.
func (r *run) unfilled(err error) *failure {
	if _, ok := errors.AsType[*matcherError](err); ok {
		return failf(eval.ReasonMismatch, "not called: %v", err)
	}
	missing, ok := errors.AsType[*vars.MissingError](err)
	if !ok {
		return failf(eval.ReasonFarm, "fill the placeholders: %v", err)
	}
	if producer := r.producer(missing.Name); producer != "" {
		return failf(eval.ReasonVariableMissing, "not called: {{%s}} has no value; step %s should have extracted it", missing.Name, producer)
	}
	return failf(eval.ReasonVariableMissing, "not called: {{%s}} has no value, and no step extracts it", missing.Name)
}

// find looks a variable up: what was extracted comes first.
func (r *run) find(name string) (eval.JSON, bool) {
	if value, ok := r.extracted[name]; ok {
		return value, true
	}
	if r.lookup == nil {
		return nil, false
	}
	return r.lookup(name)
}

// A filler fills field after field and keeps the first error.
type filler struct {
	lookup    vars.Lookup
	extracted map[string]eval.JSON
	err       error
}

func (f *filler) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *filler) text(s *string) {
	filled, err := vars.FillString(*s, f.lookup)
	if err != nil {
		f.fail(err)
		return
	}
	*s = filled
}

func (f *filler) json(raw *eval.JSON) {
	filled, err := vars.Fill(*raw, f.lookup)
	if err != nil {
		f.fail(err)
		return
	}
	*raw = filled
}

// expectation fills what answers are compared with. Only the suite may say
// {"$any": true} there: from a server's mouth it would pass every check.
func (f *filler) expectation(raw *eval.JSON) {
	guarded := filler{lookup: func(name string) (eval.JSON, bool) {
		if v, err := eval.Decode(f.extracted[name]); err == nil && holdsMatcher(v) {
			f.fail(&matcherError{name})
		}
		return f.lookup(name)
	}}
	guarded.json(raw)
	if guarded.err != nil {
		f.fail(guarded.err)
	}
}

// A matcherError is an extracted value that would act as a matcher.
type matcherError struct{ name string }

func (e *matcherError) Error() string {
	return "the value of {{" + e.name + "}} has a key that begins with $, which an expectation would take for a matcher"
}

func holdsMatcher(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, holdsMatcher)
	case map[string]any:
		for key, member := range v {
			if strings.HasPrefix(key, "$") || holdsMatcher(member) {
				return true
			}
		}
	}
	return false
}
