package strictyaml

import (
	"bytes"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Bounds of one file. They stop accidents and attacks, not work: a suite of
// thousands of cases stays far below them.
const (
	// MaxBytes is the size of a file.
	MaxBytes = 5 << 20
	// MaxDepth is how deep lists and maps may nest.
	MaxDepth = 100
	// MaxNodes is the number of values and keys, aliases expanded.
	MaxNodes = 500_000
	// MaxText is the bytes of all keys and scalars, aliases expanded.
	MaxText = 32 << 20
)

// Parse reads one YAML document, or one JSON value when the name ends in .json.
// The tree has bad nodes where values could not be read; it is nil when there is
// nothing to go on with.
func Parse(name string, data []byte) (*Node, []Problem) {
	src, problem, ok := open(name, data)
	switch {
	case !ok:
		return nil, []Problem{problem}
	case strings.EqualFold(path.Ext(name), ".json"):
		return parseJSON(src)
	}
	return parseYAML(src)
}

// open refuses what is too large or no text.
func open(name string, data []byte) (*Source, Problem, bool) {
	if len(data) > MaxBytes {
		return nil, Problem{File: name, Message: fmt.Sprintf("the file has more than %d bytes", MaxBytes)}, false
	}
	src := newSource(name, data)
	p, bad := unreadable(src)
	return src, p, !bad
}

// unreadable finds bytes that no text file has.
func unreadable(src *Source) (Problem, bool) {
	if i := bytes.IndexByte(src.data, 0); i >= 0 {
		return src.at(i).Problem("the file holds a NUL byte", "is it a text file in UTF-8?"), true
	}
	for i := 0; i < len(src.data); {
		r, size := utf8.DecodeRune(src.data[i:])
		if r == utf8.RuneError && size == 1 {
			return src.at(i).Problem(fmt.Sprintf("byte 0x%02x is not UTF-8", src.data[i]), "save the file as UTF-8"), true
		}
		i += size
	}
	return Problem{}, false
}

// builder counts what a tree costs and collects its problems.
type builder struct {
	src      *Source
	nodes    int
	text     int
	problems []Problem
}

func (b *builder) report(pos Pos, message, hint string) {
	b.problems = append(b.problems, pos.Problem(message, hint))
}

func (b *builder) warn(pos Pos, message, hint string) {
	p := pos.Problem(message, hint)
	p.Warning = true
	b.problems = append(b.problems, p)
}

// grow counts one more value at a depth, with the bytes of its text; false
// means that a bound is reached, which it reports once.
func (b *builder) grow(pos Pos, depth, text int) bool {
	before := b.nodes <= MaxNodes && b.text <= MaxText
	b.nodes++
	b.text += text
	after := b.nodes <= MaxNodes && b.text <= MaxText
	switch {
	case !before:
		return false
	case !after:
		b.report(pos, fmt.Sprintf("the file has more than %d values, or more than %d bytes in them", MaxNodes, MaxText),
			"aliases count with all that they stand for")
		return false
	case depth > MaxDepth:
		b.report(pos, fmt.Sprintf("more than %d levels deep", MaxDepth), "")
		return false
	}
	return true
}

// add puts a field into a map, unless the key is there already.
func (b *builder) add(n *Node, seen map[string]Pos, key, value *Node) {
	if before, dup := seen[key.Text]; dup {
		b.report(key.Pos, "duplicate key "+Quote(key.Text), fmt.Sprintf("it is already in line %d", before.Line))
		return
	}
	seen[key.Text] = key.Pos
	n.Fields = append(n.Fields, Field{key, value})
}
