package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/schema"
)

func TestCompile(t *testing.T) {
	tests := []struct {
		name, schema, wantErr string
	}{
		{name: "empty object", schema: `{}`},
		{name: "boolean", schema: `true`},
		{name: "object", schema: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{name: "draft 7", schema: `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"$ref":"#/definitions/a"}`},
		{name: "own $id", schema: `{"$id":"https://example.com/tool","$defs":{"a":{}},"$ref":"#/$defs/a"}`},
		{name: "look-ahead is legal", schema: `{"pattern":"^(?!x)"}`},
		{name: "code point escape is legal", schema: `{"pattern":"^[\\u0041-\\u{5A}]$"}`},
		{name: "no JSON", schema: `{`, wantErr: "compile schema: decode JSON"},
		{name: "two values", schema: `{} {}`, wantErr: "text after the value"},
		{name: "unknown type", schema: `{"properties":{"a":{"type":"strnig"}}}`, wantErr: "properties.a.type: "},
		{name: "properties is a list", schema: `{"properties":[]}`, wantErr: "properties: got array, want object"},
		{name: "dangling reference", schema: `{"$ref":"#/$defs/none"}`, wantErr: "$defs/none"},
		{name: "bad pattern", schema: `{"pattern":"("}`, wantErr: "pattern"},
		{name: "absurd number", schema: `{"minimum":1e2000000}`, wantErr: "number 1e2000000: exponents beyond 1000 are refused"},
		{name: "unknown draft", schema: `{"$schema":"https://example.com/mine"}`, wantErr: "never loaded"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := schema.Compile([]byte(test.schema))
			checkError(t, err, test.wantErr)
		})
	}
}

func TestNothingIsLoaded(t *testing.T) {
	for _, ref := range []string{
		"http://127.0.0.1:1/x.json", "https://example.com/x.json", "file:///etc/hostname", "other.json", "/etc/hostname", "schema:other",
	} {
		t.Run(ref, func(t *testing.T) {
			_, err := schema.Compile([]byte(`{"$ref":"` + ref + `"}`))
			if err == nil {
				t.Fatal("got no error, want a refusal")
			}
			if !errors.Is(err, schema.ErrRemote) && !strings.Contains(err.Error(), schema.ErrRemote.Error()) {
				t.Errorf("got %q, want %q in it", err, schema.ErrRemote)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	const order = `{"type":"object","required":["id"],"additionalProperties":false,"properties":{
		"id":{"type":"string","pattern":"^ORD-[0-9]+$"},
		"items":{"type":"array","items":{"type":"object","properties":{"status":{"type":"string"}}}},
		"n":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`
	tests := []struct {
		name, schema, value, wantErr string
	}{
		{name: "fits", schema: order, value: `{"id":"ORD-1","items":[{"status":"NEW"}],"n":null}`},
		{name: "path first", schema: order, value: `{"id":"ORD-1","items":[{"status":1}]}`, wantErr: "items[0].status: got number, want string"},
		{name: "missing at the root", schema: order, value: `{}`, wantErr: "value: missing property 'id'"},
		{name: "extra", schema: order, value: `{"id":"ORD-1","x":1}`, wantErr: "value: additional properties 'x' not allowed"},
		{name: "alternatives share a line", schema: order, value: `{"id":"ORD-1","n":1}`, wantErr: "n: got number, want null, or n: got number, want string"},
		{name: "pattern", schema: order, value: `{"id":"x"}`, wantErr: "id: 'x' does not match pattern"},
		{name: "several", schema: order, value: `{"id":1,"x":1,"items":[{"status":1},{"status":2}]}`, wantErr: "; and 1 more"},
		{name: "big integers are exact", schema: `{"const":9007199254740993}`, value: `9007199254740992`, wantErr: "value: "},
		{name: "1.0 is an integer", schema: `{"type":"integer","const":1}`, value: `1.0`},
		{name: "absurd number in a value", schema: `{"minimum":1}`, value: `[1e2000000]`, wantErr: "exponents beyond"},
		{name: "no JSON", schema: `{}`, value: `nope`, wantErr: "decode JSON"},
		{name: "code point escape", schema: `{"pattern":"^[\\u0041-\\u{5A}]$"}`, value: `"a"`, wantErr: "does not match"},
		{name: "format is an annotation", schema: `{"format":"email"}`, value: `"x"`},
		{name: "recursive", schema: `{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"required":["v"]}}}`, value: `{"v":1,"n":{"v":1,"n":{}}}`, wantErr: "n.n: missing property 'v'"},
		{name: "reference to itself", schema: `{"$ref":"#"}`, value: `1`, wantErr: "reference cycle"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := schema.Compile([]byte(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			checkError(t, s.Validate([]byte(test.value)), test.wantErr)
		})
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"pattern":"^(?=x)"}},"required":["a"]}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `[]`)
	f.Add(`{"multipleOf":1e-999}`, `1e999`)
	f.Fuzz(func(t *testing.T, raw, value string) {
		s, err := schema.Compile([]byte(raw))
		if err != nil {
			return
		}
		if err := s.Validate([]byte(value)); err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line", err)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	s, err := schema.Compile([]byte(`{"type":"object","required":["id"],"properties":{"id":{"type":"string","pattern":"^[A-Z]+-[0-9]+$"}}}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Validate([]byte(`{"id":"ORD-1"}`)); err != nil {
			b.Fatal(err)
		}
	}
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
