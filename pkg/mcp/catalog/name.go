package catalog

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// legal holds the characters that MCP allows in the name of a tool (revision
// 2025-11-25, server/tools, Tool Names) and the length that function calling of
// the model APIs allows.
var legal = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func legalName(t tool) string {
	if t.fields == nil {
		return "" // the fault of object_schema
	}
	switch name := t.fields["name"].(type) {
	case string:
		if !legal.MatchString(name) {
			return fmt.Sprintf("%q is no legal name: 1 to 64 letters, digits, _, - and .", excerpt(name))
		}
		return ""
	case nil:
		return "it has no name"
	default:
		return "its name is " + typeOf(name) + ", not a string"
	}
}

func uniqueNames(l listing, _ eval.Catalog) []offence {
	places := map[string][]string{}
	var names []string
	for i, t := range l.tools {
		name, ok := t.fields["name"].(string)
		if !ok {
			continue
		}
		if places[name] == nil {
			names = append(names, name)
		}
		places[name] = append(places[name], fmt.Sprint(i+1))
	}
	var found []offence
	for _, name := range names {
		if at := places[name]; len(at) > 1 {
			found = append(found, offence{
				tool:    excerpt(name),
				message: fmt.Sprintf("%d tools have this name, at places %s of the listing", len(at), excerpt(strings.Join(at, ", "))),
			})
		}
	}
	return found
}

func description(t tool) string {
	if t.fields == nil {
		return ""
	}
	text, ok := t.fields["description"].(string)
	switch {
	case ok && strings.TrimSpace(text) != "":
		return ""
	case ok:
		return "its description is blank"
	case t.fields["description"] == nil:
		return "it has no description, so a model cannot know when to call it"
	default:
		return "its description is " + typeOf(t.fields["description"]) + ", not a string"
	}
}
