package eval

import (
	"maps"
	"slices"
	"strings"
)

// A Variant is one point of the matrix: a value for each axis that a case uses.
type Variant struct {
	// ID is "axis=value,…" sorted by axis, or "default" without axes.
	ID string `json:"id"`
	// Axes maps axis name to the chosen value.
	Axes map[string]string `json:"axes,omitempty"`
}

// NewVariant names the choice of one value for each axis.
func NewVariant(axes map[string]string) Variant {
	if len(axes) == 0 {
		return Variant{ID: "default"}
	}
	var parts []string
	for _, axis := range slices.Sorted(maps.Keys(axes)) {
		parts = append(parts, axis+"="+axes[axis])
	}
	return Variant{ID: strings.Join(parts, ","), Axes: axes}
}

// InVariant names a thing in a variant, such as a case: with the variant behind it in
// brackets, if there is a choice.
func InVariant(name, variant string) string {
	if variant == "" || variant == "default" {
		return name
	}
	return name + " [" + variant + "]"
}
