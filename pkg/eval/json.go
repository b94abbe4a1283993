package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSON is a raw JSON value. It is kept verbatim, because decoding into float64
// would round integers beyond 2^53.
type JSON = json.RawMessage

// Decode parses one JSON value into map[string]any, []any, string, bool, nil
// and [json.Number] leaves. Anything after the value is an error.
func Decode(raw []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("decode JSON: text after the value")
	}
	return v, nil
}

// DecodeExact decodes a JSON object into a struct by the json names of its fields,
// spelled exactly: encoding/json would take "IsError" for isError, which no
// stricter client does.
func DecodeExact(raw []byte, into any) error {
	var members map[string]JSON
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	v := reflect.ValueOf(into).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		member, ok := members[name]
		if !ok {
			continue
		}
		if err := json.Unmarshal(member, v.Field(i).Addr().Interface()); err != nil {
			if mistyped, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && mistyped.Field == "" {
				mistyped.Field = name
			}
			return err
		}
	}
	return nil
}

// Encode is the canonical form of a decoded value: sorted keys, no white
// space, no HTML escapes. It panics on values that JSON cannot hold, which
// [Decode] never returns.
func Encode(v any) JSON {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}
