package cli_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
)

// A scheduler and a worker without a flag are a farm by their file alone, and by
// their environment alone.
func TestAFarmOfItsFile(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(s *shop, redis, port string){
		"the file": func(s *shop, redis, port string) {
			s.file("farm.yaml", "version: 1\nredis: "+redis+"\nlisten: 127.0.0.1:"+port+"\nblobs: http://127.0.0.1:"+port+
				"\nslots: 4\njudge_slots: 1\nlease: 2s\ngrace: 5s\nattempts: 2\nstore: farm.db\nlog: {level: debug}\nretention: {runs: 30d}\n")
		},
		"the environment": func(s *shop, redis, port string) {
			s.env = append(s.env, "EVALFARM_REDIS="+redis, "EVALFARM_LISTEN=127.0.0.1:"+port, "EVALFARM_BLOBS=http://127.0.0.1:"+port,
				"EVALFARM_SLOTS=4", "EVALFARM_JUDGE_SLOTS=1", "EVALFARM_LEASE=2s", "EVALFARM_GRACE=5s", "EVALFARM_ATTEMPTS=2",
				"EVALFARM_STORE=farm.db", "EVALFARM_LOG_LEVEL=debug", "EVALFARM_RETENTION_RUNS=30d")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t)
			s.file("suite.yaml", manySuite())
			redis := redistest.Start(t)
			port, err := freeport.Hold(t.Cleanup)
			if err != nil {
				t.Fatal(err)
			}
			how(s, redis.URL(), port)
			sched := s.start("scheduler", "suite.yaml", "--json")
			hand := s.start("worker")
			got := conclude(s, sched, []*process{hand}, 1)
			if got.Counts.Pass == 0 || got.Counts.Error > 0 {
				t.Errorf("got %+v, want trials that pass", got.Counts)
			}
			for _, want := range []string{"worker joined", "slots=4"} {
				if !strings.Contains(hand.errs.String(), want) {
					t.Errorf("worker: got\n%s\nwant %s", hand.errs.String(), want)
				}
			}
			if !strings.Contains(sched.errs.String(), "collected old runs") {
				t.Errorf("scheduler: got\n%s\nwant that old runs are collected", sched.errs.String())
			}
			if out, code := s.run("runs", "--store", "farm.db"); code != 0 || !strings.Contains(out, got.Run) {
				t.Errorf("the runs of farm.db: exit code %d\n%s\nwant %s", code, out, got.Run)
			}
		})
	}
}
