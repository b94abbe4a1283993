package catalog

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schema"
)

// objectSchema holds a tool to what MCP says of inputSchema: a JSON Schema
// object whose type is "object", present even for tools without parameters.
func objectSchema(t tool) string {
	if t.fields == nil {
		return "the tool is " + typeOf(t.value) + ", not an object"
	}
	input, present := t.fields["inputSchema"]
	fields := t.input()
	switch {
	case !present:
		return `it has no inputSchema; a tool without parameters has {"type": "object"}`
	case fields == nil:
		return "its inputSchema is " + typeOf(input) + ", not an object"
	}
	kind, present := fields["type"]
	if !present {
		return `its inputSchema has no type, want "object"`
	}
	if kind != "object" {
		return "the type of its inputSchema is " + show(kind) + `, want "object"`
	}
	if properties, present := fields["properties"]; present {
		if _, ok := properties.(map[string]any); !ok {
			return "the properties of its inputSchema are " + typeOf(properties) + ", not an object"
		}
	}
	return ""
}

func validSchema(t tool) string {
	input := t.input()
	if input == nil {
		return "" // the fault of object_schema
	}
	return compile("inputSchema", input)
}

func rootAllOf(t tool) string {
	if _, present := t.input()["allOf"]; present {
		return "its inputSchema has allOf at the root, which model APIs refuse; move what it says into properties and required"
	}
	return ""
}

func rootAnyOf(t tool) string {
	var present []string
	for _, key := range []string{"anyOf", "oneOf"} {
		if _, ok := t.input()[key]; ok {
			present = append(present, key)
		}
	}
	if len(present) == 0 {
		return ""
	}
	return "its inputSchema has " + strings.Join(present, " and ") + " at the root, which some model APIs refuse"
}

func outputSchema(t tool) string {
	output, present := t.fields["outputSchema"]
	if !present {
		return ""
	}
	if _, ok := output.(map[string]any); !ok {
		return "its outputSchema is " + typeOf(output) + ", not an object"
	}
	return compile("outputSchema", output)
}

// compile says what is wrong with a schema. Compiling takes time that grows with
// the square of size and depth, so what no model could read is not compiled.
func compile(key string, definition any) string {
	const (
		maxBytes = 64 << 10
		maxDepth = 100 // of JSON: two for each property within a property
	)
	if depth(definition, maxDepth+1) > maxDepth {
		return fmt.Sprintf("its %s is nested more than %d deep", key, maxDepth)
	}
	raw := eval.Encode(definition)
	if len(raw) > maxBytes {
		return fmt.Sprintf("its %s has %d bytes, more than %d", key, len(raw), maxBytes)
	}
	if _, err := schema.Compile(raw); err != nil {
		return fmt.Sprintf("its %s is not valid: %s", key, cut(err.Error(), 300))
	}
	return ""
}

// depth is how deep a value is nested; it looks no deeper than most.
func depth(v any, most int) int {
	deepest := 0
	if most == 0 {
		return deepest
	}
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			deepest = max(deepest, 1+depth(member, most-1))
		}
	case []any:
		for _, item := range v {
			deepest = max(deepest, 1+depth(item, most-1))
		}
	}
	return deepest
}
