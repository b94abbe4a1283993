package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrRemote is what a schema gets that refers to another document.
var ErrRemote = errors.New("other documents are never loaded")

// A Schema is a compiled JSON Schema. It may be used by several goroutines.
type Schema struct {
	compiled *jsonschema.Schema
}

// Compile checks a schema against the metaschema of its draft and prepares it
// for validation. The drafts are those from 4 to 2020-12. format is an
// annotation from draft 2019-09 on, as the specification says.
func Compile(raw []byte) (*Schema, error) {
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(refusing{})
	c.UseRegexpEngine(compilePattern)
	// The name is only the base of relative references; nothing is there.
	const name = "schema:///document"
	if err := c.AddResource(name, doc); err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
			err = invalid.Err
		}
		return nil, fmt.Errorf("compile schema: %w", shorten(err))
	}
	return &Schema{compiled}, nil
}

// Validate checks one JSON value. The error of a value that does not fit is
// one line that begins with the path of the place, such as
// "items[0].status: got number, want string".
func (s *Schema) Validate(raw []byte) error {
	value, err := decode(raw)
	if err != nil {
		return err
	}
	return shorten(s.compiled.Validate(value))
}

// refusing is a loader that loads nothing.
type refusing struct{}

func (refusing) Load(string) (any, error) { return nil, ErrRemote }

// maxExponent bounds numbers: exact arithmetic writes 1e1000000 out in full, so
// that a few bytes of a hostile schema would cost seconds. A float64 ends at
// 1e308.
const maxExponent = 1000

// decode reads one JSON value with exact numbers and refuses absurd ones.
func decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("decode JSON: text after the value")
	}
	return value, checkNumbers(value)
}
