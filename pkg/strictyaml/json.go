package strictyaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// jsonReader builds a tree from JSON tokens. JSON files do not go through the
// YAML parser, which refuses tabs between tokens and surrogate pairs in
// strings.
type jsonReader struct {
	builder
	dec   *json.Decoder
	place *cursor
}

func newJSONReader(src *Source) *jsonReader {
	data := bytes.TrimPrefix(src.data, []byte("\ufeff"))
	src = newSource(src.name, data)
	r := &jsonReader{builder: builder{src: src}, dec: json.NewDecoder(bytes.NewReader(data)), place: src.cursor()}
	r.dec.UseNumber()
	return r
}

func parseJSON(src *Source) (*Node, []Problem) {
	r := newJSONReader(src)
	n := r.value(1)
	if n == nil {
		return nil, r.problems
	}
	if pos := r.next(); pos.source != nil {
		r.report(pos, "text after the JSON value", "a JSON file holds one value")
	}
	return n, r.problems
}

// next is where the next token starts; no place at the end of the file.
func (r *jsonReader) next() Pos {
	for i := int(r.dec.InputOffset()); i < len(r.src.data); i++ {
		if strings.IndexByte(" \t\r\n,:", r.src.data[i]) < 0 {
			return r.place.to(i)
		}
	}
	return Pos{}
}

// token reads the next token; false means that it reported why there is none.
func (r *jsonReader) token() (json.Token, Pos, bool) {
	pos := r.next()
	tok, err := r.dec.Token()
	if err == nil {
		return tok, pos, true
	}
	syntax, malformed := errors.AsType[*json.SyntaxError](err)
	switch {
	case pos.source == nil:
		r.report(r.src.at(len(r.src.data)), "the file ends in the middle of a JSON value", "")
	case malformed:
		// The decoder points behind the bad byte of a token, or before the
		// white space in front of a bad token.
		bad := min(max(r.place.offset, int(syntax.Offset)-1), len(r.src.data))
		r.report(r.src.at(bad), "not valid JSON: "+visible(syntax.Error()), "")
	default:
		r.report(pos, "not valid JSON: "+visible(err.Error()), "")
	}
	return nil, pos, false
}

// value reads one value; nil means that reading cannot go on.
func (r *jsonReader) value(depth int) *Node {
	tok, pos, ok := r.token()
	if !ok || !r.grow(pos, depth, 0) {
		return nil
	}
	n := &Node{Pos: pos}
	switch t := tok.(type) {
	case nil:
		n.Kind, n.Text = Null, "null"
	case bool:
		n.Kind, n.Text = Bool, "false"
		if t {
			n.Text = "true"
		}
	case json.Number:
		n.Kind, n.Text = Number, t.String()
	case string:
		n.Kind, n.Text = String, t
	case json.Delim:
		if t == '[' {
			return r.list(n, depth)
		}
		return r.object(n, depth)
	}
	return n
}

func (r *jsonReader) list(n *Node, depth int) *Node {
	n.Kind = List
	for r.dec.More() {
		item := r.value(depth + 1)
		if item == nil {
			return nil
		}
		n.Items = append(n.Items, item)
	}
	_, _, ok := r.token()
	return whole(n, ok)
}

func (r *jsonReader) object(n *Node, depth int) *Node {
	n.Kind = Map
	seen := map[string]Pos{}
	for r.dec.More() {
		tok, pos, ok := r.token()
		if !ok || !r.grow(pos, depth, 0) {
			return nil
		}
		key := &Node{Pos: pos, Kind: String, Text: tok.(string)} // Token has checked that keys are strings
		value := r.value(depth + 1)
		if value == nil {
			return nil
		}
		r.add(n, seen, key, value)
	}
	_, _, ok := r.token()
	return whole(n, ok)
}

func whole(n *Node, ok bool) *Node {
	if !ok {
		return nil
	}
	return n
}
