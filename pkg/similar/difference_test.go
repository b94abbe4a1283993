package similar

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// script reads calls, one a line: a tool and its arguments.
func script(lines string) []Call {
	var calls []Call
	for line := range strings.Lines(lines) {
		tool, arguments, _ := strings.Cut(strings.TrimSpace(line), " ")
		if tool != "" {
			calls = append(calls, Call{tool, eval.JSON(arguments)})
		}
	}
	return calls
}

func TestDifferences(t *testing.T) {
	tests := map[string]struct {
		expected, actual string
		want             []string
	}{
		"missing in the middle": {
			"find {}\nget {\"id\": 17}\nrefund", "find {}\nrefund",
			[]string{`Missing: expected call 2, get {"id":17}`},
		},
		"missing without arguments": {"find\nrefund", "refund {}", []string{`Missing: expected call 1, find`}},
		"extra first":               {"find {}", "list {\"all\": true}\nfind {}", []string{`Extra: call 1, list {"all":true}`}},
		"the second of two is extra": {
			"get {\"id\": 1}", "get {\"id\": 1}\nget {\"id\": 1}",
			[]string{`Extra: call 2, get {"id":1}`},
		},
		"swapped": {
			"a {}\nb {}\nc {}", "b {}\na {}\nc {}",
			[]string{`Out of order: call 2, a {}, is expected call 1`},
		},
		"swapped, with another argument": {
			"a {}\nc {}\nb {\"x\": 1, \"y\": 2}", "b {\"x\": 1, \"y\": 3}\na {}\nc {}",
			[]string{`Out of order: call 1, b {"x":1,"y":3}, is expected call 3`, `Argument mismatch: call 1, b, y: want 2, got 3`},
		},
		"nothing in common but the tool": {
			"get {\"id\": 17}", "get {\"id\": 18}",
			[]string{`Argument mismatch: call 1, get, id: want 17, got 18`},
		},
		"missing, another and unasked arguments": {
			"get {\"a\": 1, \"b\": {\"$gte\": 2}}", "get {\"b\": 1, \"c\": null}",
			[]string{
				`Argument mismatch: call 1, get, a: want 1, got none`,
				`Argument mismatch: call 1, get, b: want {"$gte":2}, got 1`,
				`Argument mismatch: call 1, get, c: want none, got null`,
			},
		},
		"as good, but not the same": {
			"get {\"q\": \"blue mug\"}", "get {\"q\": \"Mug blue\"}",
			[]string{`Argument mismatch: call 1, get, q: want "blue mug", got "Mug blue"`},
		},
		"no object": {
			"get {\"a\": 1}", "get [1]",
			[]string{`Argument mismatch: call 1, get, arguments: want {"a":1}, got [1]`},
		},
		"all at once": {
			"a {}\nb {}\nc {\"x\": 1}\nd {}", "b {}\na {}\nc {\"x\": 2}\ne {}",
			[]string{
				`Out of order: call 2, a {}, is expected call 1`,
				`Argument mismatch: call 3, c, x: want 1, got 2`,
				`Missing: expected call 4, d {}`,
				`Extra: call 4, e {}`,
			},
		},
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, d := range compare(t, script(row.expected), script(row.actual), Options{}).Differences {
				got = append(got, d.String())
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnaskedArguments(t *testing.T) {
	got := compare(t, script(`get {"a": 1}`), script(`get {"a": 1, "b": 2}`), Options{})
	want := []Difference{{Kind: ArgumentMismatch, Tool: "get", Argument: "b", Actual: eval.JSON("2"), Unasked: true}}
	if diff := cmp.Diff(want, got.Differences); diff != "" || !got.Exact {
		t.Errorf("exact: %v, differences (-want +got):\n%s", got.Exact, diff)
	}
}

func TestHostileDifferences(t *testing.T) {
	tests := map[string]struct {
		call Call
		want string
	}{
		"line break in a name": {Call{"get\n✗ fail", eval.JSON(`{}`)}, `Extra: call 1, "get\n✗ fail" {}`},
		"no name":              {Call{"", eval.JSON(`{}`)}, `Extra: call 1, "" {}`},
		"escape sequences": {
			Call{"get", eval.JSON("{\"a\": \"\\u001b[31m\u009b0m\u202e\"}")},
			`Extra: call 1, get {"a":"\u001b[31m\u009b0m\u202e"}`,
		},
		"long name":     {Call{strings.Repeat("é", 100), eval.JSON(`{}`)}, `Extra: call 1, ` + strings.Repeat("é", 40) + `… {}`},
		"long argument": {Call{"get", eval.JSON(`{"a": "` + strings.Repeat("x", 999) + `"}`)}, `Extra: call 1, get {"a":"` + strings.Repeat("x", 114) + `…`},
		"no JSON":       {Call{"get", eval.JSON("{\x1b")}, `Extra: call 1, get "{\u001b"`},
	}
	for name, row := range tests {
		t.Run(name, func(t *testing.T) {
			got := compare(t, nil, []Call{row.call}, Options{})
			if len(got.Differences) != 1 || got.Differences[0].String() != row.want {
				t.Errorf("got %v, want %s", got.Differences, row.want)
			}
		})
	}
}

func TestManyMismatches(t *testing.T) {
	numbers := make(map[string]int)
	for i := range 50 {
		numbers[strings.Repeat("x", i+1)] = i
	}
	got := compare(t, []Call{{"get", eval.JSON(`{}`)}}, []Call{{"get", eval.Encode(numbers)}}, Options{}).Differences
	if len(got) != maxMismatches || !strings.HasSuffix(got[maxMismatches-1].String(), "(and 30 more arguments)") {
		t.Errorf("got %d differences, the last %v; want %d and 30 more", len(got), got[len(got)-1], maxMismatches)
	}
}
