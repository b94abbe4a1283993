package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/bm25"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Bounds of a search.
const (
	defaultHits    = 5
	maxHits        = 20
	maxDescription = 300 // bytes of each in the answer
)

// searchTool finds and loads tools.
func searchTool() *offered {
	parameters := fmt.Sprintf(`{"type":"object","properties":{`+
		`"query":{"type":"string","minLength":1,"description":"Words for what the tool should do, or parts of its name."},`+
		`"limit":{"type":"integer","minimum":1,"maximum":%d,"description":"How many tools to load at most; %d when left out."}`+
		`},"required":["query"],"additionalProperties":false}`, maxHits, defaultHits)
	return own(eval.MethodSearch, "search_tools",
		"Find tools by words and load them. Tools that a search finds can be called from the next message on; no other tool can.", parameters)
}

// own is a tool that we offer ourselves.
func own(method, name, description, parameters string) *offered {
	raw := eval.JSON(parameters)
	return &offered{
		OfferedTool: eval.OfferedTool{Name: name}, method: method, arguments: validator{raw: raw},
		definition: llm.Tool{Name: name, Description: description, Schema: raw},
	}
}

// hide puts tools behind the search.
func (o *offer) hide(tools []*offered) {
	o.hidden = tools
	docs := make([]bm25.Doc, len(tools))
	for i, t := range tools {
		docs[i] = bm25.Doc{Name: t.Name, Description: t.definition.Description, Arguments: argumentsOf(t.definition.Schema)}
	}
	o.index = bm25.New(docs)
}

// argumentsOf are the names of the properties in a schema, sorted.
func argumentsOf(parameters eval.JSON) []string {
	var fields struct {
		Properties eval.JSON `json:"properties"`
	}
	var properties map[string]eval.JSON
	if eval.DecodeExact(parameters, &fields) != nil || json.Unmarshal(fields.Properties, &properties) != nil {
		return nil
	}
	names := make([]string, 0, len(properties))
	for name := range properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// search loads the tools that a call of the search tool finds, and tells of them.
func (o *offer) search(arguments eval.JSON) string {
	var asked struct {
		Query string   `json:"query"`
		Limit *float64 `json:"limit"` // the schema has made sure that it is whole
	}
	if err := json.Unmarshal(arguments, &asked); err != nil {
		return "The search cannot be read: " + err.Error()
	}
	limit := defaultHits
	if asked.Limit != nil {
		limit = int(*asked.Limit)
	}
	hits := o.index.Search(asked.Query, limit)
	if len(hits) == 0 {
		return fmt.Sprintf("No tool has any of these words. There are %d tools; try other words.", len(o.hidden))
	}
	lines := []string{fmt.Sprintf("Loaded %d tools:", len(hits))}
	for _, hit := range hits {
		t := o.hidden[hit.Doc]
		o.load(t)
		lines = append(lines, "- "+t.Name+": "+cmp.Or(summary(t.definition.Description), "(no description)"))
	}
	return strings.Join(lines, "\n")
}

// load puts a definition into the context, behind those that are there.
func (o *offer) load(t *offered) {
	if !t.loaded {
		t.loaded = true
		o.shown = append(o.shown, t)
	}
}

// summary is the beginning of a description, on one line.
func summary(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	if len(text) > maxDescription {
		return text[:answer.RuneStart(text, maxDescription)] + "…"
	}
	return text
}
