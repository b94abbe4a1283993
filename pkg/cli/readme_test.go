package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// named is a file that says its name in its first line.
var named = regexp.MustCompile(`^# ([a-z]+\.yaml)\n`)

var fence = regexp.MustCompile("(?ms)^```(sh|yaml|json)\n(.*?)^```$")

// TestDocsCommands runs the shell commands of the pages that a newcomer reads,
// each page in a copy of what it has just told to save as suite.yaml, under the name in
// a first comment or, of JSON, which has no comments, as results.jsonl, and wants none
// to fail.
func TestDocsCommands(t *testing.T) {
	t.Parallel()
	for _, page := range []string{
		"README.md", "docs/suite.md", "docs/baselines.md", "docs/compare.md", "docs/gates.md", "docs/repeats.md", "docs/import.md",
		"docs/waivers.md", "docs/flakiness.md", "docs/observability.md",
	} {
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
				if m[1] == "json" {
					s.file("results.jsonl", m[2])
					continue
				}
				if m[1] == "yaml" {
					if name := named.FindStringSubmatch(m[2]); name != nil {
						s.file(name[1], m[2])
					} else if strings.HasPrefix(m[2], "version:") {
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
