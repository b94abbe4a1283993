package demo

import (
	"context"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// nowhere is a URI that no report has.
const nowhere = "report://nowhere"

// showReportsIn makes hooks hide the reports that a visitor may not read. Asking
// for one of them is as asking for one that there is not: nothing in the answer
// tells them apart.
func (d *desk) showReportsIn(hooks *server.Hooks) {
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
		readable := d.readable(ctx)
		result.Resources = slices.DeleteFunc(result.Resources, func(r mcp.Resource) bool { return !readable[r.URI] })
		slices.SortFunc(result.Resources, func(a, b mcp.Resource) int { return strings.Compare(a.URI, b.URI) })
	})
	hooks.AddBeforeReadResource(func(ctx context.Context, _ any, request *mcp.ReadResourceRequest) {
		if !d.readable(ctx)[request.Params.URI] {
			request.Params.URI = nowhere
		}
	})
}

func (d *desk) readable(ctx context.Context) map[string]bool {
	v, leave, err := d.visit(ctx)
	if err != nil {
		return nil
	}
	defer leave()
	return v.reports()
}
