package demo

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// report makes the resource of one order report. Its URI says nothing of the
// order, so that only whoever was handed it can read it.
func report(uri string, content object) server.ServerResource {
	const mime = "application/json"
	text := string(eval.Encode(content))
	return server.ServerResource{
		Resource: mcp.NewResource(uri, "Order report", mcp.WithMIMEType(mime)),
		Handler: func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text}}, nil
		},
	}
}
