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
// what answers a call whose arguments are valid.
type tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	// Changes says that a call changes something.
	Changes bool `json:"changes"`

	answer func(ctx context.Context, arguments object) reply
	// before runs ahead of every call when it is set.
	before func(ctx context.Context, arguments any)
	// forgiving tools answer a rejection as if it were a result.
	forgiving bool
}

// A reply is an object, the lines of a list, both, or why the call is rejected.
type reply struct {
	object   any // encodes as a JSON object
	lines    []string
	rejected *violation
}

// refuse rejects a call whose arguments are well formed.
func refuse(at, why string) reply { return reply{rejected: &violation{at, why}} }

func (t *tool) serve() (server.ServerTool, error) {
	ps, err := parseParameters(t.Input)
	if err != nil {
		return server.ServerTool{}, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	open, looks := false, !t.Changes
	def := mcp.NewToolWithRawSchema(t.Name, t.Description, t.Input)
	def.Title = t.Title
	def.RawOutputSchema = t.Output
	def.Annotations = mcp.ToolAnnotation{ReadOnlyHint: &looks, DestructiveHint: &t.Changes, IdempotentHint: &looks, OpenWorldHint: &open}
	return server.ServerTool{Tool: def, Handler: func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := req.Params.Arguments
		if t.before != nil {
			t.before(ctx, arguments)
		}
		return t.call(ctx, ps, arguments), nil
	}}, nil
}

func (t *tool) call(ctx context.Context, ps parameters, arguments any) *mcp.CallToolResult {
	given, violation := ps.check(arguments)
	if violation != nil {
		return t.reject(*violation)
	}
	r := t.answer(ctx, given)
	if r.rejected != nil {
		return t.reject(*r.rejected)
	}
	if r.object != nil && r.lines == nil {
		r.lines = []string{string(eval.Encode(r.object))}
	}
	blocks := []mcp.Content{} // a list without items is [], never null
	for _, line := range r.lines {
		blocks = append(blocks, mcp.NewTextContent(line))
	}
	return &mcp.CallToolResult{Content: blocks, StructuredContent: r.object}
}

// reject words a violation as Bean Validation does: the tool and its parameter
// as the path, then what the constraint asks for.
func (t *tool) reject(v violation) *mcp.CallToolResult {
	path := t.Name
	if v.at != "" {
		path += "." + v.at
	}
	complaint := path + ": " + v.why
	if t.forgiving {
		return mcp.NewToolResultText(complaint)
	}
	return mcp.NewToolResultError(complaint)
}

// text is a string among the arguments of a call, "" when it is not there.
func text(arguments object, name string) string {
	s, _ := arguments[name].(string)
	return s
}

// number is an integer among the arguments of a call, or what stands for one
// that is not there.
func number(arguments object, name string, otherwise int) int {
	if n, ok := arguments[name].(float64); ok {
		return int(n)
	}
	return otherwise
}
