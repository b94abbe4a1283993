package cli_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// spooled lists the uids of the attempts whose records workers keep in their
// spools.
func (s *shop) spooled() []string {
	found, err := filepath.Glob(filepath.Join(s.dir, "home", "spool", "*", "trials", "*", "*.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	var uids []string
	for _, path := range found {
		uids = append(uids, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return uids
}

// attempts lists all attempts of the latest run that were carried out to their
// end.
func (s *shop) attempts(trials int) []store.Attempt {
	s.t.Helper()
	db, err := app.Config{Home: filepath.Join(s.dir, "home")}.OpenStore(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	runs, err := db.ListRuns(s.t.Context(), store.RunFilter{Limit: 1})
	if err != nil || len(runs) != 1 {
		s.t.Fatalf("got %d runs, %v, want one", len(runs), err)
	}
	var done []store.Attempt
	for ordinal := range trials {
		attempts, err := db.Attempts(s.t.Context(), runs[0].ID, ordinal)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, a := range attempts {
			if a.Outcome == eval.AttemptDone {
				done = append(done, a)
			}
		}
	}
	return done
}

// stand wants every trial to have been carried out once, and the records that were
// in the spools to be those that count: nothing was measured again.
func (s *shop) stand(trials int, spooled []string) {
	s.t.Helper()
	s.once(trials)
	count := map[string]bool{}
	attempts := s.attempts(trials)
	for _, a := range attempts {
		count[a.UID] = a.Counts
	}
	if len(attempts) != trials {
		s.t.Errorf("%d attempts were carried out, want one for each of %d trials", len(attempts), trials)
	}
	for _, uid := range spooled {
		if !count[uid] {
			s.t.Errorf("attempt %s was in the spool and does not count: its trial was measured again", uid)
		}
	}
}

// Records that were committed and are lost with the memory of Redis, before
// anybody stored them, are offered again: nothing is measured twice.
func TestWipedBeforeStored(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	redis := redistest.Start(t)
	sched, hands := farm(s, redis, s.file("suite.yaml", manySuite()), 8, 2)
	eventually(t, "results are stored", func() bool { return s.done() > 5 || sched.ended() })
	sched.signal(syscall.SIGSTOP)
	eventually(t, "records wait", func() bool { return len(s.spooled()) >= 3 })
	waiting := s.spooled()
	redis.FlushAll()
	sched.signal(syscall.SIGCONT)
	conclude(s, sched, hands, 1)
	s.stand(400, waiting)
	if left := s.spooled(); len(left) != 0 {
		t.Errorf("the spools have %q at the end, want nothing", left)
	}
}

// Trials that end while Redis is away, for longer than a lease, count.
func TestSpoolOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	redis := redistest.Start(t)
	sched, hands := farm(s, redis, s.file("suite.yaml", manySuite()), 8, 2)
	eventually(t, "results are stored", func() bool { return s.done() > 5 || sched.ended() })
	redis.Kill9()
	eventually(t, "records wait", func() bool { return len(s.spooled()) > 0 })
	eventually(t, "beats fail for longer than a lease", func() bool {
		return strings.Count(hands[0].errs.String(), "msg=beat") > 6 && strings.Count(hands[1].errs.String(), "msg=beat") > 6
	})
	waiting := s.spooled()
	redis.Restart()
	conclude(s, sched, hands, 1)
	s.stand(400, waiting)
}

// What a killed worker has left in its spool, the next one hands on.
func TestSpoolOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	redis := redistest.Start(t)
	sched, hands := farm(s, redis, s.file("suite.yaml", manySuite()), 8, 1)
	eventually(t, "results are stored", func() bool { return s.done() > 5 || sched.ended() })
	sched.signal(syscall.SIGSTOP)
	eventually(t, "records wait", func() bool { return len(s.spooled()) >= 3 })
	hands[0].kill()
	left := s.spooled()
	redis.FlushAll()
	hands = append(hands, s.start(append([]string{"worker"}, hands[0].cmd.Args[2:]...)...))
	sched.signal(syscall.SIGCONT) // who joins asks it
	conclude(s, sched, hands, 1)
	s.once(400)
	stored := map[string]bool{}
	for _, a := range s.attempts(400) {
		stored[a.UID] = true
	}
	for _, uid := range left {
		if !stored[uid] {
			t.Errorf("the record of attempt %s was left in the spool and is nowhere", uid)
		}
	}
}
