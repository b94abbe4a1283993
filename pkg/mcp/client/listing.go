package client

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// listPages bounds the pages of one listing. The largest public servers have a
// few hundred tools.
const listPages = 200

// listBytes bounds all pages of one listing. A listing that no model's context
// could ever hold need not be read to its end.
const listBytes = 32 << 20

// listTries bounds how often a listing is begun again because the server said
// meanwhile that it changed, as some do several times after initialize.
const listTries = 5

// ListTools returns the raw result of every tools/list page, and the outcome of
// the page that ended the listing. A cursor that repeats, or too many pages, end
// it with ReasonPagesEndless.
func (a *Attachment) ListTools(ctx context.Context) ([]eval.JSON, eval.Outcome) {
	for try := 1; ; try++ {
		before := a.s.changeCount()
		pages, out := a.list(ctx)
		if out.Kind != eval.OutcomeOK {
			return pages, out
		}
		if a.s.remember(before, pages) || try == listTries {
			return pages, out
		}
	}
}

// HasTool says whether the listing has a tool; the outcome says whether the
// listing could be had. The names are remembered until the server says that they
// changed, and asked for again before a tool is called missing: not every
// connection carries that notification.
func (a *Attachment) HasTool(ctx context.Context, tool string) (bool, eval.Outcome) {
	if a.s.remembers(tool) {
		return true, eval.Outcome{Kind: eval.OutcomeOK}
	}
	select {
	case a.s.lister <- struct{}{}:
		defer func() { <-a.s.lister }()
	case <-ctx.Done():
		return false, eval.Outcome{Kind: eval.OutcomeCancelled, Detail: context.Cause(ctx).Error()}
	}
	if a.s.remembers(tool) {
		return true, eval.Outcome{Kind: eval.OutcomeOK}
	}
	pages, out := a.ListTools(ctx)
	if out.Kind != eval.OutcomeOK {
		return false, out
	}
	return toolNames(pages)[tool], out
}

// list asks for every page once.
func (a *Attachment) list(ctx context.Context) ([]eval.JSON, eval.Outcome) {
	var pages []eval.JSON
	var cursor string
	size := 0
	seen := map[string]bool{"": true}
	for {
		out := a.page(ctx, cursor)
		if out.Kind != eval.OutcomeOK {
			return pages, out
		}
		pages = append(pages, out.Result)
		size += len(out.Result)
		var page struct {
			Next string `json:"nextCursor"`
		}
		_ = eval.DecodeExact(out.Result, &page) // a cursor of another type is none
		cursor = page.Next
		endless := ""
		switch {
		case cursor == "":
			return pages, out
		case size > listBytes:
			out.Kind, out.Reason, out.Detail = eval.OutcomeFailed, eval.ReasonOversize, fmt.Sprintf("the listing is over %d MiB after %d pages", listBytes>>20, len(pages))
			return pages, out
		case seen[cursor]:
			endless = fmt.Sprintf("the cursor %q came back after %d pages", excerpt(cursor), len(pages))
		case len(pages) == listPages:
			endless = fmt.Sprintf("the listing has more than %d pages", listPages)
		}
		if endless != "" {
			out.Kind, out.Reason, out.Detail = eval.OutcomeFailed, eval.ReasonPagesEndless, endless
			return pages, out
		}
		seen[cursor] = true
	}
}

// page asks for one page.
func (a *Attachment) page(ctx context.Context, cursor string) eval.Outcome {
	ctx, span := telemetry.ToolList(ctx)
	defer span.End()
	out := a.ask(ctx, span, func(ctx context.Context) error {
		var req mcp.ListToolsRequest
		req.Params.Cursor = mcp.Cursor(cursor)
		_, err := a.s.client.ListToolsByPage(ctx, req)
		return err
	})
	if out.Kind == eval.OutcomeToolError {
		out.Kind = eval.OutcomeOK // isError means nothing here
	}
	span.Brought(out)
	a.measure(ctx, "tools/list", "", out)
	return out
}

func (s *Session) changeCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// remember keeps the names of a listing, unless the server said that it changed
// since before.
func (s *Session) remember(before int, pages []eval.JSON) bool {
	names := toolNames(pages)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes != before {
		return false
	}
	s.tools = names
	return true
}

func (s *Session) remembers(tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools[tool]
}

// toolNames reads the names of raw pages; one bad tool hides no other.
func toolNames(pages []eval.JSON) map[string]bool {
	names := map[string]bool{}
	for _, raw := range pages {
		var page struct {
			Tools []eval.JSON `json:"tools"`
		}
		_ = eval.DecodeExact(raw, &page)
		for _, tool := range page.Tools {
			var t struct {
				Name string `json:"name"`
			}
			if eval.DecodeExact(tool, &t) == nil {
				names[t.Name] = true
			}
		}
	}
	return names
}
