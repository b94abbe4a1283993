package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

func decode(tb testing.TB, raw string) any {
	tb.Helper()
	v, err := eval.Decode([]byte(raw))
	if err != nil {
		tb.Fatalf("%s: %v", raw, err)
	}
	return v
}

func TestPartial(t *testing.T) {
	tests := []struct {
		name, expected, actual string
		want                   []string // messages; none means a match
	}{
		{name: "extra fields do not matter", expected: `{"a":1}`, actual: `{"a":1,"b":2}`},
		{name: "at any depth", expected: `{"a":{"b":{"c":1}}}`, actual: `{"a":{"b":{"c":1,"d":2},"e":3}}`},
		{name: "empty object matches any object", expected: `{}`, actual: `{"a":1}`},
		{name: "empty object matches objects only", expected: `{}`, actual: `[]`, want: []string{`want an object like {}, got []`}},
		{name: "a message says where, what, and what instead", expected: `{"status":"ACTIVE"}`, actual: `{"status":"SUSPENDED"}`, want: []string{`status: want "ACTIVE", got "SUSPENDED"`}},
		{name: "every difference, sorted", expected: `{"b":1,"a":1,"c":1}`, actual: `{"a":2,"b":1,"c":3}`, want: []string{`a: want 1, got 2`, `c: want 1, got 3`}},
		{name: "missing field", expected: `{"a":1}`, actual: `{"b":1}`, want: []string{`a: want 1, got no such field`}},
		{name: "a missing field never equals null", expected: `{"a":null}`, actual: `{}`, want: []string{`a: want null, got no such field`}},
		{name: "null equals null", expected: `{"a":null}`, actual: `{"a":null}`},
		{name: "null is not false", expected: `null`, actual: `false`, want: []string{`want null, got false`}},

		{name: "numbers compare as numbers", expected: `[1,1,1,100,0.5,0,-3]`, actual: `[1.0,1e0,10e-1,1E+2,5e-1,-0.0,-30e-1]`},
		{name: "big integers are exact", expected: `9007199254740993`, actual: `9007199254740992`, want: []string{`want 9007199254740993, got 9007199254740992`}},
		{name: "small fractions are exact", expected: `0.1`, actual: `0.1000000000000000055511151231257827`, want: []string{`want 0.1, got 0.1000000000000000055511151231257827`}},
		{name: "the sign matters", expected: `1`, actual: `-1`, want: []string{`want 1, got -1`}},
		{name: "huge exponents cost nothing", expected: `1e999999999`, actual: `10e999999998`},
		{name: "a number is no string", expected: `1`, actual: `"1"`, want: []string{`want 1, got "1"`}},
		{name: "a string is no number", expected: `"1"`, actual: `1`, want: []string{`want "1", got 1`}},
		{name: "strings are exact", expected: `"A"`, actual: `"a"`, want: []string{`want "A", got "a"`}},
		{name: "a boolean is no string", expected: `true`, actual: `"true"`, want: []string{`want true, got "true"`}},

		{name: "arrays match whole", expected: `[1,2]`, actual: `[1,2,3]`, want: []string{`want 2 items [1,2], got 3 items [1,2,3]`}},
		{name: "in order", expected: `[1,2]`, actual: `[2,1]`, want: []string{`[0]: want 1, got 2`, `[1]: want 2, got 1`}},
		{name: "items match partially", expected: `{"items":[{"a":1}]}`, actual: `{"items":[{"a":1,"b":2}]}`},
		{name: "the path of an item", expected: `{"items":[{"status":"A"}]}`, actual: `{"items":[{"status":"B"}]}`, want: []string{`items[0].status: want "A", got "B"`}},
		{name: "the path of an odd key", expected: `{"a b":{"c":1}}`, actual: `{"a b":{"c":2}}`, want: []string{`["a b"].c: want 1, got 2`}},
		{name: "an array is no object", expected: `[]`, actual: `{}`, want: []string{`want an array like [], got {}`}},

		{name: "$gte holds", expected: `{"n":{"$gte":5}}`, actual: `{"n":5.0}`},
		{name: "$gte fails", expected: `{"n":{"$gte":9007199254740993}}`, actual: `{"n":9007199254740992}`, want: []string{`n: want a number ≥ 9007199254740993, got 9007199254740992`}},
		{name: "$gte of negatives", expected: `{"$gte":-2}`, actual: `-1`},
		{name: "$gte fails of negatives", expected: `{"$gte":-2}`, actual: `-2.5`, want: []string{`want a number ≥ -2, got -2.5`}},
		{name: "$gte of a string", expected: `{"$gte":1}`, actual: `"2"`, want: []string{`want a number ≥ 1, got "2"`}},
		{name: "$lte holds", expected: `{"$lte":1e400}`, actual: `5`},
		{name: "$lte fails", expected: `{"$lte":0}`, actual: `1e-400`, want: []string{`want a number ≤ 0, got 1e-400`}},
		{name: "both bounds", expected: `{"$gte":1,"$lte":3}`, actual: `2`},
		{name: "both bounds must hold", expected: `{"$gte":1,"$lte":3}`, actual: `4`, want: []string{`want a number ≤ 3, got 4`}},
		{name: "$regex finds", expected: `{"$regex":"^ORD-[0-9]+"}`, actual: `"ORD-1 x"`},
		{name: "$regex fails", expected: `{"$regex":"^x"}`, actual: `"yx"`, want: []string{`want a string that matches "^x", got "yx"`}},
		{name: "$regex of a number", expected: `{"$regex":"1"}`, actual: `1`, want: []string{`want a string that matches "1", got 1`}},
		{name: "$any takes null", expected: `{"a":{"$any":true}}`, actual: `{"a":null}`},
		{name: "$any does not take a missing field", expected: `{"a":{"$any":true}}`, actual: `{}`, want: []string{`a: want any value, got no such field`}},
		{name: "$any of alternatives", expected: `{"$any":["A",{"$gte":3}]}`, actual: `4`},
		{name: "$any of no alternative", expected: `{"$any":["A","B"]}`, actual: `"C"`, want: []string{`want one of ["A","B"], got "C"`}},
		{name: "$type of each", expected: `[{"$type":"string"},{"$type":"number"},{"$type":"integer"},{"$type":"boolean"},{"$type":"array"},{"$type":"object"},{"$type":"null"}]`, actual: `["x",1.5,10e-1,true,[],{},null]`},
		{name: "$type integer of a fraction", expected: `{"$type":"integer"}`, actual: `1.5`, want: []string{`want the type integer, got 1.5`}},
		{name: "$not of a literal", expected: `{"a":{"$not":"X"}}`, actual: `{"a":"Y"}`},
		{name: "$not fails", expected: `{"a":{"$not":"X"}}`, actual: `{"a":"X"}`, want: []string{`a: want not "X", got "X"`}},
		{name: "$not of a missing field fails", expected: `{"a":{"$not":"X"}}`, actual: `{}`, want: []string{`a: want not "X", got no such field`}},
		{name: "$not $any of a missing field", expected: `{"a":{"$not":{"$any":true}}}`, actual: `{}`},
		{name: "$not $any of null", expected: `{"a":{"$not":{"$any":true}}}`, actual: `{"a":null}`, want: []string{`a: want not any value, got null`}},
		{name: "$not of a matcher", expected: `{"$not":{"$regex":"x"}}`, actual: `"axb"`, want: []string{`want not a string that matches "x", got "axb"`}},
		{name: "$length of each", expected: `[{"$length":2},{"$length":2},{"$length":1}]`, actual: `["äö",[1,2],{"a":1}]`},
		{name: "$length by matcher", expected: `{"$length":{"$gte":1,"$lte":2}}`, actual: `[1,2,3]`, want: []string{`want a length of a number ≥ 1 and a number ≤ 2, got length 3: [1,2,3]`}},
		{name: "$length of a number", expected: `{"$length":1}`, actual: `5`, want: []string{`want a length of 1, got 5`}},
		{name: "$contains an element", expected: `{"$contains":{"id":2}}`, actual: `[{"id":1},{"id":2,"x":1}]`},
		{name: "$contains no element", expected: `{"$contains":{"id":3}}`, actual: `[{"id":1}]`, want: []string{`want something that contains {"id":3}, got [{"id":1}]`}},
		{name: "$contains a text", expected: `{"$contains":"b"}`, actual: `"abc"`},
		{name: "$contains no text", expected: `{"$contains":"x"}`, actual: `"abc"`, want: []string{`want something that contains "x", got "abc"`}},
		{name: "$contains of a string item is whole", expected: `{"$contains":"b"}`, actual: `["abc"]`, want: []string{`want something that contains "b", got ["abc"]`}},
		{name: "$contains of an object", expected: `{"$contains":"a"}`, actual: `{"a":1}`, want: []string{`want something that contains "a", got {"a":1}`}},
		{name: "all matchers must hold", expected: `{"$type":"array","$contains":1,"$length":3}`, actual: `[2]`, want: []string{`want something that contains 1, got [2]`, `want a length of 3, got length 1: [2]`}},

		{name: "an unknown matcher never passes", expected: `{"$not":{"$regx":"x"}}`, actual: `"y"`, want: []string{`/$not/$regx: $regx is no matcher; there are $any, $contains, $gte, $length, $lte, $not, $regex, $type`}},
		{name: "an unfilled placeholder never passes", expected: `{"$gte":"{{n}}"}`, actual: `1`, want: []string{`/$gte: $gte wants a number, not "{{n}}"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, d := range match.Partial(decode(t, test.expected), decode(t, test.actual)) {
				got = append(got, d.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("messages differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferenceHoldsTheValues(t *testing.T) {
	got := match.Partial(decode(t, `{"a":[{"b":null}],"c":"x"}`), decode(t, `{"a":[{}],"c":true}`))
	want := []match.Difference{
		{Path: "a[0].b", Missing: true, Message: "a[0].b: want null, got no such field"},
		{Path: "c", Expected: "x", Actual: true, Message: `c: want "x", got true`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differences differ (-want +got):\n%s", diff)
	}
}

func TestShowCutsBetweenCharacters(t *testing.T) {
	long := ""
	for range 100 {
		long += "ä"
	}
	got := match.Show(long)
	if want := `"` + long[:118] + "…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, expected, want string
	}{
		{name: "literals", expected: `{"a":[1,"x",null,{"b":true}]}`},
		{name: "every matcher", expected: `{"a":{"$gte":1,"$lte":2},"b":{"$regex":"x"},"c":{"$any":true},"d":{"$any":[1]},"e":{"$type":"null"},"f":{"$not":null},"g":{"$length":0},"h":{"$length":{"$gte":1}},"i":{"$contains":{"x":1}}}`},
		{name: "unknown", expected: `{"a":{"$gt":1}}`, want: "/a/$gt: $gt is no matcher; there are $any, $contains, $gte, $length, $lte, $not, $regex, $type"},
		{name: "mixed", expected: `{"a":{"$gte":1,"b":2}}`, want: `/a/b: "b" is a plain key beside matchers; an object holds the one or the other`},
		{name: "bad expression", expected: `{"$regex":"("}`, want: "/$regex: $regex is no RE2 expression: error parsing regexp: missing closing ): `(`"},
		{name: "expression of the wrong type", expected: `{"$regex":1}`, want: "/$regex: $regex wants a string, not 1"},
		{name: "bound of the wrong type", expected: `{"$lte":"1"}`, want: `/$lte: $lte wants a number, not "1"`},
		{name: "any false", expected: `{"$any":false}`, want: `/$any: $any wants true or a list of alternatives, not false`},
		{name: "unknown type", expected: `{"$type":"int"}`, want: `/$type: $type wants one of array, boolean, integer, null, number, object, string, not "int"`},
		{name: "negative length", expected: `{"$length":-1}`, want: `/$length: $length wants a whole number or matchers, not -1`},
		{name: "length of an object", expected: `{"$length":{"a":1}}`, want: `/$length: $length wants a whole number or matchers, not {"a":1}`},
		{name: "inside an operand", expected: `[{"$not":{"a/b":{"$x":1}}}]`, want: "/0/$not/a~1b/$x: $x is no matcher; there are $any, $contains, $gte, $length, $lte, $not, $regex, $type"},
		{name: "all of them", expected: `{"a":{"$gte":"1"},"b":{"$lte":"1"}}`, want: "/a/$gte: $gte wants a number, not \"1\"\n/b/$lte: $lte wants a number, not \"1\""},
		{name: "placeholders wait", expected: `{"a":{"$gte":"{{n}}"},"b":{"$regex":"({{x}}"}}`},
		{name: "at the root", expected: `{"$gte":null}`, want: "/$gte: $gte wants a number, not null"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var lines []string
			for _, p := range match.Check(decode(t, test.expected)) {
				lines = append(lines, p.String())
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// value draws a JSON tree as eval.Decode returns them, without $-keys.
func value() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any { return draw(t, 3) })
}

func draw(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2, 3:
		return rapid.String().Draw(t, "string")
	case 4:
		return number().Draw(t, "number")
	case 5:
		items := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			items = append(items, draw(t, depth-1))
		}
		return items
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[rapid.StringMatching(`[a-z. "]{0,3}`).Draw(t, "key")] = draw(t, depth-1)
		}
		return object
	}
}

func TestEverythingMatchesItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value().Draw(t, "value")
		if got := match.Partial(v, v); got != nil {
			t.Fatalf("got %v, want a match", got)
		}
	})
}

func TestExtraFieldsNeverBreakAMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := value().Draw(t, "value")
		if got := match.Partial(v, enrich(v)); got != nil {
			t.Fatalf("got %v, want a match", got)
		}
	})
}

// enrich copies a tree and adds a member to every object in it.
func enrich(v any) any {
	switch v := v.(type) {
	case []any:
		items := make([]any, len(v))
		for i := range v {
			items[i] = enrich(v[i])
		}
		return items
	case map[string]any:
		object := map[string]any{"a new field": "x"}
		for key := range v {
			object[key] = enrich(v[key])
		}
		return object
	default:
		return v
	}
}

// Whatever matches cannot have lost a member of an object.
func TestALostFieldAlwaysBreaksAMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inner := value().Draw(t, "value")
		expected := map[string]any{"a": map[string]any{"b": inner}}
		got := match.Partial(expected, map[string]any{"a": map[string]any{}})
		if len(got) != 1 || got[0].Path != "a.b" || !got[0].Missing {
			t.Fatalf("got %v, want a.b missing", got)
		}
	})
}

func FuzzPartial(f *testing.F) {
	f.Add(`{"a":{"$gte":1}}`, `{"a":1e0}`)
	f.Add(`{"$contains":{"$not":[{"$length":{"$lte":2}}]}}`, `[[1]]`)
	f.Add(`{"$any":[{"$regex":"("}]}`, `"x"`)
	f.Fuzz(func(t *testing.T, expected, actual string) {
		e, err := eval.Decode([]byte(expected))
		if err != nil {
			return
		}
		a, err := eval.Decode([]byte(actual))
		if err != nil {
			return
		}
		differences := match.Partial(e, a)
		for _, d := range differences {
			if d.Message == "" {
				t.Errorf("got a difference without a message at %q", d.Path)
			}
		}
		if len(match.Check(e)) > 0 && len(differences) == 0 {
			t.Error("got a match with an expectation that Check refuses")
		}
		if holdsNoMatcher(e) && len(match.Partial(e, e)) > 0 {
			t.Error("got a value that does not match itself")
		}
	})
}

func holdsNoMatcher(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if !holdsNoMatcher(item) {
				return false
			}
		}
	case map[string]any:
		for key, member := range v {
			if (key != "" && key[0] == '$') || !holdsNoMatcher(member) {
				return false
			}
		}
	}
	return true
}

func BenchmarkPartial(b *testing.B) {
	expected := decode(b, `{"customerId":"CUST-4091","status":"ACTIVE","n":99.97,"items":[{"a":1},{"b":{"$gte":2}}]}`)
	actual := decode(b, `{"customerId":"CUST-4091","status":"ACTIVE","n":9.997e1,"items":[{"a":1,"z":0},{"b":3}],"more":[1,2,3]}`)
	for b.Loop() {
		if d := match.Partial(expected, actual); d != nil {
			b.Fatal(d)
		}
	}
}

func TestEqual(t *testing.T) {
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{name: "scalars", a: `["x",true,null,1]`, b: `["x",true,null,1.0]`, want: true},
		{name: "big integers", a: `9007199254740993`, b: `9007199254740992`},
		{name: "objects in any order", a: `{"a":1,"b":{"c":2}}`, b: `{"b":{"c":2},"a":1}`, want: true},
		{name: "an extra member counts", a: `{"a":1}`, b: `{"a":1,"b":2}`},
		{name: "another member counts", a: `{"a":null}`, b: `{"b":null}`},
		{name: "an extra item counts", a: `[1]`, b: `[1,2]`},
		{name: "order counts", a: `[1,2]`, b: `[2,1]`},
		{name: "matchers are nothing special", a: `{"$any":true}`, b: `1`},
		{name: "types count", a: `[]`, b: `{}`},
		{name: "a string is no number", a: `"1"`, b: `1`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a, b := decode(t, test.a), decode(t, test.b)
			if got := match.Equal(a, b); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if got := match.Equal(b, a); got != test.want {
				t.Errorf("turned round: got %v, want %v", got, test.want)
			}
		})
	}
}
