package strictyaml

import "fmt"

// A Kind says what a node holds.
type Kind int

// The kinds of nodes are those of JSON.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// A Node is one value of a file. Aliases and merge keys are already resolved.
type Node struct {
	Pos
	Kind Kind
	// Text of a scalar: the characters of a string, the digits of a number as
	// JSON writes them, true, false or null.
	Text string
	// Loose marks a scalar that was not written here but filled in, such as the
	// value of an environment variable. Its text may stand for a string, a
	// number or a boolean, whichever is wanted.
	Loose bool
	// Bad marks a value that could not be read, which is reported. Its kind is
	// Null, but [Decode] accepts it anywhere and leaves zero values for it.
	Bad bool
	// Items of a list.
	Items []*Node
	// Fields of a map, in the order of the file.
	Fields []Field
}

// A Field is one key of a map and its value.
type Field struct {
	// Key is a string node.
	Key   *Node
	Value *Node
}

// Field finds a key of a map. It is nil when there is none, or the node is no
// map, or nil itself.
func (n *Node) Field(key string) *Field {
	if n == nil {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Key.Text == key {
			return &n.Fields[i]
		}
	}
	return nil
}

// Get finds the value below a path of keys, or nil.
func (n *Node) Get(path ...string) *Node {
	for _, key := range path {
		f := n.Field(key)
		if f == nil {
			return nil
		}
		n = f.Value
	}
	return n
}

// Place finds where a path of keys is written: the position of its last key, or
// of the deepest part of it that exists.
func (n *Node) Place(path ...string) Pos {
	if n == nil {
		return Pos{}
	}
	pos := n.Pos
	for _, key := range path {
		f := n.Field(key)
		if f == nil {
			break
		}
		pos, n = f.Key.Pos, f.Value
	}
	return pos
}

// Walk calls fn for the node and for every value below it, parents first. Keys
// are not visited.
func (n *Node) Walk(fn func(*Node)) {
	if n == nil {
		return
	}
	fn(n)
	for _, item := range n.Items {
		item.Walk(fn)
	}
	for _, f := range n.Fields {
		f.Value.Walk(fn)
	}
}

// Describe says what the node is, for a message that ends in "got …".
func (n *Node) Describe() string {
	switch n.Kind {
	case Null:
		return "nothing"
	case Bool:
		return n.Text
	case Number:
		return "the number " + cut(n.Text)
	case String:
		return Quote(n.Text)
	case List:
		return fmt.Sprintf("a list of %d", len(n.Items))
	default:
		return "a map"
	}
}

func cut(s string) string {
	if len(s) > 40 {
		return s[:39] + "…"
	}
	return s
}
