package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// describedProperties wants of every property in an input schema, to any depth,
// a description for the model that has to fill it, and a word on what its values
// are.
func describedProperties(t tool) string {
	root := t.input()
	if root == nil {
		return "" // the fault of object_schema
	}
	w := walk{root: root, followed: map[string]bool{}, left: maxNodes}
	w.visit("", root)
	slices.Sort(w.problems)
	const most = 5
	problems := slices.Compact(w.problems)
	if more := len(problems) - most; more > 0 {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "; ")
}

// A few references make many paths to the same place, and nesting makes long
// ones. These bound the schemas that are looked at in one tool, and the bytes of
// a path; what lies beyond is beyond any model too.
const (
	maxNodes = 20000
	maxPath  = 1000
)

// A walk goes through every property that a value of the root schema can have.
type walk struct {
	root     map[string]any
	followed map[string]bool // references, each of which is followed once
	left     int
	problems []string
}

func (w *walk) visit(path string, schema any) {
	fields, ok := schema.(map[string]any)
	if w.left--; !ok || w.left < 0 || len(path) > maxPath {
		return
	}
	if properties, ok := fields["properties"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			at := excerpt(name)
			if path != "" {
				at = path + "." + at
			}
			if problem := w.judge(properties[name]); problem != "" {
				w.problems = append(w.problems, fmt.Sprintf("property %s %s", excerpt(at), problem))
			}
			w.visit(at, properties[name])
		}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := fields[key].([]any)
		for _, branch := range branches {
			w.visit(path, branch)
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		w.visit(path, fields[key])
	}
	w.visit(path+"[]", fields["items"])
	items, _ := fields["prefixItems"].([]any)
	for _, item := range items {
		w.visit(path+"[]", item)
	}
	w.visit(path+".*", fields["additionalProperties"])
	if ref, ok := fields["$ref"].(string); ok && !w.followed[ref] {
		w.followed[ref] = true
		w.visit(path, w.resolve(ref))
	}
}

// judge says what is wrong with the schema of a property.
func (w *walk) judge(property any) string {
	switch p := property.(type) {
	case map[string]any:
		switch {
		case opaque(p):
			return "may be anything: its schema says neither type nor values"
		case !w.described(p):
			return "is not described"
		default:
			return ""
		}
	case bool:
		if p {
			return "may be anything: its schema is true"
		}
		return "" // a property that must not be there
	default:
		return "has " + typeOf(property) + " for a schema"
	}
}

// opaque says whether a schema tells nothing of its values.
func opaque(p map[string]any) bool {
	for _, key := range []string{
		"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "if",
		"properties", "items", "prefixItems",
	} {
		if _, ok := p[key]; ok {
			return false
		}
	}
	return true
}

// described looks for a description beside or behind a reference.
func (w *walk) described(p map[string]any) bool {
	const most = 8 // references to references
	for range most {
		if text, ok := p["description"].(string); ok && strings.TrimSpace(text) != "" {
			return true
		}
		ref, ok := p["$ref"].(string)
		if !ok {
			return false
		}
		if p, ok = w.resolve(ref).(map[string]any); !ok {
			return false
		}
	}
	return false
}

// resolve finds what a reference within the schema points to: "#" and a JSON
// pointer (RFC 6901). What it does not find is nil, and is the fault of
// valid_schema.
func (w *walk) resolve(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	var v any = w.root
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		fields, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = fields[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return v
}
