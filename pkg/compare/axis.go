package compare

import (
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// AtValue are the cells of an arm with one value of an axis, under the names that they
// have without it: those of another value have the same names.
func AtValue(arm eval.Arm, axis, value string) eval.Arm {
	cells := arm.Cells
	arm.Cells = nil
	for _, c := range cells {
		if c.Axes[axis] != value || value == "" {
			continue
		}
		others := maps.Clone(c.Axes)
		delete(others, axis)
		c.Variant, c.Axes = eval.NewVariant(others).ID, others
		arm.Cells = append(arm.Cells, c)
	}
	arm.Tools, arm.Kinds = nil, nil // which are of all values
	return arm
}

// Values that an axis has in the cells of an arm, in the order in which they come.
func Values(arm eval.Arm, axis string) []string {
	var values []string
	for _, c := range arm.Cells {
		if v := c.Axes[axis]; v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// Axes are the names of the axes of an arm's cells, sorted.
func Axes(arm eval.Arm) []string {
	names := map[string]bool{}
	for _, c := range arm.Cells {
		for name := range c.Axes {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
