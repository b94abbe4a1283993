package farmfile

import (
	"slices"
	"testing"
)

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		glob, model string
		want        bool
	}{
		{"a", "a", true},
		{"a", "ab", false},
		{"*", "", true},
		{"*", "a/b", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*a", "a", false},
		{"a*a", "aa", true},
		{"a*b*c", "axbxbxc", true},
		{"a*b*c", "axcxb", false},
		{"*b*b", "ab", false},
		{"a**b", "ab", true},
		{"a.c", "abc", false},
	} {
		if got := matches(test.glob, test.model); got != test.want {
			t.Errorf("%q matches %q: got %v, want %v", test.glob, test.model, got, test.want)
		}
	}
}

func TestOrderOfModels(t *testing.T) {
	got := []string{"*", "b*", "aaa*", "long-exact", "x", "a*"}
	slices.SortFunc(got, sooner)
	if want := []string{"long-exact", "x", "aaa*", "a*", "b*", "*"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
