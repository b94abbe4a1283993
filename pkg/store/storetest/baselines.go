package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testBaselines(t *testing.T, s store.Store) {
	ctx := t.Context()
	create(t, s, run1, 1)
	if err := s.SetBaseline(ctx, store.Baseline{Suite: "quickstart", Name: "main", Run: run1}); err == nil {
		t.Error("a run that is not done became a baseline")
	}
	_, err := s.Baseline(ctx, "quickstart", "main")
	notFound(t, "Baseline", err)
	for _, id := range []string{run1, "r-other"} {
		if id != run1 {
			create(t, s, id, 1)
		}
		r, err := s.Run(ctx, id)
		must(t, err)
		r.Outcome, r.Finished = eval.OutcomeComplete, when
		must(t, s.Finish(ctx, r, blob.Pack([]byte("{}"))))
		must(t, s.SetBaseline(ctx, store.Baseline{Suite: "quickstart", Name: "main", Run: id, Made: when}))
	}
	notFound(t, "another suite's run", s.SetBaseline(ctx, store.Baseline{Suite: "elsewhere", Name: "main", Run: run1}))
	b, err := s.Baseline(ctx, "quickstart", "main")
	must(t, err)
	equal(t, "baseline", b, store.Baseline{Suite: "quickstart", Name: "main", Run: "r-other", Made: when})
	all, err := s.Baselines(ctx)
	must(t, err)
	equal(t, "all", all, []store.Baseline{b})

	collected, err := s.Collect(ctx, when.Add(time.Hour), false)
	must(t, err)
	equal(t, "runs collected", collected.Runs, 1)
	_, err = s.Run(ctx, "r-other")
	must(t, err)
	_, err = s.Run(ctx, run1)
	notFound(t, "the run that is no baseline any more", err)
}
