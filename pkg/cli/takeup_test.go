package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// The time of --budget-time counts from when the run is taken up, however old it is.
func TestTimeOfARetryCountsFromNow(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "farm.yaml"), []byte("version: 1\nbudgets: {day_usd: 3}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &command{env: Env{Dir: dir, Environ: []string{"EVALFARM_HOME=" + dir}, Stderr: io.Discard}}
	s, err := c.config().OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kase := blob.Pack(eval.Encode(eval.Case{ID: "a", Kind: eval.KindScript}))
	header := blob.Pack(eval.Encode(eval.Snapshot{
		Suite: "old", Variants: []eval.Variant{eval.NewVariant(nil)}, Cases: []eval.CaseRef{{ID: "a", Kind: eval.KindScript, Blob: kase.SHA256}},
		Plan: eval.Plan{Cells: []eval.Cell{{Repeats: 1}}},
	}))
	const age = 50 * time.Hour
	run := eval.Run{
		ID: "r-old", Suite: "old", State: eval.RunQueued, Control: eval.ControlRun, Header: header.SHA256, Trials: 1,
		Budget: eval.Budget{MicroUSD: 5, Time: time.Minute}, Created: time.Now().Add(-age),
	}
	if err := s.CreateRun(t.Context(), run, []eval.Blob{kase, header}); err != nil {
		t.Fatal(err)
	}
	got, err := c.takeUp(t.Context(), s, run, ceiling{time: 2 * time.Second}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := got.Budget; b.Time < age+2*time.Second || b.Time > 2*age || b.MicroUSD != 5 {
		t.Errorf("the budget is %+v, want 2 s more than the %s that the run is old, and the same money", b, age)
	}
	if got.DayMicroUSD != 3_000_000 {
		t.Errorf("the day's cap is %s, want $3.00", eval.USD(got.DayMicroUSD))
	}
	if again, err := c.takeUp(t.Context(), s, got, ceiling{}, nil); err != nil || again.Budget != got.Budget {
		t.Errorf("without flags the budget becomes %+v (%v), want %+v", again.Budget, err, got.Budget)
	}
}
