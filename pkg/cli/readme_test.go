package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var fence = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")

// TestDocsCommands runs the shell commands of the pages that a newcomer reads,
// each page in a copy of what it has just told to save as suite.yaml, and wants
// none to fail.
func TestDocsCommands(t *testing.T) {
	for _, page := range []string{"README.md", "docs/suite.md"} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../..", page))
			if err != nil {
				t.Fatal(err)
			}
			s := newShop(t)
			root, err := filepath.Abs("../..")
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"suites", "schema"} {
				if err := os.Symlink(filepath.Join(root, name), filepath.Join(s.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			golden, err := os.ReadFile(filepath.Join(root, "internal/demo/testdata/golden/tool-accuracy.json"))
			if err != nil {
				t.Fatal(err)
			}
			s.file("golden.json", string(golden))
			ran := 0
			for _, m := range fence.FindAllStringSubmatch(string(text), -1) {
				if m[1] == "yaml" {
					if strings.HasPrefix(m[2], "version:") {
						s.file("suite.yaml", m[2])
					}
					continue
				}
				for line := range strings.Lines(m[2]) {
					line = strings.TrimSpace(line)
					if line == "make test" { // this is it
						continue
					}
					line = strings.ReplaceAll(line, "go run ./cmd/evalfarm", "evalfarm")
					ran++
					if out, err := s.shell(line); err != nil {
						t.Errorf("%s: %v\n%s", line, err, out)
					}
				}
			}
			if ran == 0 {
				t.Error("the page has no commands")
			}
		})
	}
}
