package vars

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Lookup finds the value of a name: one JSON value.
type Lookup func(name string) (json.RawMessage, bool)

// A MissingError names a placeholder that has no value.
type MissingError struct {
	Name string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("nothing gives {{%s}} a value", e.Name)
}

// FillString replaces the placeholders in s: a JSON string by its text, any
// other value by its compact JSON. Errors are [*SyntaxError], [*MissingError],
// or a value that is no JSON.
func FillString(s string, lookup Lookup) (string, error) {
	parts, err := scan(s)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range parts {
		if p.name == "" {
			out.WriteString(p.text)
			continue
		}
		text, err := textOf(p.name, lookup)
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// Fill replaces the placeholders in every string of a JSON value, at any depth;
// keys stay as they are. A string that is one placeholder and nothing else
// becomes the value itself with its type. Numbers keep their digits. The order
// of keys and the white space may change. An error says at which JSON pointer
// it happened. Empty raw stays empty.
func Fill(raw json.RawMessage, lookup Lookup) (json.RawMessage, error) {
	if len(raw) == 0 {
		return raw, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, err
	}
	tree, err = walk(tree, "", func(s string) (any, error) {
		parts, err := scan(s)
		if err != nil {
			return nil, err
		}
		if len(parts) == 1 && parts[0].name != "" {
			return valueOf(parts[0].name, lookup)
		}
		return FillString(s, lookup)
	})
	if err != nil {
		return nil, err
	}
	return encode(tree)
}

// valueOf looks a name up and checks that its value is JSON.
func valueOf(name string, lookup Lookup) (json.RawMessage, error) {
	value, ok := lookup(name)
	if !ok {
		return nil, &MissingError{name}
	}
	if !json.Valid(value) {
		return nil, fmt.Errorf("the value of {{%s}} is no JSON", name)
	}
	return value, nil
}

func textOf(name string, lookup Lookup) (string, error) {
	value, err := valueOf(name, lookup)
	if err != nil {
		return "", err
	}
	var text string
	if json.Unmarshal(value, &text) == nil && !bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return text, nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return "", fmt.Errorf("the value of {{%s}}: %w", name, err)
	}
	return compact.String(), nil
}

// decode keeps numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("decode JSON: text after the value")
	}
	return tree, nil
}

func encode(tree any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
