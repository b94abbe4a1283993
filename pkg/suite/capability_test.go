package suite_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// What a trial requires is what its suite, its case and the server of its variant
// require, once each.
func TestRequires(t *testing.T) {
	loaded, err := suite.Load("testdata/corpus/good/requires.yaml", suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := suite.Expand(&loaded.Suite, suite.Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range m.Cells {
		got = append(got, loaded.Suite.Cases[c.Case].ID+" "+c.Requires)
	}
	if want := []string{"a linux", "a gpu.h100-8.linux", "b gpu.h100-8.licence.linux"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// Where a trial runs changes nothing that is observed.
	hash := loaded.Hash
	for i := range loaded.Suite.Cases {
		loaded.Suite.Cases[i].Requires = nil
	}
	if text := string(eval.Encode(loaded.Suite)); strings.Contains(text, "licence") {
		t.Errorf("the suite's content, of hash %s, holds what it requires: %s", hash, text)
	}
	for _, c := range []string{"a", "b", "c", "d"} {
		loaded.Suite.Cases[1].Requires = append(loaded.Suite.Cases[1].Requires, strings.Repeat(c, 32))
	}
	if _, err := suite.Expand(&loaded.Suite, suite.Selection{}); err == nil || !strings.Contains(err.Error(), "case b requires more than fits") {
		t.Errorf("too much: got %v, want an error that names the case", err)
	}
}
