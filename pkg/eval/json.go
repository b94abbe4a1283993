package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
