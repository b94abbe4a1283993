package agent

import (
	"encoding/json"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// anyObject is the schema of a tool that says nothing of its arguments.
const anyObject = `{"type":"object"}`

// readListing takes the tools from the raw pages of a listing, one by one: a bad
// tool hides no other. What no model could be offered is left out and reported.
func (c *conversation) readListing(server *Server, pages []eval.JSON) []*offered {
	var tools []*offered
	seen := map[string]bool{}
	for _, raw := range pages {
		var page struct {
			Tools []eval.JSON `json:"tools"`
		}
		if err := eval.DecodeExact(raw, &page); err != nil {
			c.find("bad_listing", fmt.Sprintf("server %s: a page of tools cannot be read: %v", server.Name, err))
			continue
		}
		for _, entry := range page.Tools {
			t, problem := readOffered(entry)
			if problem == "" && seen[t.Tool] {
				problem = "another tool has its name"
			}
			if problem != "" {
				c.find("tool_left_out", fmt.Sprintf("server %s: tool %s: %s", server.Name, answer.Quote(t.Tool), problem))
				continue
			}
			seen[t.Tool] = true
			t.server, t.Server = server, server.Name
			tools = append(tools, t)
		}
	}
	return tools
}

// readOffered reads one entry of a listing, or says why it can be offered to no
// model.
func readOffered(entry eval.JSON) (*offered, string) {
	t := &offered{method: methodCall}
	var fields struct {
		Name        eval.JSON `json:"name"`
		Description eval.JSON `json:"description"`
		Schema      eval.JSON `json:"inputSchema"`
	}
	if eval.DecodeExact(entry, &fields) != nil {
		return t, "it is no object"
	}
	if json.Unmarshal(fields.Name, &t.Tool) != nil || t.Tool == "" {
		return t, "it has no name"
	}
	var description string
	if json.Unmarshal(fields.Description, &description) != nil {
		description = "" // none, or none that is text
	}
	t.Schema = fields.Schema
	parameters, problem := parametersOf(fields.Schema)
	t.definition = llm.Tool{Description: visible(description), Schema: parameters}
	t.arguments = validator{raw: parameters}
	return t, problem
}

// parametersOf is the schema that a model is given: the tool's own, byte for
// byte, as long as it is that of an object. A missing type is put in, because the
// model APIs refuse a schema without.
func parametersOf(raw eval.JSON) (eval.JSON, string) {
	if len(raw) == 0 {
		return eval.JSON(anyObject), ""
	}
	var fields map[string]eval.JSON
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return nil, "its inputSchema is no object"
	}
	switch kind := fields["type"]; string(kind) {
	case `"object"`:
		return raw, ""
	case "":
		fields["type"] = eval.JSON(`"object"`)
		return eval.Encode(fields), ""
	default:
		return nil, fmt.Sprintf("the type of its inputSchema is %s, and not object", clip(string(kind)))
	}
}
