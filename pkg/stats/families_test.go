package stats

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryFamilyIsTested: a vector that no test reads proves nothing.
func TestEveryFamilyIsTested(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	decode(t, raw, &file)
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range names {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(source)
	}
	for _, v := range file.Vectors {
		if !strings.Contains(tests.String(), strconv.Quote(v.Family)) {
			t.Errorf("no test names the family %q of %s", v.Family, v.ID)
		}
	}
}
