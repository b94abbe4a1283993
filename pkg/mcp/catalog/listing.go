package catalog

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A listing is the tools of all pages, in the order in which the server lists
// them, and what is wrong with the pages themselves.
type listing struct {
	tools    []tool
	problems []offence
}

// A tool is one entry of a listing, whatever it is.
type tool struct {
	// label names the tool in reports: its name, or its place in the listing.
	label string
	// value is the entry as [eval.Decode] gives it; fields are its members, nil
	// when it is no object.
	value  any
	fields map[string]any
}

// maxListing bounds the pages that are looked at, in bytes. It is a million
// tokens, more than any model could be given.
const maxListing = 4 << 20

func read(pages []eval.JSON) listing {
	var l listing
	size := 0
	for _, page := range pages {
		size += len(page)
	}
	if size > maxListing {
		l.problems = []offence{{message: fmt.Sprintf("the listing has %d bytes, more than %d", size, maxListing)}}
		return l
	}
	for i, page := range pages {
		entries, problem := split(page)
		if problem != "" {
			l.problems = append(l.problems, offence{message: fmt.Sprintf("page %d: %s", i+1, problem)})
		}
		for _, entry := range entries {
			l.tools = append(l.tools, readTool(entry, len(l.tools)+1))
		}
	}
	if len(l.tools) == 0 && len(l.problems) == 0 {
		l.problems = append(l.problems, offence{message: "the server lists no tools"})
	}
	return l
}

// split takes a page apart. Its members are looked up exactly: a page that says
// Tools has no tools.
func split(page eval.JSON) (entries []any, problem string) {
	v, err := eval.Decode(page)
	if err != nil {
		return nil, "it is no JSON: " + excerpt(err.Error())
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, "it is " + typeOf(v) + ", not an object"
	}
	tools, ok := fields["tools"]
	if !ok {
		return nil, "it has no tools"
	}
	if entries, ok = tools.([]any); !ok {
		return nil, "tools is " + typeOf(tools) + ", not an array"
	}
	return entries, ""
}

func readTool(entry any, place int) tool {
	t := tool{value: entry, label: fmt.Sprintf("tool %d", place)}
	t.fields, _ = entry.(map[string]any)
	if name, ok := t.fields["name"].(string); ok && name != "" {
		t.label = excerpt(name)
	}
	return t
}

// input is the tool's input schema, nil when it is no object.
func (t tool) input() map[string]any {
	schema, _ := t.fields["inputSchema"].(map[string]any)
	return schema
}

// excerpt cuts a text of the server to what fits into a message.
func excerpt(s string) string { return cut(s, 100) }

// cut shortens a text to a number of characters.
func cut(s string, most int) string {
	const widest = 4 // bytes of a character
	runes := []rune(s[:min(len(s), widest*most)])
	if len(runes) <= most && len(s) <= widest*most {
		return s
	}
	return string(runes[:min(len(runes), most)]) + "…"
}

// show writes a value as JSON, cut to what fits into a message.
func show(v any) string { return excerpt(string(eval.Encode(v))) }

// typeOf names the JSON type of a value, with its article.
func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}
