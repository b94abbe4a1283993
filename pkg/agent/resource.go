package agent

import (
	"encoding/json"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// readTool reads resources: of the only server, or of the one that a call names.
func readTool(servers []Server) *offered {
	properties := map[string]any{
		"uri": map[string]any{"type": "string", "minLength": 1, "description": "The exact URI, as a tool has given it."},
	}
	required := []string{"uri"}
	if len(servers) > 1 {
		var names []string
		for _, s := range servers {
			names = append(names, s.Name)
		}
		properties["server"] = map[string]any{"type": "string", "enum": names, "description": "The server whose tool has given the URI."}
		required = append(required, "server")
	}
	return own(methodRead, "read_resource", "Read a resource by its URI.", string(eval.Encode(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})))
}

// resource finds out what a call of the tool wants to read, and where.
func (c *conversation) resource(arguments eval.JSON) (uri string, server *Server) {
	var asked struct {
		URI    string `json:"uri"`
		Server string `json:"server"`
	}
	_ = json.Unmarshal(arguments, &asked) // the schema has made sure of it
	server = &c.task.Servers[0]
	if i := slices.IndexFunc(c.task.Servers, func(s Server) bool { return s.Name == asked.Server }); i > 0 {
		server = &c.task.Servers[i]
	}
	return asked.URI, server
}
