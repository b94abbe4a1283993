package demo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// overhear tells somebody of the requests that a server gets.
func overhear(s *server.MCPServer, heard func(method string, meta map[string]any)) {
	tell := func(method mcp.MCPMethod, meta *mcp.Meta) {
		var fields map[string]any
		if meta != nil {
			fields = meta.AdditionalFields
		}
		heard(string(method), fields)
	}
	s.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			tell(mcp.MethodToolsCall, req.Params.Meta)
			return next(ctx, req)
		}
	})
	server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
		return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			tell(mcp.MethodResourcesRead, req.Params.Meta)
			return next(ctx, req)
		}
	})(s)
}
