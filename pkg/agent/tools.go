// Package agent carries out the work of a trial: a scripted case step by step
// ([Script]), and that of an agent, a model with the tools of servers ([Loop]).
package agent

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Tools is what a trial may call: one session with one MCP server. A request
// never returns a Go error; whatever happens is an [eval.Outcome], because it
// is an observation of the server.
type Tools interface {
	// Call calls a tool with a JSON object of arguments (nil for none).
	Call(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome
	// Read reads a resource by its exact URI.
	Read(ctx context.Context, uri string) eval.Outcome
	// ListTools returns the raw result of every tools/list page, and the outcome
	// of the page that ended the listing.
	ListTools(ctx context.Context) ([]eval.JSON, eval.Outcome)
	// HasTool says whether the listing has a tool; the outcome says whether the
	// listing could be had. It may remember the listing until the server says
	// that it changed.
	HasTool(ctx context.Context, tool string) (bool, eval.Outcome)
}
