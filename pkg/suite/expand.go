package suite

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// A Selection narrows what a run carries out. Its zero value selects all.
type Selection struct {
	// Cases are globs of path.Match over case ids; a case is selected by any.
	// "a/*" also selects "a/b/c".
	Cases []string
	// Tags select cases that have any of them.
	Tags []string
	// Axes narrows an axis to values: name to values. Cells that do not use the
	// axis stay.
	Axes map[string][]string
	// Repeats for every selected case, whatever its kind. Zero leaves it to the
	// suite.
	Repeats int
}

// A Matrix is what a suite expands to: its cells over its cases and variants.
type Matrix struct {
	Variants []eval.Variant
	Cells    []eval.Cell
	// Excluded is how many cells exclude has removed.
	Excluded int
}

// Trials is the number of trials in all cells.
func (m Matrix) Trials() int { return eval.Plan{Cells: m.Cells}.Trials() }

// FewRepeats says what may not be claimed of a run of the matrix, when the suite
// asks for more repeats than some cell has. It is empty when all is well.
func (m Matrix) FewRepeats(s *eval.Suite) string {
	fewest := s.MinRepeats
	for _, c := range m.Cells {
		if c.Sequential {
			c.Repeats = s.Repeats.Min
		}
		fewest = min(fewest, c.Repeats)
	}
	if fewest == s.MinRepeats {
		return ""
	}
	return fmt.Sprintf("%s of %d that the suite asks for: nothing may be claimed about the choice of tools", count(fewest, "repeat"), s.MinRepeats)
}

// Expand multiplies each case by the axes that it uses. An agent case uses
// loading, and model if it names none itself; a case uses server if it names
// none itself, protocol and profile always, and any other axis if it refers to
// one of its vars or to axis.NAME, if the axis sets headers or env for a server
// that the case talks to, or agent settings for an agent case. Cells come in the order of cases, then of axes and points.
func Expand(s *eval.Suite, sel Selection) (Matrix, error) {
	var m Matrix
	index := map[string]int{}
	for i, c := range s.Cases {
		if !sel.includes(c) {
			continue
		}
		used := uses(c, s)
		if n := combinations(s.Axes, used); n > MaxTrials {
			return Matrix{}, fmt.Errorf("case %s expands to %d variants or more, and a suite may have %d trials", c.ID, n, MaxTrials)
		}
		for _, axes := range product(s.Axes, used) {
			if !sel.covers(axes) {
				continue
			}
			if excluded(s.Exclude, c, axes) {
				m.Excluded++
				continue
			}
			v := eval.NewVariant(axes)
			at, ok := index[v.ID]
			if !ok {
				at = len(m.Variants)
				index[v.ID] = at
				m.Variants = append(m.Variants, v)
			}
			required, err := requires(s, c, v)
			if err != nil {
				return Matrix{}, err
			}
			cell := eval.Cell{Case: i, Variant: at, Repeats: sel.repeats(c, s), Requires: required}
			if sel.sequential(c, s) {
				cell.Repeats, cell.Sequential = s.Repeats.Max, true
			}
			m.Cells = append(m.Cells, cell)
		}
	}
	if n := m.Trials(); n > MaxTrials {
		return Matrix{}, fmt.Errorf("the suite expands to %d trials, more than %d", n, MaxTrials)
	}
	return m, nil
}

// MaxTrials bounds the expansion of one suite, so that a slip in a matrix is an
// error and not a day of work.
const MaxTrials = 5_000_000

func (sel Selection) includes(c eval.Case) bool {
	if len(sel.Tags) > 0 && !slices.ContainsFunc(c.Tags, func(t string) bool { return slices.Contains(sel.Tags, t) }) {
		return false
	}
	return len(sel.Cases) == 0 || slices.ContainsFunc(sel.Cases, func(glob string) bool { return matchID(glob, c.ID) })
}

// matchID matches a glob against an id or any of its leading parts, so that
// "order/*" selects "order/rejects/1".
func matchID(glob, id string) bool {
	for p := id; p != "." && p != "/"; p = path.Dir(p) {
		if ok, err := path.Match(glob, p); ok && err == nil {
			return true
		}
	}
	return false
}

func (sel Selection) covers(axes map[string]string) bool {
	for name, values := range sel.Axes {
		if v, used := axes[name]; used && !slices.Contains(values, v) {
			return false
		}
	}
	return true
}

func (sel Selection) repeats(c eval.Case, s *eval.Suite) int {
	if sel.Repeats > 0 {
		return sel.Repeats
	}
	if n := s.CaseRepeats[c.ID]; n > 0 {
		return n
	}
	if c.Kind == eval.KindAgent {
		return cmp.Or(s.Repeats.N, s.Repeats.Min, 1)
	}
	return 1
}

// uses lists the axes of the suite that a case uses, in the suite's order.
func uses(c eval.Case, s *eval.Suite) []string {
	// Vars and titles are no templates: {{ in them is data.
	templates := eval.Case{Steps: c.Steps, Prompt: c.Prompt, Checks: c.Checks, Agent: eval.Agent{System: c.Agent.System, Descriptions: c.Agent.Descriptions}}
	if c.User != nil {
		templates.User = &eval.User{Turns: c.User.Turns, Persona: c.User.Persona, Goal: c.User.Goal}
	}
	names, _ := vars.Names(eval.Encode(templates)) // the loader has reported malformed ones
	if c.Kind == eval.KindAgent {
		names = append(names, namesOfPoints(s)...)
	}
	refers := map[string]bool{}
	for _, step := range c.Steps {
		if step.Collect != nil {
			refers[step.Collect.SameAs] = true
		}
	}
	for _, n := range names {
		refers[n] = true
	}
	var used []string
	for _, axis := range s.Axes {
		if usesAxis(c, s, axis, refers) {
			used = append(used, axis.Name)
		}
	}
	return used
}

// namesOfPoints are the placeholders of the system prompts and descriptions that
// axes set, which every agent case may get.
func namesOfPoints(s *eval.Suite) []string {
	var names []string
	for _, axis := range s.Axes {
		for _, p := range axis.Points {
			texts := eval.Agent{System: p.Agent.System, Descriptions: p.Agent.Descriptions}
			found, _ := vars.Names(eval.Encode(texts))
			names = append(names, found...)
		}
	}
	return names
}

func usesAxis(c eval.Case, s *eval.Suite, axis eval.Axis, refers map[string]bool) bool {
	switch axis.Name {
	case eval.AxisModel:
		return c.Kind == eval.KindAgent && c.Model == ""
	case eval.AxisLoading:
		return c.Kind == eval.KindAgent
	case eval.AxisServer:
		return c.Server == "" && len(c.Servers) == 0
	case eval.AxisProtocol, eval.AxisProfile:
		return true
	}
	if refers["axis."+axis.Name] {
		return true
	}
	command, url := talksTo(c, s)
	for _, p := range axis.Points {
		if len(p.Env) > 0 && command || len(p.Headers) > 0 && url {
			return true
		}
		if c.Kind == eval.KindAgent && !reflect.ValueOf(p.Agent).IsZero() {
			return true
		}
		for name := range p.Vars {
			if _, own := c.Vars[name]; !own && refers[name] {
				return true
			}
		}
	}
	return false
}

// talksTo says whether the case may talk to a command server and to a URL.
func talksTo(c eval.Case, s *eval.Suite) (command, url bool) {
	names := []string{c.Server}
	switch {
	case len(c.Servers) > 0:
		names = c.Servers
	case c.Server == "":
		names = slices.Collect(maps.Keys(s.Servers))
	}
	for _, n := range names {
		server := s.Servers[n]
		command = command || server.URL == ""
		url = url || server.URL != ""
	}
	return command, url
}

// combinations is how many variants the product of the used axes has; it stops
// counting above MaxTrials.
func combinations(axes []eval.Axis, used []string) int {
	n := 1
	for _, axis := range axes {
		if slices.Contains(used, axis.Name) && n <= MaxTrials {
			n *= max(1, len(axis.Points))
		}
	}
	return n
}

// product multiplies the points of the used axes; the first axis varies
// slowest.
func product(axes []eval.Axis, used []string) []map[string]string {
	all := []map[string]string{{}}
	for _, axis := range axes {
		if !slices.Contains(used, axis.Name) {
			continue
		}
		var next []map[string]string
		for _, chosen := range all {
			for _, p := range axis.Points {
				more := maps.Clone(chosen)
				more[axis.Name] = p.Value
				next = append(next, more)
			}
		}
		all = next
	}
	return all
}

func excluded(exclude []eval.Exclusion, c eval.Case, axes map[string]string) bool {
	return slices.ContainsFunc(exclude, func(e eval.Exclusion) bool {
		if e.Tag != "" && !slices.Contains(c.Tags, e.Tag) {
			return false
		}
		for name, value := range e.Axes {
			if axes[name] != value {
				return false
			}
		}
		return true
	})
}
