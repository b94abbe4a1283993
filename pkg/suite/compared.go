package suite

import (
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// compareNames collects what the names of compare may mean in a trajectory.
type compareNames struct {
	// arguments that calls expect, each by its name and by tool.argument.
	arguments []string
	// tools of the calls whose arguments are compared.
	tools []string
}

// compared warns of the comparisons that no expected call has a use for.
func (b *checkBuild) compared(f *trajectoryFile) {
	var names compareNames
	for i := range f.Calls {
		if !b.keysSound(f.Calls[i].Node()) || !names.add(&f.Calls[i]) {
			return
		}
	}
	if len(f.Calls) == 0 {
		return // those of a baseline
	}
	for _, name := range sorted(f.Compare) {
		if names.uses(name, f.Compare[name]) || !b.sound(f.Node().Get("compare", name)) {
			continue
		}
		hint := strictyaml.DidYouMean(name, names.arguments)
		switch {
		case hint != "":
		case len(names.arguments) == 0:
			hint = "no expected call says arguments"
		default:
			hint = "expected: " + strings.Join(names.arguments, ", ")
		}
		b.warn(f.Node().Place("compare", name), "no expected call has "+strictyaml.Quote(name)+" to compare", hint)
	}
}

// add takes the names of a call; false means that only a trial knows them.
func (c *compareNames) add(f *callPatternFile) bool {
	args := f.Arguments
	switch {
	case args == nil || args.Kind == strictyaml.Null:
		return true // any arguments are expected, and none compared
	case args.Kind != strictyaml.Map || hasPlaceholders(inForm(f.Node(), "tool")):
		return false
	}
	c.tools = append(c.tools, f.Tool)
	for _, field := range args.Fields {
		for _, name := range []string{field.Key.Text, f.Tool + "." + field.Key.Text} {
			if !slices.Contains(c.arguments, name) {
				c.arguments = append(c.arguments, name)
			}
		}
	}
	return true
}

// uses says whether a comparison changes anything. Ignored arguments and those
// that must match an expression need not be expected: they may be given.
func (c *compareNames) uses(name string, f compareFile) bool {
	if slices.Contains(c.arguments, name) {
		return true
	}
	if string(f.How) != "ignore" && f.Regex == "" {
		return false
	}
	return slices.ContainsFunc(c.tools, func(tool string) bool {
		return !strings.Contains(name, ".") || strings.HasPrefix(name, tool+".")
	})
}
