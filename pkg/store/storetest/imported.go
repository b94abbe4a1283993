package storetest

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// testImported stores what an imported run cost, which is none of the day's money.
func testImported(t *testing.T, s store.Store) {
	r, blobs := newRun(run1, 2)
	r.Carrier = eval.CarrierImport
	must(t, s.CreateRun(t.Context(), r, blobs))
	dispatch(t, s, run1, 2)
	for range 2 { // whoever stores them may be killed and begin again
		_, err := s.Commit(t.Context(), []eval.Record{
			spends(run1, 0, 1, eval.Amount{MicroUSD: 70, Tokens: 7}), spends(run1, 1, 1, eval.Amount{MicroUSD: 30, Tokens: 3}),
		})
		must(t, err)
	}
	expectLedger(t, s, run1, eval.Ledger{Spent: eval.Amount{MicroUSD: 100, Tokens: 10}})
	day, err := s.Day(t.Context())
	must(t, err)
	equal(t, "day", day, eval.Day{})
	createCapped(t, s, "r-other", 1, eval.Budget{}, 50)
	expectRoom(t, s, "r-other", 0, 50, eval.ShortOfDayMoney)
}
