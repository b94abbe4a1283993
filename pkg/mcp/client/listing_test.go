package client_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestListTools(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode   string
		pages  int
		kind   eval.OutcomeKind
		reason eval.Reason
		detail string
	}{
		{mode: "calls", pages: 1, kind: eval.OutcomeOK},
		{mode: "pages", pages: 6, kind: eval.OutcomeOK},
		{mode: "changes", pages: 1, kind: eval.OutcomeOK},
		{mode: "page-loop", pages: 2, kind: eval.OutcomeFailed, reason: eval.ReasonPagesEndless, detail: `the cursor "same" came back after 2 pages`},
		{mode: "endless", pages: 200, kind: eval.OutcomeFailed, reason: eval.ReasonPagesEndless, detail: "more than 200 pages"},
	}
	for _, tt := range tests {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			a := attach(t, open(t, hostileSpec(t, tt.mode)))
			pages, out := a.ListTools(t.Context())
			if len(pages) != tt.pages || out.Kind != tt.kind || out.Reason != tt.reason || !strings.Contains(out.Detail, tt.detail) {
				t.Errorf("got %d pages, %s %q (%s), want %d, %s %q (%s)", len(pages), out.Kind, out.Reason, out.Detail, tt.pages, tt.kind, tt.reason, tt.detail)
			}
		})
	}
}

// TestHasToolListsOnce: trials that start together ask for one listing.
func TestHasToolListsOnce(t *testing.T) {
	s := open(t, hostileSpec(t, "pages"))
	var mu sync.Mutex
	lists := 0
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			a := s.Attach()
			defer a.Detach()
			if has, out := a.HasTool(t.Context(), "t4"); !has {
				t.Errorf("got no tool t4 (%+v), want it", out)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, f := range a.Frames() {
				if f.Sent && strings.Contains(string(f.Raw), "tools/list") {
					lists++
				}
			}
		})
	}
	wg.Wait()
	if lists != 6 {
		t.Errorf("got %d requests for pages, want the 6 of one listing", lists)
	}
}

func TestHasToolOnBadListing(t *testing.T) {
	a := attach(t, open(t, hostileSpec(t, "page-loop")))
	if has, out := a.HasTool(t.Context(), "nope"); has || out.Reason != eval.ReasonPagesEndless {
		t.Errorf("got %t %+v, want pages_endless", has, out)
	}
}
