package cli

import (
	"slices"
	"testing"
)

func TestChoose(t *testing.T) {
	values := []string{"a", "b", "v1..2", "v1"}
	for _, tc := range []struct {
		wanted, base string
		heads        []string
		ok           bool
	}{
		{"", "a", []string{"b", "v1..2", "v1"}, true},
		{"b", "b", []string{"a", "v1..2", "v1"}, true},
		{"a..b", "a", []string{"b"}, true},
		{"v1..2", "v1..2", []string{"a", "b", "v1"}, true}, // a value goes before two
		{"v1..2..b", "v1..2", []string{"b"}, true},
		{"b..v1..2", "b", []string{"v1..2"}, true},
		{"a..a", "", nil, false},
		{"a..", "", nil, false},
		{"c", "", nil, false},
	} {
		t.Run("wanted "+tc.wanted, func(t *testing.T) {
			base, heads, ok := choose(values, tc.wanted)
			if base != tc.base || !slices.Equal(heads, tc.heads) || ok != tc.ok {
				t.Errorf("got %q, %q, %t, want %q, %q, %t", base, heads, ok, tc.base, tc.heads, tc.ok)
			}
		})
	}
}
