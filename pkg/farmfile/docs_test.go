package farmfile_test

import (
	"regexp"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

var yamlFenceRE = regexp.MustCompile("(?ms)^```yaml\n(version:.*?)^```$")

// The files of the page that explains them load without a warning, and are good
// for editors too.
func TestFilesOfTheDocs(t *testing.T) {
	found := yamlFenceRE.FindAllSubmatch(content(t, "../../docs/farmfile.md"), -1)
	if len(found) == 0 {
		t.Fatal("got no file, want some")
	}
	for _, m := range found {
		f, err := farmfile.Parse("farm.yaml", m[1], farmfile.Options{})
		if err != nil {
			t.Errorf("it does not load\n%s\n%v", m[1], err)
			continue
		}
		for _, p := range f.Warnings {
			t.Errorf("got %s", p.Render())
		}
		if err := fits(t, "farm.yaml", m[1]); err != nil {
			t.Errorf("the schema refuses\n%s\n%v", m[1], err)
		}
	}
}
