package suite

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplitWords(t *testing.T) {
	tests := []struct {
		text string
		want []string
		err  string
	}{
		{"evalfarm demo acme", []string{"evalfarm", "demo", "acme"}, ""},
		{"  a\t b\n", []string{"a", "b"}, ""},
		{"", nil, ""},
		{`a 'b c' "d e"`, []string{"a", "b c", "d e"}, ""},
		{`a'b'"c"d`, []string{"abcd"}, ""},
		{`'' ""`, []string{"", ""}, ""},
		{`a\ b \'`, []string{"a b", "'"}, ""},
		{`'a\b' "a\b" "a\"b" "a\\b"`, []string{`a\b`, `a\b`, `a"b`, `a\b`}, ""},
		{"$HOME `id` $(id) * ~ a;b|c", []string{"$HOME", "`id`", "$(id)", "*", "~", "a;b|c"}, ""},
		{"'é ü'", []string{"é ü"}, ""},
		{"'a", nil, "a quote is never closed"},
		{`"a`, nil, "a quote is never closed"},
		{`a\`, nil, "a backslash ends the command"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := splitWords(test.text)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if message != test.err {
				t.Errorf("got error %q, want %q", message, test.err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("words differ (-want +got):\n%s", diff)
			}
		})
	}
}
