package eval_test

import (
	"slices"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestCapabilities(t *testing.T) {
	if got := eval.JoinCapabilities("x-ray", "gpu", "gpu"); got != "gpu.x-ray" {
		t.Errorf("joined to %q, want gpu.x-ray", got)
	}
	for name, tt := range map[string]struct {
		has      []string
		requires string
		want     []string
	}{
		"nothing required": {nil, "", nil},
		"nothing there":    {nil, "gpu.x-ray", []string{"gpu", "x-ray"}},
		"a part there":     {[]string{"x-ray", "other"}, "gpu.x-ray", []string{"gpu"}},
		"all there":        {[]string{"x-ray", "gpu"}, "gpu.x-ray", nil},
		"no part of names": {[]string{"gp", "gpu2"}, "gpu", []string{"gpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := eval.Lacks(tt.has, tt.requires); !slices.Equal(got, tt.want) {
				t.Errorf("lacks %q, want %q", got, tt.want)
			}
		})
	}
	for name, want := range map[string]bool{"gpu": true, "h100-8": true, "": false, "-x": false, "GPU": false, "a.b": false, "a}b": false, "a b": false} {
		if got := eval.IsCapability(name); got != want {
			t.Errorf("%q is a capability: %t, want %t", name, got, want)
		}
	}
}
