package farmfile_test

import (
	"regexp"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

var yamlFenceRE = regexp.MustCompile("(?ms)^```yaml\n(version:.*?)^```$")

// The files of the pages that explain them load without a warning, and are good
// for editors too.
func TestFilesOfTheDocs(t *testing.T) {
	for _, page := range []string{"farmfile.md", "notifications.md"} {
		found := yamlFenceRE.FindAllSubmatch(content(t, "../../docs/"+page), -1)
		if len(found) == 0 {
			t.Fatalf("got no file in %s, want some", page)
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
}
