package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testQuarantines(t *testing.T, s store.Store) {
	ctx := t.Context()
	none, err := s.Quarantines(ctx, "quickstart")
	must(t, err)
	equal(t, "none yet", len(none), 0)
	notFound(t, "ending none", s.DropQuarantine(ctx, "quickstart", "orders", ""))

	whole := eval.Quarantine{Suite: "quickstart", Case: "orders", Reason: "it depends\non the \"hour\"", By: "ann", Made: when, Expires: when.Add(time.Hour)}
	variant := eval.Quarantine{Suite: "quickstart", Case: "orders", Variant: "model=a", Made: when, Expires: when}
	other := eval.Quarantine{Suite: "nightly", Case: "orders", Made: when, Expires: when}
	for _, q := range []eval.Quarantine{whole, variant, other, whole} { // the last one again
		must(t, s.SetQuarantine(ctx, q))
	}
	of, err := s.Quarantines(ctx, "quickstart")
	must(t, err)
	equal(t, "of the suite", of, []eval.Quarantine{whole, variant})
	all, err := s.Quarantines(ctx, "")
	must(t, err)
	equal(t, "all", all, []eval.Quarantine{other, whole, variant})

	whole.Expires, whole.Reason = when.Add(2*time.Hour), "longer"
	must(t, s.SetQuarantine(ctx, whole))
	must(t, s.DropQuarantine(ctx, "quickstart", "orders", "model=a"))
	notFound(t, "ending it again", s.DropQuarantine(ctx, "quickstart", "orders", "model=a"))
	of, err = s.Quarantines(ctx, "quickstart")
	must(t, err)
	equal(t, "what is left", of, []eval.Quarantine{whole})
}
