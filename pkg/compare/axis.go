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
		others := Without(c.Axes, axis)
		c.Variant, c.Axes = others.ID, others.Axes
		arm.Cells = append(arm.Cells, c)
	}
	arm.Tools, arm.Kinds = nil, nil // which are of all values
	return arm
}

// Without is the variant that is left when an axis is taken away.
func Without(axes map[string]string, axis string) eval.Variant {
	others := maps.Clone(axes)
	delete(others, axis)
	return eval.NewVariant(others)
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
