package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Path finds a value in a tree.
//
// Plain dotted names, such as primaryRegion or a.b[0].c, stand for
// $.primaryRegion and so on; in them a name may hold any character but a dot or
// a bracket. A path that begins with $ is JSONPath as in RFC 9535. Filters
// compare numbers as float64.
type Path struct {
	text  string
	query *jsonpath.Path
	// definite is true when the path leads to at most one value.
	definite bool
}

// ParsePath reads a path.
func ParsePath(s string) (Path, error) {
	query := s
	if !strings.HasPrefix(s, "$") {
		var err error
		if query, err = spellOut(s); err != nil {
			return Path{}, fmt.Errorf("path %q: %w", s, err)
		}
	}
	parsed, err := jsonpath.Parse(query)
	if err != nil {
		return Path{}, fmt.Errorf("path %q: %w", s, err)
	}
	return Path{text: s, query: parsed, definite: parsed.Query().Singular() != nil}, nil
}

// Get returns the value that the path leads to, and whether there is one. A
// member of the root whose name is the whole text of the path comes first, so
// that a field called "a.b" can be named. A path that may lead to several
// values, with a wildcard, slice, filter or descent, yields an array of them in
// the order of their places; leading to none counts as finding nothing.
func (p Path) Get(root any) (any, bool) {
	if v, ok := literal(root, p.text); ok {
		return v, true
	}
	if p.query == nil {
		return nil, false
	}
	if p.definite {
		nodes := p.query.Select(root)
		if len(nodes) == 0 {
			return nil, false
		}
		return nodes[0], true
	}
	located := p.query.SelectLocated(root)
	located.Sort() // objects are walked in random order
	var nodes []any
	for node := range located.Nodes() {
		nodes = append(nodes, node)
	}
	return nodes, len(nodes) > 0
}

// Get finds a value by a path that is read on the spot. A member of the root
// whose name is the text of the path is found even where the text is no path.
func Get(root any, path string) (any, bool, error) {
	p, err := ParsePath(path)
	if err != nil {
		if v, ok := literal(root, path); ok {
			return v, true, nil
		}
		return nil, false, err
	}
	v, ok := p.Get(root)
	return v, ok, nil
}

func literal(root any, key string) (any, bool) {
	object, ok := root.(map[string]any)
	if !ok {
		return nil, false
	}
	v, ok := object[key]
	return v, ok
}

// spellOut writes plain dotted names as a query of RFC 9535.
func spellOut(s string) (string, error) {
	if s == "" {
		return "", errors.New("it is empty")
	}
	var query strings.Builder
	query.WriteString("$")
	rest := s
	for first := true; rest != ""; first = false {
		if rest[0] == '[' {
			end := bracketEnd(rest)
			if end < 0 {
				return "", errors.New("a [ is never closed")
			}
			query.WriteString(rest[:end])
			rest = rest[end:]
			continue
		}
		if !first {
			if rest[0] != '.' {
				return "", fmt.Errorf("want a dot before %q", rest)
			}
			rest = rest[1:]
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		switch name := rest[:end]; name {
		case "":
			return "", errors.New("a name is empty")
		case "*":
			query.WriteString("[*]")
		default:
			query.WriteString("[" + string(eval.Encode(name)) + "]")
		}
		rest = rest[end:]
	}
	return query.String(), nil
}

// bracketEnd returns the length of the bracket that s begins with, or -1.
func bracketEnd(s string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
