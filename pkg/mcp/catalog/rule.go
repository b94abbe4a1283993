package catalog

import "github.com/evalfarm/evalfarm/pkg/eval"

// ruleListing is the rule that all others rest on.
const ruleListing = "readable_listing"

// A rule says what must hold of a listing.
type rule struct {
	// name is a stable word for suite files; title says it in a line.
	name, title string
	// warning rules are shown and decide nothing.
	warning bool
	// bounded says whether a spec has the bound that the rule compares with; nil
	// for rules without one.
	bounded func(eval.Catalog) bool
	// find returns what breaks the rule.
	find func(listing, eval.Catalog) []offence
}

// An offence is what one tool, or with tool "" the listing, does wrong.
type offence struct {
	tool, message    string
	expected, actual any
}

// Rules lists the names of the rules that a catalog case can ask for, in the
// order in which they are applied:
//
//   - readable_listing: every page is an object with an array of tools, and
//     there is a tool. Pages that break it fail any catalog case.
//   - unique_names: no two tools have the same name.
//   - legal_names: a name has 1 to 64 ASCII letters, digits, "_", "-" and ".".
//   - tool_description: every tool says what it does.
//   - object_schema: every input schema is an object of type "object", as MCP
//     wants it, with properties that are an object.
//   - valid_schema: every input schema compiles.
//   - no_root_all_of: no input schema has allOf at its root. Model APIs refuse
//     such a tool, and clients drop it without a word.
//   - no_root_any_of: a warning for anyOf and oneOf there, which some refuse.
//   - described_properties: every property of an input, to any depth, has a
//     description and says what its values are.
//   - output_schema_valid: every output schema is an object that compiles.
//   - context_tokens: the listing costs a model at most max_context_tokens.
//   - fingerprint: the listing is the one that fingerprint was taken of.
//
// The last two apply when the case has their bound.
func Rules() []string {
	var names []string
	for _, r := range rules() {
		names = append(names, r.name)
	}
	return names
}

func rules() []rule {
	return []rule{
		{name: ruleListing, title: "The listing can be read", find: func(l listing, _ eval.Catalog) []offence { return l.problems }},
		{name: "unique_names", title: "Names are unique", find: uniqueNames},
		{name: "legal_names", title: "Names are legal", find: eachTool(legalName)},
		{name: "tool_description", title: "Tools say what they do", find: eachTool(description)},
		{name: "object_schema", title: "Inputs are objects", find: eachTool(objectSchema)},
		{name: "valid_schema", title: "Input schemas are valid", find: eachTool(validSchema)},
		{name: "no_root_all_of", title: "No input has allOf at its root", find: eachTool(rootAllOf)},
		{name: "no_root_any_of", title: "No input has anyOf or oneOf at its root", warning: true, find: eachTool(rootAnyOf)},
		{name: "described_properties", title: "Properties are described", find: eachTool(describedProperties)},
		{name: "output_schema_valid", title: "Output schemas are valid", find: eachTool(outputSchema)},
		{
			name: "context_tokens", title: "The listing fits into the context",
			bounded: func(c eval.Catalog) bool { return c.MaxContextTokens > 0 }, find: contextTokens,
		},
		{
			name: "fingerprint", title: "The listing is as it was",
			bounded: func(c eval.Catalog) bool { return c.Fingerprint != "" }, find: fingerprint,
		},
	}
}

// eachTool makes a rule of what is wrong with one tool by itself; "" means
// nothing is.
func eachTool(wrong func(tool) string) func(listing, eval.Catalog) []offence {
	return func(l listing, _ eval.Catalog) []offence {
		var found []offence
		for _, t := range l.tools {
			if message := wrong(t); message != "" {
				found = append(found, offence{tool: t.label, message: message})
			}
		}
		return found
	}
}
