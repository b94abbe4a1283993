package strictyaml

import (
	"bytes"
	"encoding/json"
)

// JSON is the node as one JSON value without white space. Keys keep the order
// of the file and numbers their digits.
func (n *Node) JSON() json.RawMessage {
	var b bytes.Buffer
	n.encode(&b)
	return b.Bytes()
}

func (n *Node) encode(b *bytes.Buffer) {
	switch n.Kind {
	case Null, Bool, Number:
		b.WriteString(n.Text)
	case String:
		encodeString(b, n.Text)
	case List:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.encode(b)
		}
		b.WriteByte(']')
	case Map:
		b.WriteByte('{')
		for i, f := range n.Fields {
			if i > 0 {
				b.WriteByte(',')
			}
			encodeString(b, f.Key.Text)
			b.WriteByte(':')
			f.Value.encode(b)
		}
		b.WriteByte('}')
	}
}

func encodeString(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s)       // a string into memory: neither can fail
	b.Truncate(b.Len() - 1) // the line break that Encode adds
}
