package strictyaml_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// render is what a person sees of the problems.
func render(problems []strictyaml.Problem) string {
	strictyaml.Sort(problems)
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.Render())
	}
	return b.String()
}

func TestValuesBecomeJSON(t *testing.T) {
	tests := []struct{ name, yaml, want string }{
		{"plain", "a: 1\nb: [x, true, null, ~]", `{"a":1,"b":["x",true,null,null]}`},
		{"order of keys is kept", "z: 1\na: 2", `{"z":1,"a":2}`},
		{"big integer", "n: 9007199254740993", `{"n":9007199254740993}`},
		{"decimals verbatim", "n: [1.10, 1e400, -0.0]", `{"n":[1.10,1e400,-0.0]}`},
		{"other notations", "n: [0x1F, 0o17, +5, .5, 5., -.5, 1.e3]", `{"n":[31,15,5,0.5,5,-0.5,1e3]}`},
		{"dates are text", "d: 2024-08-15", `{"d":"2024-08-15"}`},
		{"no HTML escapes", `s: "<script>&\u2028"`, `{"s":"<script>&\u2028"}`},
		{"quoted numbers are text", `s: ["0123", '1_000', "no"]`, `{"s":["0123","1_000","no"]}`},
		{"blocks", "s: |\n  a\n  b\nf: >\n  a\n  b\n", `{"s":"a\nb\n","f":"a b\n"}`},
		{"tagged string", "s: !!str 12", `{"s":"12"}`},
		{"alias", "a: &x {k: 1}\nb: *x", `{"a":{"k":1},"b":{"k":1}}`},
		{"merge key", "a: &x {k: 1, l: 2}\nb:\n  <<: *x\n  l: 3", `{"a":{"k":1,"l":2},"b":{"l":3,"k":1}}`},
		{"several merged maps, the first wins", "a: &x {k: 1}\nb: &y {k: 2, m: 3}\nc: {<<: [*x, *y]}", `{"a":{"k":1},"b":{"k":2,"m":3},"c":{"k":1,"m":3}}`},
		{"keys that look like other types", "on: 1\n12: 2\ntrue: 3", `{"on":1,"12":2,"true":3}`},
		{"BOM", "\ufeffa: 1", `{"a":1}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, problems := strictyaml.Parse("a.yaml", []byte(test.yaml))
			if len(problems) > 0 {
				t.Fatal(render(problems))
			}
			if got := string(n.JSON()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestJSONFiles(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{"tabs", "{\n\t\"a\": [1,\n\t\t2]\n}", `{"a":[1,2]}`},
		{"surrogate pairs", `{"a": "\ud83d\ude00", "b": "\/"}`, `{"a":"😀","b":"/"}`},
		{"numbers verbatim", `[9007199254740993, 1.10, 1E2]`, `[9007199254740993,1.10,1E2]`},
		{"BOM", "\ufeff[]", `[]`},
		{"no YAML traps", `["no", "0123"]`, `["no","0123"]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, problems := strictyaml.Parse("a.json", []byte(test.json))
			if len(problems) > 0 {
				t.Fatal(render(problems))
			}
			if got := string(n.JSON()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestProblemsOfFiles(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"empty", "a.yaml", "", `
error: the file is empty
  --> a.yaml
`},
		{"only a comment", "a.yaml", "# nothing\n", `
error: the file is empty
  --> a.yaml
`},
		{"NUL", "a.yaml", "a: 1\nb: \x00", `
error: the file holds a NUL byte
  --> a.yaml:2:4
   2 | b:  
     |    ^ is it a text file in UTF-8?
`},
		{"no UTF-8", "a.yaml", "a: \xff", `
error: byte 0xff is not UTF-8
  --> a.yaml:1:4
   1 | a: ` + "\ufffd" + `
     |    ^ save the file as UTF-8
`},
		{"several documents", "a.yaml", "a: 1\n---\nb: 1\n", `
error: the file holds several YAML documents
  --> a.yaml:2:1
   2 | ---
     | ^ one file, one document; remove the --- line
`},
		{"everything at once", "a.yaml", "a: 0123\na: 1\nb: {{name}}\nc: 1_000\nd: !thing x\ne: .inf\nf: no\ng: 12:30\n? [x]\n: 1\n", `
error: 0123 is read differently by different versions of YAML
  --> a.yaml:1:4
   1 | a: 0123
     |    ^ quote it ("0123") or write the number without a leading 0 or _
error: duplicate key "a"
  --> a.yaml:2:1
   2 | a: 1
     | ^ it is already in line 1
error: unquoted {{name}}
  --> a.yaml:3:4
   3 | b: {{name}}
     |    ^ YAML reads an unquoted {{ as a map; quote the whole value: "{{name}}"
error: 1_000 is read differently by different versions of YAML
  --> a.yaml:4:4
   4 | c: 1_000
     |    ^ quote it ("1_000") or write the number without a leading 0 or _
error: tag "!thing" is not supported
  --> a.yaml:5:4
   5 | d: !thing x
     |    ^ write plain strings, numbers, lists and maps
error: ".inf" is no number that JSON has
  --> a.yaml:6:4
   6 | e: .inf
     |    ^ quote it to make it text
warning: unquoted no is text here, but true or false in YAML 1.1
  --> a.yaml:7:4
   7 | f: no
     |    ^ quote it ("no"), or write true or false
warning: unquoted 12:30 is text here, but a number to the base of 60 in YAML 1.1
  --> a.yaml:8:4
   8 | g: 12:30
     |    ^ quote it ("12:30")
error: a key must be text
  --> a.yaml:9:3
   9 | ? [x]
     |   ^
`},
		{"braces that break the syntax", "a.yaml", "a: 1\nprompt: {{name}} please\n", `
error: not valid YAML: did not find expected key
  --> a.yaml:2:9
   2 | prompt: {{name}} please
     |         ^ YAML reads an unquoted {{ as a map; quote the whole value: "{{name}}"
`},
		{"an expression in a flow map", "a.yaml", "env: {TOKEN: ${{ secrets.X }}}\n", `
error: not valid YAML: did not find expected ',' or '}'
  --> a.yaml:1:14
   1 | env: {TOKEN: ${{ secrets.X }}}
     |              ^ YAML reads an unquoted {{ as a map; quote the whole value: "{{name}}"
`},
		{"a question in a flow map", "a.yaml", "- {prompt: Where is it?, id: a}\n", `
error: not valid YAML: did not find expected ',' or '}'
  --> a.yaml:1:23
   1 | - {prompt: Where is it?, id: a}
     |                       ^ inside { } and [ ] a ? must not end an unquoted text; quote the text
`},
		{"an alias inside itself", "a.yaml", "a: &x [1, *x]\n", `
error: alias "x" stands for a value that contains itself
  --> a.yaml:1:11
   1 | a: &x [1, *x]
     |           ^
`},
		{"merging no map", "a.yaml", "a: {<<: 5}\n", `
error: << merges maps, got the number 5
  --> a.yaml:1:9
   1 | a: {<<: 5}
     |         ^
`},
		{"JSON with a comma too many", "a.json", "{\n  \"a\": 1,\n}", `
error: not valid JSON: invalid character '}' looking for beginning of object key string
  --> a.json:3:1
   3 | }
     | ^
`},
		{"JSON that ends early", "a.json", "{\"a\": [1", `
error: the file ends in the middle of a JSON value
  --> a.json:1:9
   1 | {"a": [1
     |         ^
`},
		{"JSON with a duplicate key", "a.json", `{"a": 1, "é": 2, "a": 3}`, `
error: duplicate key "a"
  --> a.json:1:18
   1 | {"a": 1, "é": 2, "a": 3}
     |                  ^ it is already in line 1
`},
		{"two JSON values", "a.json", "{}\n{}", `
error: text after the JSON value
  --> a.json:2:1
   2 | {}
     | ^ a JSON file holds one value
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := strictyaml.Parse(test.file, []byte(test.text))
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), render(problems)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'z'; c++ {
		p := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + strings.Join([]string{p, p, p, p, p, p, p, p, p, p}, ",*") + "]\n"
	}
	tests := []struct{ name, file, text, want string }{
		{"size", "a.yaml", strings.Repeat("#", strictyaml.MaxBytes+1), "the file has more than 5242880 bytes"},
		{"text of aliases", "a.yaml", "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a,", 100) + "]\n", "the file has more than 500000 values, or more than 33554432 bytes in them"},
		{"aliases", "a.yaml", bomb, "the file has more than 500000 values, or more than 33554432 bytes in them"},
		{"depth of lists", "a.yaml", strings.Repeat("[", 101) + strings.Repeat("]", 101), "more than 100 levels deep"},
		{"depth of maps", "a.yaml", strings.Repeat("{a: ", 101) + "1" + strings.Repeat("}", 101), "more than 100 levels deep"},
		{"depth of JSON", "a.json", strings.Repeat("[", 101) + strings.Repeat("]", 101), "more than 100 levels deep"},
		{"values", "a.json", "[" + strings.Repeat("0,", 500_001) + "0]", "the file has more than 500000 values, or more than 33554432 bytes in them"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := strictyaml.Parse(test.file, []byte(test.text))
			if len(problems) != 1 || problems[0].Message != test.want {
				t.Errorf("got %d problems, %s\nwant one: %s", len(problems), render(problems[:min(3, len(problems))]), test.want)
			}
		})
	}
	t.Run("as deep as allowed", func(t *testing.T) {
		text := strings.Repeat("[", 100) + strings.Repeat("]", 100)
		for _, file := range []string{"a.yaml", "a.json"} {
			n, problems := strictyaml.Parse(file, []byte(text))
			if len(problems) > 0 || string(n.JSON()) != text {
				t.Errorf("%s: got %s, want no problems", file, render(problems))
			}
		}
	})
}

func TestRows(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"JSON lines", "a.jsonl", "{\"a\": 1}\n\n{\"a\": [2]}\n", `{"a":1} {"a":[2]}`},
		{"JSON list", "a.json", `[{"a": 1}, {"a": 2}]`, `{"a":1} {"a":2}`},
		{"CSV", "a.csv", "ask,answer\n\"x, y\",1\nno,0123\n", `{"ask":"x, y","answer":"1"} {"ask":"no","answer":"0123"}`},
		{"empty CSV", "a.csv", "", ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			rows, problems := strictyaml.ParseRows(test.file, []byte(test.text))
			if len(problems) > 0 {
				t.Fatal(render(problems))
			}
			var got []string
			for _, row := range rows {
				got = append(got, string(row.JSON()))
			}
			if s := strings.Join(got, " "); s != test.want {
				t.Errorf("got %s, want %s", s, test.want)
			}
		})
	}
}

func TestProblemsOfRows(t *testing.T) {
	tests := []struct{ name, file, text, want string }{
		{"a row that is no object", "a.jsonl", "{}\n5\n", `
error: want an object, got the number 5
  --> a.jsonl:2:1
   2 | 5
     | ^ every row is an object
`},
		{"a broken line", "a.jsonl", "{\"a\": 1}\n{\"a\" 1}\n", `
error: not valid JSON: invalid character '1' after object key
  --> a.jsonl:2:6
   2 | {"a" 1}
     |      ^
`},
		{"no list", "a.json", `{"a": 1}`, `
error: want a list of rows, got a map
  --> a.json:1:1
   1 | {"a": 1}
     | ^
`},
		{"CSV with a short row", "a.csv", "a,b\n1,2\n3\n", `
error: not valid CSV: wrong number of fields
  --> a.csv:3:1
   3 | 3
     | ^
`},
		{"CSV with a field twice", "a.csv", "é,é\n1,2\n3,4\n", `
error: duplicate key "é"
  --> a.csv:1:3
   1 | é,é
     |   ^ it is already in line 1
`},
		{"unknown format", "a.txt", "x", `
error: a data set is a .jsonl, .json or .csv file
  --> a.txt
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, problems := strictyaml.ParseRows(test.file, []byte(test.text))
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), render(problems)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever a file holds, reading it ends, and what was read is valid JSON that
// reads back as itself.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"a: 1\nb: [x, {y: z}]", "a: &x [1]\nb: *x", "{<<: {a: 1}}", "a: {{b}}", "- |\n  x\n", "a: 0x1F\nb: 1e3\nc: .5", "'a': \"\\u0041\"", "? a\n: b", "!!int x", "a: !!bool yes", "%YAML 1.1\n---\na",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, problems := strictyaml.Parse("a.yaml", data)
		render(problems)
		if n == nil {
			if len(problems) == 0 {
				t.Fatal("got nothing and no problem")
			}
			return
		}
		text := n.JSON()
		again, problems := strictyaml.Parse("a.json", text)
		if len(problems) > 0 {
			t.Fatalf("%s\nread back: %s", text, render(problems))
		}
		if got := again.JSON(); string(got) != string(text) {
			t.Errorf("got %s, want %s", got, text)
		}
	})
}
