package storetest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Several aggregators commit competing records of the same trials.
func testConcurrent(t *testing.T, s store.Store) {
	const writers, trials, batch = 6, 60, 10
	create(t, s, run1, trials)
	dispatch(t, s, run1, trials)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex // guards final
		final = map[int]int{}
	)
	for w := range writers {
		wg.Go(func() {
			for from := 0; from < trials; from += batch {
				var rs []eval.Record
				for i := from; i < from+batch; i++ {
					r := record(run1, (i+w*batch)%trials, 1, eval.Pass)
					r.UID = fmt.Sprintf("%d by %d", r.Ordinal, w%3) // each sent by two of them
					rs = append(rs, r)
				}
				stored, err := s.Commit(t.Context(), rs)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, st := range stored {
					if st.Final {
						final[st.Ordinal]++
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for i := range trials {
		if final[i] != 1 {
			t.Errorf("got %d final results of trial %d, want 1", final[i], i)
		}
	}
	expectCounts(t, s, run1, eval.VerdictCounts{Pass: trials})
	expectSpent(t, s, run1, 3*trials*100)
}
