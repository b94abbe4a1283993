package storetest

import (
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// end finishes run1, with notices for targets that are due at once.
func end(t tb, s store.Store, targets ...string) {
	t.Helper()
	r, err := s.Run(t.Context(), run1)
	must(t, err)
	r.Outcome, r.Finished = eval.OutcomeComplete, when
	var ns []store.Notice
	for _, target := range targets {
		ns = append(ns, store.Notice{Run: run1, Target: target, Due: when, Created: when})
	}
	must(t, s.Finish(t.Context(), r, blob.Pack([]byte("{}")), ns...))
}

func waiting(run, target string) store.Notice {
	return store.Notice{Run: run, Target: target, State: store.NoticeWaiting, Due: when, Created: when}
}

// claim claims what is due so long after the notices were made, for a minute.
func claim(t tb, s store.Store, run string, after time.Duration, targets ...string) []store.Notice {
	t.Helper()
	now := when.Add(after)
	ns, err := s.ClaimNotices(t.Context(), run, targets, now, now.Add(time.Minute), 100)
	must(t, err)
	return ns
}

func notices(t tb, s store.Store, run string) []store.Notice {
	t.Helper()
	ns, err := s.Notices(t.Context(), run, 0)
	must(t, err)
	return ns
}

func testNotices(t *testing.T, s store.Store) {
	ctx := t.Context()
	create(t, s, run1, 1)
	equal(t, "before the end", notices(t, s, run1), nil)
	end(t, s, "team", "mail")
	equal(t, "after it", notices(t, s, run1), []store.Notice{waiting(run1, "mail"), waiting(run1, "team")})

	// A claim counts, and nobody else has the notice meanwhile.
	taken := waiting(run1, "team")
	taken.Tries, taken.Due = 1, when.Add(time.Minute)
	equal(t, "claimed too early", claim(t, s, "", -time.Second, "team", "mail"), nil)
	equal(t, "claimed by one who knows no target", claim(t, s, "", 0), nil)
	equal(t, "claimed of another run", claim(t, s, "r-other", 0, "team"), nil)
	equal(t, "claimed", claim(t, s, "", 0, "team", "stranger"), []store.Notice{taken})
	equal(t, "claimed again", claim(t, s, run1, time.Minute-time.Second, "team"), nil)

	// Who died in between leaves it to the next, and comes too late afterwards.
	again := taken
	again.Tries, again.Due = 2, when.Add(2*time.Minute)
	equal(t, "claimed after a death", claim(t, s, run1, time.Minute, "team"), []store.Notice{again})
	late := taken
	late.State, late.Ended = store.NoticeFailed, when
	must(t, s.SettleNotice(ctx, late))
	equal(t, "after a late answer", notices(t, s, run1)[1], again)

	// A try that failed waits, one that did not is the end.
	again.Due, again.Message = when.Add(time.Hour), "503"
	must(t, s.SettleNotice(ctx, again))
	equal(t, "claimed before it is due", claim(t, s, "", time.Hour-time.Second, "team"), nil)
	third := claim(t, s, "", time.Hour, "team")[0]
	equal(t, "third try", third.Tries, 3)
	third.State, third.Message, third.Due, third.Ended = store.NoticeSent, "", time.Time{}, when.Add(time.Hour)
	must(t, s.SettleNotice(ctx, third))
	equal(t, "sent", notices(t, s, run1)[1], third)
	equal(t, "claimed once it is sent", claim(t, s, "", 24*time.Hour, "team"), nil)

	// The end of a run is told once, however often it is stored.
	end(t, s, "team", "third")
	equal(t, "after another end", notices(t, s, run1), []store.Notice{waiting(run1, "mail"), third, waiting(run1, "third")})

	// A person may want it again.
	must(t, s.PutNotice(ctx, waiting(run1, "team")))
	equal(t, "put again", notices(t, s, run1)[1], waiting(run1, "team"))
	equal(t, "claimed once it is put again", claim(t, s, "", 0, "team"), []store.Notice{taken})
	notFound(t, "PutNotice", s.PutNotice(ctx, waiting("r-none", "team")))
}

// testNoticesOfARetriedRun wants that nothing is told of a run that goes on.
func testNoticesOfARetriedRun(t *testing.T, s store.Store) {
	create(t, s, run1, 1)
	dispatch(t, s, run1, 1)
	commit(t, s, record(run1, 0, 1, eval.Error))
	end(t, s, "team")
	_, err := s.Retry(t.Context(), run1, []eval.Verdict{eval.Error})
	must(t, err)
	equal(t, "claimed while it runs again", claim(t, s, "", 0, "team"), nil)
	commit(t, s, record(run1, 0, 2, eval.Pass))
	end(t, s, "team")
	equal(t, "claimed when it is done", len(claim(t, s, "", 0, "team")), 1)
}

func testNoticesOfAllRuns(t *testing.T, s store.Store) {
	for i, id := range []string{"r-a", "r-b", "r-c"} {
		r := create(t, s, id, 1)
		r.Outcome = eval.OutcomeComplete
		n := waiting(id, "team")
		n.Created, n.Due = when.Add(time.Duration(i)*time.Second), when.Add(-time.Duration(i)*time.Second)
		must(t, s.Finish(t.Context(), r, blob.Pack([]byte("{}")), n))
	}
	ns, err := s.Notices(t.Context(), "", 2)
	must(t, err)
	equal(t, "the newest", []string{ns[0].Run, ns[1].Run}, []string{"r-c", "r-b"})
	equal(t, "all", len(notices(t, s, "")), 3)

	// The longest due goes first.
	ns, err = s.ClaimNotices(t.Context(), "", []string{"team"}, when, when.Add(time.Minute), 1)
	must(t, err)
	equal(t, "claimed", ns[0].Run, "r-c")

	_, err = s.Collect(t.Context(), time.Now().Add(time.Hour), false)
	must(t, err)
	equal(t, "collected with their runs", notices(t, s, ""), nil)
}

// testNoticesAtOnce wants that each notice is claimed by one of many.
func testNoticesAtOnce(t *testing.T, s store.Store) {
	const targets, claimants = 20, 4
	create(t, s, run1, 1)
	var names []string
	for i := range targets {
		names = append(names, string(rune('a'+i)))
	}
	end(t, s, names...)
	var wg sync.WaitGroup
	var mu sync.Mutex
	claimed := map[string]int{}
	for range claimants {
		wg.Go(func() {
			for {
				ns, err := s.ClaimNotices(t.Context(), "", names, when, when.Add(time.Minute), 3)
				if err != nil {
					t.Errorf("claim: %v", err)
				}
				if len(ns) == 0 {
					return
				}
				mu.Lock()
				for _, n := range ns {
					claimed[n.Target]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	equal(t, "targets claimed", len(claimed), targets)
	for target, n := range claimed {
		if n != 1 {
			t.Errorf("the notice for %s was claimed %d times, want once", target, n)
		}
	}
}
