package demo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A tool is a definition, listed word for word as it stands in the file, and
// what answers a call whose argument is valid.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`

	answer func(id string) reply
	// before runs ahead of every call when it is set.
	before func(ctx context.Context, arguments any)
	// forgiving tools answer a rejection as if it were a result.
	forgiving bool
}

// A reply is one of three: an object, the lines of a list, or why the argument
// is rejected.
type reply struct {
	object    object
	lines     []string
	rejection string
}

func (t *tool) serve() (server.ServerTool, error) {
	p, err := parseParameter(t.Input)
	if err != nil {
		return server.ServerTool{}, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	yes, no := true, false
	def := mcp.NewToolWithRawSchema(t.Name, t.Description, t.Input)
	def.Title = t.Title
	def.RawOutputSchema = t.Output
	def.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &yes, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no}
	return server.ServerTool{Tool: def, Handler: func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := req.Params.Arguments
		if t.before != nil {
			t.before(ctx, arguments)
		}
		return t.call(p, arguments), nil
	}}, nil
}

func (t *tool) call(p parameter, arguments any) *mcp.CallToolResult {
	id, violation := p.check(arguments)
	if violation != "" {
		return t.reject(violation)
	}
	r := t.answer(id)
	switch {
	case r.rejection != "":
		return t.reject(p.name + ": " + r.rejection)
	case r.object != nil:
		return mcp.NewToolResultStructured(r.object, string(eval.Encode(r.object)))
	default:
		blocks := []mcp.Content{} // a list without items is [], never null
		for _, line := range r.lines {
			blocks = append(blocks, mcp.NewTextContent(line))
		}
		return &mcp.CallToolResult{Content: blocks}
	}
}

// reject words a violation as Bean Validation does: the tool and its parameter
// as the path, then what the constraint asks for.
func (t *tool) reject(violation string) *mcp.CallToolResult {
	text := t.Name + "." + violation
	if t.forgiving {
		return mcp.NewToolResultText(text)
	}
	return mcp.NewToolResultError(text)
}
