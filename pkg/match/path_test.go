package match_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
)

func TestPath(t *testing.T) {
	const root = `{"primaryRegion":"EU","n":9007199254740993,"nil":null,
		"a":{"b":[{"c":1},{"c":2}],"x-y":3,"größe":4},"z":{"k":1},"y":{"k":2},"x":{"k":3},
		"a.b":"literal","a[0":"odd","$id":"dollar","q\"uote":{"t\tab":5}}`
	tests := []struct {
		name, path, want string // want "" means nothing found
	}{
		{name: "plain name", path: "primaryRegion", want: `"EU"`},
		{name: "exact number", path: "n", want: `9007199254740993`},
		{name: "null is found", path: "nil", want: `null`},
		{name: "dots and index", path: "a.b[1].c", want: `2`},
		{name: "negative index", path: "a.b[-1].c", want: `2`},
		{name: "dash", path: "a.x-y", want: `3`},
		{name: "letters beyond ASCII", path: "a.größe", want: `4`},
		{name: "quoted name", path: `a["x-y"]`, want: `3`},
		{name: "quoted name with an escape", path: "[\"q\\\"uote\"].t\tab", want: `5`},
		{name: "characters that need escapes", path: "q\"uote.t\tab", want: `5`},
		{name: "a literal key comes first", path: "a.b", want: `"literal"`},
		{name: "unless JSONPath says otherwise", path: "$.a.b[0]", want: `{"c":1}`},
		{name: "root", path: "$", want: ""},
		{name: "wildcard yields all", path: "a.b[*].c", want: `[1,2]`},
		{name: "plain wildcard", path: "a.b[0].*", want: `[1]`},
		{name: "descent, ordered by place", path: "$..k", want: `[3,2,1]`},
		{name: "filter", path: "$.a.b[?@.c > 1]", want: `[{"c":2}]`},
		{name: "plain filter with brackets", path: "a.b[?@['c']==1].c", want: `[1]`},
		{name: "slice", path: "$.a.b[0:1].c", want: `[1]`},
		{name: "missing name", path: "nope", want: ""},
		{name: "missing index", path: "a.b[7]", want: ""},
		{name: "through a scalar", path: "primaryRegion.x", want: ""},
		{name: "wildcard over nothing", path: "nope[*]", want: ""},
		{name: "JSONPath that is a key", path: "$id", want: `"dollar"`},
		{name: "no path, but a key", path: "a[0", want: `"odd"`},
	}
	tree := decode(t, root)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if test.path == "$" {
				want = string(eval.Encode(tree))
			}
			// Objects are walked in random order: once is no proof.
			for range 20 {
				v, ok, err := match.Get(tree, test.path)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				if ok {
					got = string(eval.Encode(v))
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("value differs (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestPathOfAnArray(t *testing.T) {
	v, ok, err := match.Get(decode(t, `[{"id":7}]`), "[0].id")
	if err != nil || !ok || string(eval.Encode(v)) != "7" {
		t.Errorf("got %v, %v, %v, want 7", v, ok, err)
	}
}

func TestParsePathErrors(t *testing.T) {
	tests := []struct {
		name, path, want string
	}{
		{name: "empty", path: "", want: `path "": it is empty`},
		{name: "empty name", path: "a..b", want: `path "a..b": a name is empty`},
		{name: "trailing dot", path: "a.", want: `path "a.": a name is empty`},
		{name: "leading dot", path: ".a", want: `path ".a": a name is empty`},
		{name: "open bracket", path: "a[0", want: `path "a[0": a [ is never closed`},
		{name: "no dot after a bracket", path: "a[0]b", want: `path "a[0]b": want a dot before "b"`},
		{name: "bad index", path: "a[x]", want: `path "a[x]": jsonpath: `},
		{name: "bad JSONPath", path: "$.a[", want: `path "$.a[": jsonpath: `},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := match.ParsePath(test.path)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got %v, want %s…", err, test.want)
			}
		})
	}
}

// Any name without dots and brackets finds the member that it names.
func TestPlainNamesFindTheirMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[^.\[\]$*][^.\[\]]{0,8}`).Draw(t, "name")
		path, err := match.ParsePath("outer." + name)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := path.Get(map[string]any{"outer": map[string]any{name: "here"}})
		if !ok || got != "here" {
			t.Fatalf("got %v, %v, want here", got, ok)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	f.Add("a.b[0].c")
	f.Add(`$..a[?@.b == "x" && length(@.c) > 1]`)
	f.Add(`a["b]"][?@['x']]`)
	f.Fuzz(func(t *testing.T, s string) {
		path, err := match.ParsePath(s)
		if err != nil {
			return
		}
		path.Get(map[string]any{"a": []any{map[string]any{"b": "x"}, nil, true}})
	})
}

func BenchmarkPathGet(b *testing.B) {
	tree := decode(b, `{"a":{"b":[{"c":1},{"c":2}]}}`)
	path, err := match.ParsePath("a.b[1].c")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, ok := path.Get(tree); !ok {
			b.Fatal("got nothing")
		}
	}
}
