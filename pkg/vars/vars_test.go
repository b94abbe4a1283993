package vars_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/vars"
)

func lookup(values map[string]string) vars.Lookup {
	return func(name string) (json.RawMessage, bool) {
		value, ok := values[name]
		return json.RawMessage(value), ok
	}
}

var values = map[string]string{
	"own":         `"CUST-4091"`,
	"n":           `6`,
	"big":         `9007199254740993`,
	"yes":         `true`,
	"none":        `null`,
	"list":        `[1, {"a": "b"}]`,
	"axis.tenant": `"acme"`,
	"row.id":      `"r-1"`,
	"evil":        `"{{own}} <b>&"`,
	"größe":       `"XL"`,
	"broken":      `{`,
}

func TestFillString(t *testing.T) {
	tests := []struct {
		name, in, want, wantErr string
	}{
		{name: "no placeholder", in: "plain { text } }}", want: "plain { text } }}"},
		{name: "empty", in: "", want: ""},
		{name: "string verbatim", in: "of {{own}}.", want: "of CUST-4091."},
		{name: "two, touching", in: "{{own}}{{n}}", want: "CUST-40916"},
		{name: "spaces inside", in: "{{  own }}", want: "CUST-4091"},
		{name: "dots and dashes", in: "{{axis.tenant}}/{{row.id}}", want: "acme/r-1"},
		{name: "letters beyond ASCII", in: "{{größe}}", want: "XL"},
		{name: "number keeps its digits", in: "{{big}}", want: "9007199254740993"},
		{name: "boolean and null", in: "{{yes}} {{none}}", want: "true null"},
		{name: "list is compact", in: "{{list}}", want: `[1,{"a":"b"}]`},
		{name: "escape", in: "{{{{own}}", want: "{{own}}"},
		{name: "escape before a placeholder", in: "{{{{{{own}}", want: "{{CUST-4091"},
		{name: "filled text is not scanned again", in: "{{evil}}", want: "{{own}} <b>&"},
		{name: "missing", in: "{{nobody}}", wantErr: "nothing gives {{nobody}} a value"},
		{name: "unclosed", in: "ab {{own", wantErr: "placeholder at byte 3: {{ is never closed by }}"},
		{name: "empty name", in: "{{ }}", wantErr: "placeholder at byte 0: {{}} holds no name"},
		{name: "bad name", in: "x{{a b}}", wantErr: `placeholder at byte 1: "a b" is no name`},
		{name: "three braces", in: "{{{own}}}", wantErr: `placeholder at byte 0: "{own" is no name`},
		{name: "value is no JSON", in: "{{broken}}", wantErr: "the value of {{broken}} is no JSON"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := vars.FillString(test.in, lookup(values))
			checkError(t, err, test.wantErr)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFill(t *testing.T) {
	tests := []struct {
		name, in, want, wantErr string
	}{
		{name: "empty", in: "", want: ""},
		{name: "whole scalar keeps its type", in: `{"a":"{{n}}","b":"{{ yes }}","c":"{{none}}","d":"{{list}}"}`, want: `{"a":6,"b":true,"c":null,"d":[1,{"a":"b"}]}`},
		{name: "inside a text it is text", in: `{"a":"n={{n}}"}`, want: `{"a":"n=6"}`},
		{name: "with a space around it is text", in: `" {{n}}"`, want: `" 6"`},
		{name: "exact numbers", in: `{"a":9007199254740993,"b":1.0,"c":1e400,"d":"{{big}}"}`, want: `{"a":9007199254740993,"b":1.0,"c":1e400,"d":9007199254740993}`},
		{name: "keys are left alone", in: `{"{{own}}":"{{own}}"}`, want: `{"{{own}}":"CUST-4091"}`},
		{name: "nested", in: `[[{"a":["{{own}}"]}]]`, want: `[[{"a":["CUST-4091"]}]]`},
		{name: "escaped braces in JSON", in: `"\u007b\u007bown}}"`, want: `"CUST-4091"`},
		{name: "no HTML escapes", in: `"<{{evil}}>"`, want: `"<{{own}} <b>&>"`},
		{name: "whole value is not scanned again", in: `"{{evil}}"`, want: `"{{own}} <b>&"`},
		{name: "escape", in: `"{{{{n}}"`, want: `"{{n}}"`},
		{name: "missing, with its place", in: `{"a":[0,"{{nobody}}"]}`, wantErr: "/a/1: nothing gives {{nobody}} a value"},
		{name: "malformed, with its place", in: `{"a/b":"{{x"}`, wantErr: "/a~1b: placeholder at byte 0"},
		{name: "no JSON", in: `{"a":`, wantErr: "decode JSON"},
		{name: "text after the value", in: `1 2`, wantErr: "text after the value"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := vars.Fill(json.RawMessage(test.in), lookup(values))
			checkError(t, err, test.wantErr)
			if string(got) != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestMissingErrorNamesTheVariable(t *testing.T) {
	_, err := vars.Fill(json.RawMessage(`{"a":"{{nobody}}"}`), lookup(values))
	var missing *vars.MissingError
	if !errors.As(err, &missing) || missing.Name != "nobody" {
		t.Errorf("got %v, want a MissingError of nobody", err)
	}
}

func TestSyntaxErrorHasAnOffset(t *testing.T) {
	_, err := vars.Names(json.RawMessage(`["ok", "äb {{x"]`))
	var syntax *vars.SyntaxError
	if !errors.As(err, &syntax) || syntax.Offset != 4 {
		t.Errorf("got %v, want a SyntaxError at byte 4", err)
	}
}

func TestNames(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{name: "empty", in: ""},
		{name: "none", in: `{"a":1}`},
		{name: "every string at any depth, once", in: `{"a":"{{x}}{{y}}","b":[{"c":"{{x}} {{z.z}}"}]}`, want: []string{"x", "y", "z.z"}},
		{name: "keys excluded", in: `{"{{k}}":"{{v}}"}`, want: []string{"v"}},
		{name: "escapes excluded", in: `"{{{{x}} {{y}}"`, want: []string{"y"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := vars.Names(json.RawMessage(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names differ (-want +got):\n%s", diff)
			}
		})
	}
}

// Escaping every {{ of a text and filling it gives the text back, whatever it
// holds. A text that ends in a brace, or has three in a row, is still a text.
func TestEscapedTextComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`([a-z {}]|\{\{|\}\}){0,20}`).Draw(t, "text")
		got, err := vars.FillString(strings.ReplaceAll(text, "{{", "{{{{"), lookup(nil))
		if err != nil || got != text {
			t.Fatalf("got %q (%v), want %q", got, err, text)
		}
	})
}

// A variable comes out exactly as it went in, whatever it holds, alone and
// inside a text.
func TestValuesComeThroughUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		value, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		find := lookup(map[string]string{"v": string(value)})
		if got, err := vars.FillString("<{{v}}>", find); err != nil || got != "<"+text+">" {
			t.Fatalf("got %q (%v), want %q", got, err, "<"+text+">")
		}
		filled, err := vars.Fill(json.RawMessage(`["{{v}}"]`), find)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		if err := json.Unmarshal(filled, &got); err != nil || got[0] != text {
			t.Fatalf("got %q (%v), want %q", got, err, text)
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add(`{"a":"{{n}} {{own}}","b":[1.0,"{{list}}"]}`)
	f.Add(`"{{{{{{own}}"`)
	f.Add(`"{{"`)
	f.Fuzz(func(t *testing.T, in string) {
		names, err := vars.Names(json.RawMessage(in))
		filled, fillErr := vars.Fill(json.RawMessage(in), func(string) (json.RawMessage, bool) {
			return json.RawMessage(`"{{x}}"`), true
		})
		if (err == nil) != (fillErr == nil) {
			t.Fatalf("Names says %v, Fill says %v", err, fillErr)
		}
		if err == nil && in != "" && !json.Valid(filled) {
			t.Fatalf("got %q, which is no JSON", filled)
		}
		if err == nil && len(names) > 0 && !strings.Contains(string(filled), "{{x}}") {
			t.Fatalf("got %q, want the value of %v in it", filled, names)
		}
	})
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("got no error, want %q", want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("got error %q, want %q", err, want)
	}
}
