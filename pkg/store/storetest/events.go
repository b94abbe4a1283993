package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testEvents(t *testing.T, s store.Store) {
	create(t, s, run1, 3)
	create(t, s, "r-other", 1)
	must(t, s.SetState(t.Context(), run1, eval.RunRunning))
	dispatch(t, s, run1, 3)
	dispatch(t, s, "r-other", 1)
	commit(t, s, record(run1, 2, 1, eval.Pass), record("r-other", 0, 1, eval.Fail), failed(1, 1, eval.AttemptFailed))
	commit(t, s, record(run1, 0, 1, eval.Fail))

	line := func(e eval.Event) string {
		return fmt.Sprintf("%s %s %d %s%s", e.Run, e.Kind, e.Ordinal, e.Verdict, e.State)
	}
	read := func(run string, after int64, limit int) (lines []string, last int64) {
		t.Helper()
		es, err := s.Events(t.Context(), run, after, limit)
		must(t, err)
		last = after
		for _, e := range es {
			if e.Seq <= last {
				t.Errorf("got sequence number %d after %d", e.Seq, last)
			}
			if e.At.IsZero() {
				t.Errorf("got no time for event %d", e.Seq)
			}
			last = e.Seq
			lines = append(lines, line(e))
		}
		return lines, last
	}
	all := []string{
		run1 + " state 0 running",
		run1 + " result 2 pass",
		"r-other result 0 fail",
		run1 + " result 0 fail",
	}
	got, end := read("", 0, 0)
	equal(t, "events of all runs", got, all)
	got, _ = read(run1, 0, 0)
	equal(t, "events of one run", got, []string{all[0], all[1], all[3]})
	got, second := read("", 0, 2)
	equal(t, "the first two", got, all[:2])
	got, _ = read("", second, 100)
	equal(t, "those after the second", got, all[2:])
	got, _ = read(run1, second, 100)
	equal(t, "those of one run after the second", got, all[3:])
	got, _ = read("", end, 100)
	equal(t, "those after the last", got, nil)
	got, _ = read("r-none", 0, 100)
	equal(t, "those of an unknown run", got, nil)
}

// A reader that follows along sees every event, in order, while several
// writers add some: none appears behind a number that the reader has passed.
func testFollow(t *testing.T, s store.Store) {
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for w := range writers {
		run := fmt.Sprint("r-", w)
		create(t, s, run, each)
		dispatch(t, s, run, each)
		wg.Go(func() {
			for i := range each {
				if _, err := s.Commit(t.Context(), []eval.Record{record(run, i, 1, eval.Pass)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	seen := map[string]bool{}
	var last int64
	follow := func() {
		es, err := s.Events(t.Context(), "", last, 7)
		must(t, err)
		for _, e := range es {
			last = e.Seq
			seen[fmt.Sprint(e.Run, e.Ordinal)] = true
		}
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
			follow()
		}
	}
	for before := int64(-1); before != last; {
		before = last
		follow()
	}
	equal(t, "events seen by the follower", len(seen), writers*each)
}
