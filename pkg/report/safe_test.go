package report

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	tests := []struct {
		name  string
		in    string
		width int
		want  string
	}{
		{"plain text", "tier: want 3, got 4", 0, "tier: want 3, got 4"},
		{"other scripts", "größer Ωμέγα 日本 🙂", 0, "größer Ωμέγα 日本 🙂"},
		{"colours", "\x1b[1;31mred\x1b[0m and \u009b32mgreen", 0, "red and green"},
		{"clear the screen", "a\x1b[2Jb", 0, "a␛b"},
		{"title", "a\x1b]0;owned\x07b", 0, "a␛b"},
		{"link", "\x1b]8;;http://evil.example\x1b\\text\x1b]8;;\x1b\\", 0, "␛text␛"},
		{"eight-bit string", "\u009d0;owned\u009cb", 0, "␛b"},
		{"device control", "\x1bPq#0\x1b\\b", 0, "␛b"},
		{"reset", "\x1bcb", 0, "␛b"},
		{"character set", "\x1b(0b", 0, "␛b"},
		{"an unfinished sequence hides nothing", "\x1b]0;secret", 0, "␛]0;secret"},
		{"a line ends a title", "\x1b]0;a\nsecret\x07", 0, "␛]0;a␊secret␇"},
		{"an eight-bit character that starts nothing", "\u0081m", 0, "⟦U+0081⟧m"},
		{"a sequence that is none", "\x1b[1\nx", 0, "␛[1␊x"},
		{"an escape at the end", "x\x1b", 0, "x␛"},
		{"lines", "a\nb\r\nc", 0, "a␊b␍␊c"},
		{"tab", "a\tb", 0, "a b"},
		{"control characters", "\x00\x07\x7f", 0, "␀␇␡"},
		{"eight-bit control", "a\u0085b", 0, "a⟦U+0085⟧b"},
		{"bidi override", "a\u202eb", 0, "a⟦U+202E⟧b"},
		{"zero width", "a\u200bb\ufeff", 0, "a⟦U+200B⟧b⟦U+FEFF⟧"},
		{"tag characters", "\U000e0041", 0, "⟦U+E0041⟧"},
		{"line separator", "a\u2028b", 0, "a⟦U+2028⟧b"},
		{"broken bytes", "a\xffb", 0, "a�b"},
		{"fits", "abcde", 5, "abcde"},
		{"cut", "abcdef", 5, "abcd…"},
		{"cut wide characters", "日本語文字", 5, "日本…"},
		{"cut in a token", "ab\u202e", 5, "ab⟦U…"},
		{"one column", "abc", 1, "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Line(tt.in, tt.width); got != tt.want {
				t.Errorf("Line(%q, %d): got %q, want %q", tt.in, tt.width, got, tt.want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want string // lines, joined by |
		more int
	}{
		{"nothing", "", "", 0},
		{"empty lines only", "\n\r\n\n", "", 0},
		{"one", "a", "a", 0},
		{"as many as there may be", "a\r\nb\n\nd\n", "a|b||d", 0},
		{"more", "a\nb\nc\nd\ne\nf", "a|b|c|d", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines, more := Lines(tt.in, 80, 4)
			if got := strings.Join(lines, "|"); got != tt.want || more != tt.more {
				t.Errorf("got %q and %d more, want %q and %d", got, more, tt.want, tt.more)
			}
		})
	}
}

// harmless fails when text holds anything that a terminal would obey or that
// hides what is written. New lines are the caller's.
func harmless(tb testing.TB, s string) {
	tb.Helper()
	if !utf8.ValidString(s) {
		tb.Fatalf("no UTF-8: %.200q", s)
	}
	for i, r := range s {
		if r != '\n' && (unicode.IsControl(r) || hidden(r)) {
			tb.Fatalf("U+%04X at %d of %.300q", r, i, s[max(0, i-50):])
		}
	}
}

// corpus of hostile texts, with a long one.
func corpus(tb testing.TB) []string {
	tb.Helper()
	f, err := os.Open("testdata/hostile.txt")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	texts := []string{strings.Repeat("long \x1b]0;", 2000)}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		s, err := strconv.Unquote(lines.Text())
		if err != nil {
			tb.Fatalf("testdata/hostile.txt: %s: %v", lines.Text(), err)
		}
		texts = append(texts, s)
	}
	if lines.Err() != nil || len(texts) < 30 {
		tb.Fatalf("read %d hostile texts, want at least 30 (error %v)", len(texts), lines.Err())
	}
	return texts
}

func FuzzLine(f *testing.F) {
	for _, s := range corpus(f) {
		f.Add(s[:min(len(s), 1000)], 20)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		whole := Line(s, 0)
		harmless(t, whole)
		if strings.Contains(whole, "\n") {
			t.Errorf("Line(%q) has several lines: %q", s, whole)
		}
		if again := Line(whole, 0); again != whole {
			t.Errorf("twice: got %q, want %q", again, whole)
		}
		width = 1 + int(uint(width)%200)
		cut := Line(s, width)
		harmless(t, cut)
		if got := wide(cut); got > width {
			t.Errorf("Line(%q, %d) is %d columns wide: %q", s, width, got, cut)
		}
		if wide(whole) <= width && cut != whole {
			t.Errorf("Line(%q, %d) was cut without need: got %q, want %q", s, width, cut, whole)
		}
		if start, ok := strings.CutSuffix(cut, "…"); cut != whole && (!ok || !strings.HasPrefix(whole, start)) {
			t.Errorf("Line(%q, %d): got %q, want the start of %q and a marker", s, width, cut, whole)
		}
	})
}

func BenchmarkLine(b *testing.B) {
	for name, s := range map[string]string{
		"message":              "tier: want \"ENTERPRISE_TIER\", got \"ENTERPRISE\"",
		"unfinished-sequences": strings.Repeat("\x1b]", 5000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Line(s, 0)
			}
		})
	}
}

func TestDuration(t *testing.T) {
	tests := []struct {
		in   time.Duration
		want string
	}{
		{0, "0.0ms"},
		{1234 * time.Microsecond, "1.2ms"},
		{42 * time.Millisecond, "42ms"},
		{1234 * time.Millisecond, "1.2s"},
		{532 * time.Second, "8m52s"},
	}
	for _, tt := range tests {
		if got := duration(float64(tt.in) / float64(time.Millisecond)); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.in, got, tt.want)
		}
	}
}
