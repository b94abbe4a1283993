package vars

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// NamesIn returns the names of the placeholders in s, each once, in the order
// of their first appearance. The error is a [*SyntaxError].
func NamesIn(s string) ([]string, error) {
	parts, err := scan(s)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, p := range parts {
		if p.name != "" && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names, nil
}

// Names returns the names of the placeholders in every string of a JSON value,
// at any depth, each once. Keys are not looked at. Objects are visited in the
// order of their keys. An error says at which JSON pointer (RFC 6901) it
// happened and wraps a [*SyntaxError]. Empty raw has no names.
func Names(raw json.RawMessage) ([]string, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, err
	}
	var names []string
	_, err = walk(tree, "", func(s string) (any, error) {
		found, err := NamesIn(s)
		for _, name := range found {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return s, err
	})
	return names, err
}

// walk rebuilds a tree with every string value replaced by what change makes
// of it. Pointer is where the tree stands, for errors.
func walk(tree any, pointer string, change func(string) (any, error)) (any, error) {
	var err error
	switch v := tree.(type) {
	case string:
		changed, err := change(v)
		if err != nil && pointer != "" {
			err = fmt.Errorf("%s: %w", pointer, err)
		}
		return changed, err
	case []any:
		for i := range v {
			if v[i], err = walk(v[i], fmt.Sprintf("%s/%d", pointer, i), change); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key], err = walk(v[key], pointer+"/"+strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1"), change); err != nil {
				return nil, err
			}
		}
	}
	return tree, nil
}
