package deploy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// dockerfile is the instructions of the Dockerfile, each in one line.
func dockerfile(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^\s*#.*\n`).ReplaceAllString(string(content), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var lines []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 {
			lines = append(lines, strings.Join(fields, " "))
		}
	}
	return lines
}

func TestImage(t *testing.T) {
	lines := strings.Join(dockerfile(t), "\n") + "\n"
	gomod, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(gomod)
	for what, pattern := range map[string]string{
		"is built with the Go of go.mod":             `(?m)^FROM .*golang:` + regexp.QuoteMeta(string(version[1])) + `-bookworm AS build$`,
		"is static":                                  `CGO_ENABLED=0 .*go build`,
		"has a version":                              `-buildvcs=true`,
		"has nothing but what is copied into it":     `(?m)^FROM scratch$`,
		"runs as a user that is not root, by number": `(?m)^USER 65532:65532$`,
		"keeps its state in a volume":                `(?m)^VOLUME \["/var/lib/evalfarm"\]$`,
		"is evalfarm":                                `(?m)^ENTRYPOINT \["evalfarm"\]$`,
	} {
		if !regexp.MustCompile(pattern).MatchString(lines) {
			t.Errorf("the image is not one that %s: nothing matches %s", what, pattern)
		}
	}
	user := compose(t).Services["worker"].User
	if !strings.Contains(lines, "USER "+user) {
		t.Errorf("compose runs it as %s, and the image is made for another", user)
	}
}
