package farmfile_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
)

func TestSchedules(t *testing.T) {
	got, err := farmfile.Load("testdata/good/schedules.yaml", farmfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := filepath.Abs("testdata/good")
	if err != nil {
		t.Fatal(err)
	}
	want := []eval.Schedule{
		{
			Name: "hourly", Cron: "@hourly", Timezone: "UTC", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpOnce,
			Suite: filepath.Join(folder, "quick.yaml"),
		},
		{
			Name: "nightly", Cron: "30 2 * * mon-fri", Timezone: "Europe/Berlin", Jitter: 10 * time.Minute,
			Overlap: eval.OverlapQueue, CatchUp: eval.CatchUpAll, CatchUpLimit: 3, FinishBy: "06:00",
			Suite: filepath.Join(folder, "suites/desk"), With: "/etc/evalfarm/servers.yaml", Vars: map[string]string{"team": "desk"},
			Cases: []string{"refund/*"}, Tags: []string{"smoke", "slow"}, Axes: map[string][]string{"model": {"haiku", "opus"}}, Repeats: 5,
			BudgetMicroUSD: 50_500_000, Tenant: "ci", Priority: 2, Notifications: []string{"on-call"}, Paused: true,
		},
	}
	if diff := cmp.Diff(want, got.Schedules); diff != "" {
		t.Errorf("schedules differ (-want +got):\n%s", diff)
	}
}
