package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schema"
)

// readArguments reads the arguments of a call as a model wrote them. They come
// in one form, with sorted keys and none twice, so that what was checked is what
// a server reads. No text at all means no arguments.
func readArguments(written string) (eval.JSON, error) {
	if strings.TrimSpace(written) == "" {
		return eval.JSON("{}"), nil
	}
	value, err := eval.Decode([]byte(written))
	if err != nil {
		return nil, err
	}
	if _, ok := value.(map[string]any); !ok {
		return nil, errors.New("they are no JSON object")
	}
	return eval.Encode(value), nil
}

// A validator compares arguments with the schema of a tool. It is prepared when
// the tool is called for the first time: most tools of a listing never are.
type validator struct {
	raw      eval.JSON
	prepared bool
	compiled *schema.Schema
}

// prepare compiles the schema, or says why it cannot be had. Then everything
// goes to the server as it is.
func (v *validator) prepare() error {
	if v.prepared {
		return nil
	}
	v.prepared = true
	if err := bounded(v.raw); err != nil {
		return err
	}
	var err error
	v.compiled, err = schema.Compile(v.raw)
	return err
}

// check says what is wrong with arguments.
func (v *validator) check(arguments eval.JSON) error {
	if v.compiled == nil {
		return nil
	}
	return v.compiled.Validate(arguments)
}

// bounded refuses schemas that would take long to compile, which takes time that
// grows with the square of size and depth.
func bounded(raw eval.JSON) error {
	const (
		maxBytes = 64 << 10
		maxDepth = 100 // of JSON: two for each property within a property
	)
	if len(raw) > maxBytes {
		return fmt.Errorf("it has %d bytes, more than %d", len(raw), maxBytes)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for depth := 0; ; {
		token, err := dec.Token()
		if err != nil {
			return nil //nolint:nilerr // its end, or what compiling will say better
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth > maxDepth {
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		}
	}
}
