package storetest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A key is for one run of a tenant, also when several ask at once.
func testKeys(t *testing.T, s store.Store) {
	ask := func(id, tenant, key string) (eval.Run, error) {
		r, blobs := newRun(id, 5)
		r.Tenant, r.Key, r.Asked = tenant, key, "what "+key
		return r, s.CreateRun(t.Context(), r, blobs)
	}
	first, err := ask("r-20260301-aaaaaa", "ci", "nightly-1")
	must(t, err)
	must(t, s.CreateRun(t.Context(), first, nil)) // it is the same run
	if _, err := ask("r-20260301-bbbbbb", "ci", "nightly-1"); !errors.Is(err, store.ErrKeyTaken) {
		t.Errorf("a second run with the key: got %v, want ErrKeyTaken", err)
	}
	_, err = s.Run(t.Context(), "r-20260301-bbbbbb")
	notFound(t, "the second run", err)
	got, err := s.RunOfKey(t.Context(), "ci", "nightly-1")
	must(t, err)
	equal(t, "the run of the key", got, first)

	_, err = ask("r-20260301-cccccc", "", "nightly-1")
	must(t, err) // another tenant's key
	_, err = ask("r-20260301-dddddd", "ci", "nightly-2")
	must(t, err)
	create(t, s, "r-20260301-eeeeee", 5)
	create(t, s, "r-20260301-ffffff", 5) // neither has a key
	_, err = s.RunOfKey(t.Context(), "ci", "nightly-3")
	notFound(t, "a key that nobody used", err)
	_, err = s.RunOfKey(t.Context(), "", "")
	notFound(t, "no key", err)
	runs, err := s.ListRuns(t.Context(), store.RunFilter{Tenant: "ci"})
	must(t, err)
	equal(t, "runs of the tenant", len(runs), 2)

	var made atomic.Int32
	var asking sync.WaitGroup
	for _, id := range []string{"r-20260302-aaaaaa", "r-20260302-bbbbbb", "r-20260302-cccccc", "r-20260302-dddddd"} {
		asking.Go(func() {
			if _, err := ask(id, "ci", "at once"); err == nil {
				made.Add(1)
			} else if !errors.Is(err, store.ErrKeyTaken) {
				t.Errorf("asking at once: got %v, want a run or ErrKeyTaken", err)
			}
		})
	}
	asking.Wait()
	equal(t, "runs that were made at once", made.Load(), 1)
}

// Pages of results are what EachResult tells, in its order.
func testPages(t *testing.T, s store.Store) {
	r := create(t, s, "r-20260301-aaaaaa", 5)
	dispatch(t, s, r.ID, 5)
	commit(t, s, record(r.ID, 0, 1, eval.Pass), record(r.ID, 1, 1, eval.Fail), record(r.ID, 3, 1, eval.Pass), record(r.ID, 4, 1, eval.Error))
	var all, paged []store.Row
	must(t, s.EachResult(t.Context(), r.ID, func(row store.Row) error {
		all = append(all, row)
		return nil
	}))
	for after := -1; ; {
		page, err := s.Results(t.Context(), r.ID, after, 3)
		must(t, err)
		if len(page) == 0 {
			break
		}
		paged, after = append(paged, page...), page[len(page)-1].Ordinal
	}
	equal(t, "results", len(all), 4)
	equal(t, "pages", paged, all)
	_, err := s.Results(t.Context(), "r-20260301-zzzzzz", -1, 3)
	notFound(t, "results of no run", err)
}
