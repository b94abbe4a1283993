package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

func testLeases(t *testing.T, s store.Store, c *clock) {
	const term = 15 * time.Second
	_, err := s.Lease(t.Context(), "leader")
	notFound(t, "a lease that nobody has", err)
	acquire := func(holder, want string, until time.Time) {
		t.Helper()
		got, err := s.AcquireLease(t.Context(), "leader", holder, term)
		must(t, err)
		equal(t, "lease", got, store.Lease{Name: "leader", Holder: want, Until: until})
		got, err = s.Lease(t.Context(), "leader")
		must(t, err)
		equal(t, "lease as it is read", got, store.Lease{Name: "leader", Holder: want, Until: until})
	}
	acquire("a", "a", c.at.Add(term))
	first := c.at
	c.at = c.at.Add(term / 2)
	acquire("b", "a", first.Add(term)) // it is a's
	acquire("a", "a", c.at.Add(term))  // renewed
	other, err := s.AcquireLease(t.Context(), "another", "b", term)
	must(t, err)
	equal(t, "holder of another lease", other.Holder, "b")

	c.at = c.at.Add(term)
	_, err = s.Lease(t.Context(), "leader")
	notFound(t, "a lease that has ended", err)
	acquire("b", "b", c.at.Add(term))
	acquire("a", "b", c.at.Add(term)) // too late

	must(t, s.ReleaseLease(t.Context(), "leader", "a")) // not its own
	acquire("a", "b", c.at.Add(term))
	must(t, s.ReleaseLease(t.Context(), "leader", "b"))
	must(t, s.ReleaseLease(t.Context(), "leader", "b"))
	acquire("a", "a", c.at.Add(term))

	// Of many who ask at once, one gets it.
	must(t, s.ReleaseLease(t.Context(), "leader", "a"))
	var all sync.WaitGroup
	holders := make([]string, 8)
	for i := range holders {
		all.Go(func() {
			l, err := s.AcquireLease(t.Context(), "leader", string(rune('a'+i)), term)
			if err != nil {
				t.Error(err)
			}
			holders[i] = l.Holder
		})
	}
	all.Wait()
	for _, h := range holders[1:] {
		equal(t, "the one who has it", h, holders[0])
	}
}
