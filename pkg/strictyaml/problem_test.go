package strictyaml_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

func TestRenderCutsLongLines(t *testing.T) {
	line := strings.Repeat("a", 500) + "HERE" + strings.Repeat("b", 500)
	got := strictyaml.Problem{File: "f", Line: 1, Column: 501, Message: "m", Source: line}.Render()
	rows := strings.Split(got, "\n")
	source, caret := []rune(rows[2]), []rune(rows[3])
	if len(source) > 140 {
		t.Errorf("got a line of %d characters, want at most 140", len(source))
	}
	if at := string(source[len(caret)-1:][:4]); at != "HERE" {
		t.Errorf("got the caret at %q, want it at HERE:\n%s", at, got)
	}
}

// Whatever the file holds, a problem has no control characters and its caret
// stands below the line.
func TestRenderIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := strictyaml.Problem{
			File: rapid.String().Draw(t, "file"), Line: rapid.IntRange(0, 9).Draw(t, "line"), Column: rapid.IntRange(-5, 400).Draw(t, "column"),
			Message: "m", Source: strings.ReplaceAll(rapid.String().Draw(t, "source"), "\n", ""),
		}
		for _, r := range p.Render() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("got %U in %q", r, p.Render())
			}
		}
		for _, r := range strictyaml.Quote(p.Source) {
			if !unicode.IsPrint(r) {
				t.Fatalf("got %U in %s", r, strictyaml.Quote(p.Source))
			}
		}
	})
}

func TestClosest(t *testing.T) {
	words := []string{"prompt", "call", "read", "steps", "id"}
	tests := []struct{ word, want string }{
		{"promt", "prompt"},
		{"rompt", "prompt"},
		{"pormpt", "prompt"},
		{"cal", "call"},
		{"step", "steps"},
		{"xyz", ""},
		{"", ""},
		{"ab", ""},
		{"prompting", ""},
		{"ids", "id"},
	}
	for _, test := range tests {
		t.Run(test.word, func(t *testing.T) {
			if got := strictyaml.Closest(test.word, words); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
