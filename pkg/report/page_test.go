package report

import (
	"strings"
	"testing"
)

func TestValue(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		o     Options
		limit int
		want  string // lines, joined by |
	}{
		{"nothing", "", Options{}, 2, "  got"},
		{"fits", "short", Options{}, 2, "  got short"},
		{"breaks behind a space", "one two three four five six seven", Options{Width: 30}, 3, "  got one two three four five|      six seven"},
		{"breaks a long word", strings.Repeat("x", 30), Options{Width: 30}, 3, "  got " + strings.Repeat("x", 24) + "|      xxxxxx"},
		{"is cut", strings.Repeat("y", 90), Options{Width: 30}, 2, "  got " + strings.Repeat("y", 24) + "|      " + strings.Repeat("y", 23) + "…"},
		{"is cut though its lines are not full", strings.Repeat("four word ", 9), Options{Width: 30}, 2, "  got four word four word|      four word four word fou…"},
		{"is whole when asked for", strings.Repeat("z", 50), Options{Width: 30, Full: true}, 1, "  got " + strings.Repeat("z", 24) + "|      " + strings.Repeat("z", 24) + "|      zz"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPage(tt.o)
			p.value(2, text("got "), tt.in, tt.limit)
			got := strings.ReplaceAll(strings.TrimSuffix(p.out.String(), "\n"), "\n", "|")
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestEntry(t *testing.T) {
	tests := []struct {
		name    string
		message string
		want    string
	}{
		{"fits", "short", "  case  short|"},
		{"does not fit", "a message that is longer than the rest", "  case|    a message that is longer|    than the rest|"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPage(Options{Width: 30})
			p.entry(4, tt.message, p.indent(2), text("case").pad(4), text("  "))
			if got := strings.ReplaceAll(p.out.String(), "\n", "|"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
