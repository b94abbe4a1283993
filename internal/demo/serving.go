package demo

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/server"
)

// An answer is how a tool answers a call whose arguments are valid.
type answer = func(ctx context.Context, arguments object) reply

// decodeTools reads the tools of a demo and gives each its answer.
func decodeTools(file string, answers map[string]answer) ([]*tool, error) {
	var tools []*tool
	if err := decodeFile(file, &tools); err != nil {
		return nil, err
	}
	for _, t := range tools {
		t.answer = answers[t.Name]
		if t.answer == nil {
			return nil, fmt.Errorf("load %s: nothing answers tool %q", file, t.Name)
		}
	}
	return tools, nil
}

// newServer makes an MCP server of tools.
func newServer(name string, tools []*tool, options ...server.ServerOption) (*server.MCPServer, error) {
	s := server.NewMCPServer(name, "1.0.0",
		append(options, server.WithToolCapabilities(false), server.WithRecovery(), server.WithResourceRecovery())...)
	for _, t := range tools {
		st, err := t.serve()
		if err != nil {
			return nil, err
		}
		s.AddTools(st)
	}
	return s, nil
}
