package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A small file cannot make a suite that exhausts the machine.
func TestBoundsOfExpansion(t *testing.T) {
	big := strings.Repeat("x", 1<<20)
	const filled = "the values of vars, rows and files fill more than 67108864 bytes"
	numbers := func(n int) string { return "[" + strings.Repeat("0, ", n-1) + "0]" }
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"expressions", map[string]string{"suite.yaml": head + "vars: {big: " + big + "}\ncases: [{id: a, call: t, arguments: {a: [" + strings.Repeat("'${{ vars.big }}', ", 100) + "]}}]\n"}, filled},
		{"vars of the suite", map[string]string{"suite.yaml": head + "vars: {big: " + big + "}\ncases:\n" + many(100, "  - {id: c%d, call: '{{big}}'}\n")}, filled},
		{"each", map[string]string{"suite.yaml": head + "cases: [{id: a, call: '{{b}}', each: {b: [" + big + "], n: " + numbers(100) + "}}]\n"}, filled},
		{"each, by number", map[string]string{"suite.yaml": head + "cases: [{id: a, call: t, each: {a: " + numbers(400) + ", b: " + numbers(400) + "}}]\n"}, "more than 100000"},
		{"each, in sum", map[string]string{"suite.yaml": head + "cases:\n" + many(3, "  - {id: c%d, call: t, each: {a: "+numbers(40_000)+"}}\n")}, "the suite has more than 100000 cases"},
		{"rows", map[string]string{
			"suite.yaml": head + "include: [{dataset: r.jsonl, id: '{{row.id}}', case: {call: t, arguments: [" + strings.Repeat("'{{row.big}}', ", 100) + "]}}]\n",
			"r.jsonl":    `{"id": "a", "big": "` + big + `"}`,
		}, filled},
		{"rows, by number", map[string]string{
			"suite.yaml": head + "include: [{dataset: r.jsonl, id: '{{row.id}}', case: {call: t, arguments: {a: " + numbers(200) + "}}}]\n",
			"r.jsonl":    strings.Repeat("{}\n", 20_000),
		}, "20000 rows are too many for one suite"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := suite.Load(write(t, test.files)+"/suite.yaml", options())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				message := fmt.Sprint(err)
				t.Errorf("got %.2000s, want %s", message, test.want)
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	text.WriteString(head + "axes: {tenant: {acme: {vars: {own: 1}}}}\ncases:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {id: case-%d, call: t, arguments: {a: %d, b: '{{own}}'}, expect: {a: {$gte: 1}}}\n", i, i)
	}
	path := write(b, map[string]string{"suite.yaml": text.String()}) + "/suite.yaml"
	b.ReportAllocs()
	for b.Loop() {
		if _, err := suite.Load(path, options()); err != nil {
			b.Fatal(err)
		}
	}
}
