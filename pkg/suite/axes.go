package suite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// axisValueRE matches values of axes: they are part of variant ids, which are
// "axis=value,…".
var axisValueRE = regexp.MustCompile(`^[A-Za-z0-9._:/@+-]{1,100}$`)

// axes of the suite, sorted by name.
func (b *build) axes() {
	varOf := map[string]string{} // variable to the axis that sets it
	for _, name := range sorted(b.file.Axes) {
		a := b.file.Axes[name]
		pos := b.file.Node().Place("axes", name)
		if !variableNameRE.MatchString(name) || name == "tag" {
			b.report(pos, strictyaml.Quote(name)+" is no name for an axis", `letters, digits, _ and -, beginning with a letter or _; "tag" is taken by exclude`)
			continue
		}
		if len(a.Values) == 0 && b.sound(a.Node()) {
			b.report(pos, fmt.Sprintf("axis %q has no values", name), "")
		}
		axis := eval.Axis{Name: name}
		for _, n := range a.Values {
			value := n.Text
			switch {
			case !axisValueRE.MatchString(value):
				b.report(n.Pos, strictyaml.Quote(value)+" cannot be a value of an axis", "at most 100 letters, digits and . _ : / @ + -")
				continue
			case slices.ContainsFunc(axis.Points, func(p eval.Point) bool { return p.Value == value }):
				b.report(n.Pos, fmt.Sprintf("axis %q has the value %q twice", name, value), "")
				continue
			}
			b.reserved(name, n)
			p := a.Points[value]
			if p.Node() != nil {
				b.grantedPoint(&p)
			}
			point := eval.Point{Value: value, Env: p.Env, Headers: p.Headers, Vars: b.values(p.Vars), Agent: b.agent(p.Agent)}
			for v := range point.Vars {
				if other := varOf[v]; other != "" && other != name {
					b.report(p.Node().Place("vars", v), fmt.Sprintf("axis %q sets the var %q too", other, v), "")
				}
				varOf[v] = name
			}
			axis.Points = append(axis.Points, point)
		}
		b.suite.Axes = append(b.suite.Axes, axis)
	}
	b.fillAxisVars()
}

// fillAxisVars gives points the suite's value of a var that only other points
// of the axis set, so that vars of an axis lie above those of the suite.
func (b *build) fillAxisVars() {
	for i := range b.suite.Axes {
		points := b.suite.Axes[i].Points
		sets := map[string]bool{}
		for _, p := range points {
			for name := range p.Vars {
				sets[name], b.axisSets[name] = true, true
			}
		}
		for j := range points {
			for name := range sets {
				value, ok := b.vars[name]
				if _, own := points[j].Vars[name]; own || !ok {
					continue
				}
				if points[j].Vars == nil {
					points[j].Vars = map[string]eval.JSON{}
				}
				points[j].Vars[name] = value
			}
		}
	}
}

// values are the variables of a map as JSON.
func (b *build) values(vars varsFile) map[string]eval.JSON {
	if len(vars) == 0 {
		return nil
	}
	out := map[string]eval.JSON{}
	for name, n := range vars {
		out[name] = n.JSON()
		n.Walk(func(v *strictyaml.Node) {
			if v.Kind == strictyaml.String && strings.Contains(v.Text, "${{ secrets.") {
				b.report(v.Pos, "secrets reach servers through env and headers, not through vars", "")
			}
		})
	}
	return out
}

// protocolRevisionRE matches revisions of MCP, which are dates.
var protocolRevisionRE = regexp.MustCompile(`^20[0-9]{2}-[0-9]{2}-[0-9]{2}$`)

// reserved checks a value of an axis that means something to the farm.
func (b *build) reserved(axis string, n *strictyaml.Node) {
	value := n.Text
	known := func(what string, names []string) {
		if !slices.Contains(names, value) {
			b.unknownName(n.Pos, what, value, names)
		}
	}
	switch axis {
	case eval.AxisModel:
		known("model", sorted(b.file.Models))
	case eval.AxisServer:
		known("server", sorted(b.suite.Servers))
	case eval.AxisLoading:
		known("loading", []string{"eager", "search"})
	case eval.AxisProfile:
		if b.opts.Profiles != nil {
			known("client profile", b.opts.Profiles)
		}
	case eval.AxisProtocol:
		if !protocolRevisionRE.MatchString(value) {
			b.report(n.Pos, strictyaml.Quote(value)+" is no protocol revision", "a date such as 2025-11-25")
		}
	}
}

// exclude reads the variants that do not run.
func (b *build) exclude() {
	list := b.file.Node().Get("exclude")
	for i, entry := range b.file.Exclude {
		at := list.Items[i]
		out := eval.Exclusion{Tag: entry["tag"]}
		if !b.sound(at) {
			continue
		}
		if len(entry) == 0 {
			b.report(at.Pos, "this would exclude everything", "name a value of an axis, or a tag")
		}
		if out.Tag != "" && !slices.ContainsFunc(b.suite.Cases, func(c eval.Case) bool { return slices.Contains(c.Tags, out.Tag) }) && !b.failed() {
			b.report(at.Get("tag").Pos, "no case has the tag "+strictyaml.Quote(out.Tag), "")
		}
		for _, name := range sorted(entry) {
			if name == "tag" {
				continue
			}
			if out.Axes == nil {
				out.Axes = map[string]string{}
			}
			out.Axes[name] = entry[name]
			a := slices.IndexFunc(b.suite.Axes, func(a eval.Axis) bool { return a.Name == name })
			if a < 0 {
				b.unknownName(at.Place(name), "axis", name, append(sorted(b.file.Axes), "tag"))
				continue
			}
			var values []string
			for _, p := range b.suite.Axes[a].Points {
				values = append(values, p.Value)
			}
			if !slices.Contains(values, entry[name]) {
				b.unknownName(at.Get(name).Pos, "value of axis "+name, entry[name], values)
			}
		}
		b.suite.Exclude = append(b.suite.Exclude, out)
	}
}
