package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocsCompare carries out docs/compare.md and wants the answer that it shows, but for
// what no two runs have in common.
func TestDocsCompare(t *testing.T) {
	page, err := os.ReadFile("../../docs/compare.md")
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	var out string
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if m[1] == "yaml" {
			s.file(named.FindStringSubmatch(m[2])[1], m[2])
			continue
		}
		for line := range strings.Lines(m[2]) {
			if out, err = s.shell(strings.TrimSpace(line)); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
		}
	}
	_, want, _ := strings.Cut(string(page), "```text\n")
	want, _, _ = strings.Cut(want, "```")
	varies := regexp.MustCompile(`r-\d{8}-\w{6}|(?m)^    latency .*`)
	if got, want := varies.ReplaceAllString(out, "…"), varies.ReplaceAllString(want, "…"); got != want {
		t.Errorf("the page shows\n%s\nand this is\n%s", want, got)
	}
}
