package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

const scheduledSuite = `
version: 1
name: nightly
vars: {order: none}
servers: {desk: {command: [evalfarm, demo, desk]}}
defaults: {server: desk}
cases:
  - {id: order, tags: [smoke], call: get_order, arguments: {order_id: "${{ vars.order }}"}, expect: {status: SHIPPED}}
  - {id: broken, call: get_order, arguments: {order_id: none}, expect: {status: SHIPPED}}
`

// A scheduler takes over the schedules of its farm file, makes up for what was missed
// while none was there, and keeps what a person said of them.
func TestServiceStartsWhatIsScheduled(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.file("suite.yaml", scheduledSuite)
	const twice = `
  twice: {suite: suite.yaml, cron: "@weekly"}`
	file := `version: 1
schedules:
  yearly: {suite: suite.yaml, cron: "@yearly", timezone: Europe/Berlin, tags: [smoke], vars: {order: ORD-20240815}, repeats: 3, budget: {usd: 5}}`
	s.file("farm.yaml", file+twice)

	// It was due in January, and nobody has looked since. What its farm file says by
	// now holds.
	if _, code := s.run("runs"); code != 0 {
		t.Fatal("there is no store")
	}
	st, err := sqlitestore.Open(t.Context(), filepath.Join(s.dir, "home", "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	old := eval.Schedule{Name: "yearly", Cron: "@yearly", Timezone: "Europe/Berlin", Suite: "elsewhere.yaml"}
	if err := scheduler.PutSchedule(t.Context(), st, old, time.Now().AddDate(-1, 0, 0)); err != nil {
		t.Fatal(err)
	}

	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	hands := join(s, redis, at, 1)
	var firings []eval.Firing
	eventually(t, "the schedule fires", func() bool {
		s.json(&firings, 0, "schedule", "history", "yearly", "--json")
		return len(firings) > 0 || sched.ended()
	})
	if len(firings) != 1 || firings[0].Outcome != eval.FiringStarted {
		t.Fatalf("got %+v, want one firing that started a run\n%s", firings, sched.errs.String())
	}
	wants := func(run string) {
		t.Helper()
		var got eval.Summary
		s.json(&got, 0, "watch", run, "--json", "--progress", "none")
		if got.Counts.Pass != 3 || got.Counts.Total() != 3 {
			t.Errorf("run %s came to %+v, want 3 passes", run, got.Counts)
		}
	}
	wants(firings[0].Run)
	if out, code := s.run("schedule", "run", "yearly"); code == 0 {
		wants(strings.TrimSpace(out))
	} else {
		t.Errorf("schedule run: exit code %d", code)
	}
	run, err := st.Run(t.Context(), firings[0].Run)
	if err != nil || run.Schedule != "yearly" || run.ScheduleMicroUSD != 5_000_000 || run.Carrier != eval.CarrierService {
		t.Errorf("got %+v, %v; want a run of the schedule with its cap", run, err)
	}

	// What is written in a file cannot be removed by command, but paused.
	if _, code := s.run("schedule", "remove", "yearly"); code != 2 {
		t.Errorf("remove: exit code %d, want 2", code)
	}
	if _, code := s.run("schedule", "pause", "yearly"); code != 0 {
		t.Errorf("pause: exit code %d, want 0", code)
	}
	stopped(t, append(hands, sched)...)
	s.file("farm.yaml", file)
	sched, _ = serve(s, redis)
	eventually(t, "it leads", func() bool { return sched.leads() || sched.ended() })
	all, err := st.Schedules(t.Context())
	if err != nil || len(all) != 1 || all[0].Name != "yearly" || !all[0].PausedByHand || all[0].File == "" {
		t.Errorf("got %+v, %v; want yearly alone, paused", all, err)
	}
	stopped(t, sched)
}
