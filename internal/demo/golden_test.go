package demo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// The golden files of testdata and the suites that ship say the same in two
// formats, so that the regressions of the table break both alike.
func TestGoldenFilesAndSuitesAgree(t *testing.T) {
	for _, name := range []string{"tool-accuracy", "validation-boundary", "workflow-regression"} {
		t.Run(name, func(t *testing.T) {
			golden := load(t, "testdata/golden/"+name+".json", suite.Options{Servers: []string{"evalfarm demo acme"}})
			shipped := load(t, "../../suites/"+name, suite.Options{})
			if golden.Name != shipped.Name || golden.Description != shipped.Description {
				t.Errorf("got golden suite %q (%s), want %q (%s)", golden.Name, golden.Description, shipped.Name, shipped.Description)
			}
			if diff := cmp.Diff(plain(t, shipped.Cases), plain(t, golden.Cases)); diff != "" {
				t.Errorf("cases (-suite +golden):\n%s", diff)
			}
		})
	}
}

func load(t *testing.T, path string, o suite.Options) eval.Suite {
	t.Helper()
	loaded, err := suite.Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return loaded.Suite
}

// plain is the cases without what only one of the formats can say: the name of
// the server and the kind of a rejection.
func plain(t *testing.T, cases []eval.Case) []any {
	t.Helper()
	var all []any
	for _, c := range cases {
		c.Server = ""
		for i := range c.Steps {
			if e := c.Steps[i].ExpectError; e != nil {
				e.Kind = eval.ErrorAny
			}
		}
		v, err := eval.Decode([]byte(asJSON(c)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all
}
