package score

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// Fill gives the placeholders in the strings of a check their values, also in
// the parts of a group. Two things stay as they are: the step of a verify check,
// which is filled when it is carried out like any other step, and the
// trajectories of a baseline, which nobody wrote.
func Fill(c eval.Check, lookup vars.Lookup) (eval.Check, error) {
	f := filler{lookup: lookup}
	c = f.check(c)
	if f.err != nil {
		return c, fmt.Errorf("fill the placeholders of check %q: %w", c.ID, f.err)
	}
	return c, nil
}

// A filler fills field after field and keeps the first error. It changes nothing
// that others hold: pointers and lists are copied.
type filler struct {
	lookup vars.Lookup
	err    error
}

func (f *filler) check(c eval.Check) eval.Check {
	c.Any, c.All = f.checks(c.Any), f.checks(c.All)
	f.texts(&c.Title)
	if p := copied(&c.Text); p != nil {
		f.pointer(&p.Equals)
		f.pointer(&p.Contains)
		f.texts(&p.Regex)
	}
	if p := copied(&c.JSON); p != nil {
		f.texts(&p.Tool, &p.Path)
		f.values(&p.Match, &p.Schema)
	}
	if p := copied(&c.Called); p != nil {
		f.pattern(&p.CallPattern)
	}
	if p := copied(&c.NotCalled); p != nil {
		f.pattern(p)
	}
	if p := copied(&c.Rejected); p != nil {
		f.texts(&p.Tool, &p.Contains)
	}
	if p := copied(&c.Trajectory); p != nil {
		f.trajectory(p)
	}
	if p := copied(&c.NoRepeats); p != nil {
		f.texts(&p.Tool)
	}
	if p := copied(&c.NoSecrets); p != nil {
		p.Allow = f.list(p.Allow)
	}
	if p := copied(&c.Verify); p != nil {
		f.texts(&p.Server)
		p.Command, p.Env = f.list(p.Command), f.table(p.Env)
	}
	if p := copied(&c.Scorer); p != nil {
		p.Command, p.Env = f.list(p.Command), f.table(p.Env)
	}
	if p := copied(&c.Judge); p != nil {
		f.texts(&p.Rubric, &p.Reference)
	}
	return c
}

func (f *filler) checks(cs []eval.Check) []eval.Check {
	cs = slices.Clone(cs)
	for i := range cs {
		cs[i] = f.check(cs[i])
	}
	return cs
}

func (f *filler) trajectory(c *eval.TrajectoryCheck) {
	c.Calls = slices.Clone(c.Calls)
	for i := range c.Calls {
		f.pattern(&c.Calls[i])
	}
	c.Compare = maps.Clone(c.Compare)
	for name, how := range c.Compare {
		f.texts(&how.Regex)
		c.Compare[name] = how
	}
}

func (f *filler) pattern(p *eval.CallPattern) {
	f.texts(&p.Tool)
	f.values(&p.Arguments)
}

func (f *filler) texts(places ...*string) {
	for _, place := range places {
		filled, err := vars.FillString(*place, f.lookup)
		f.keep(err)
		*place = filled
	}
}

func (f *filler) values(places ...*eval.JSON) {
	for _, place := range places {
		filled, err := vars.Fill(*place, f.lookup)
		f.keep(err)
		*place = filled
	}
}

func (f *filler) pointer(place **string) {
	if p := copied(place); p != nil {
		f.texts(p)
	}
}

func (f *filler) list(texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		f.texts(&texts[i])
	}
	return texts
}

func (f *filler) table(texts map[string]string) map[string]string {
	texts = maps.Clone(texts)
	for name, text := range texts {
		f.texts(&text)
		texts[name] = text
	}
	return texts
}

func (f *filler) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

// copied puts a copy in place of what a pointer points to.
func copied[T any](place **T) *T {
	if *place == nil {
		return nil
	}
	c := **place
	*place = &c
	return &c
}
