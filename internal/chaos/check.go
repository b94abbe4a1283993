package chaos

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Check stops the farm and wants nobody to be able to tell what has befallen it.
func (f *Farm) Check(want eval.Summary) {
	f.t.Helper()
	all := slices.Concat(f.workers, f.schedulers)
	var stops sync.WaitGroup
	for _, p := range all {
		stops.Go(func() {
			if err := p.stop(); err != nil {
				f.t.Error(err)
			}
		})
	}
	stops.Wait()
	for _, p := range all {
		if ends := p.ownEnds(); len(ends) > 0 {
			f.t.Logf("%s ended by itself: %q", p.name, ends)
		}
	}
	left := f.left()
	for deadline := time.Now().Add(time.Minute); len(left) > 0 && time.Now().Before(deadline); left = f.left() {
		time.Sleep(100 * time.Millisecond)
	}
	if len(left) > 0 {
		f.t.Errorf("processes are left: %q", left)
	}
	run, err := f.store.Run(f.t.Context(), f.run)
	if err != nil {
		f.t.Fatal(err)
	}
	var got eval.Summary
	if err := blob.LoadJSON(f.t.Context(), f.store, run.Summary, &got); err != nil {
		f.t.Fatal(err)
	}
	if got.Outcome != eval.OutcomeComplete || got.Fingerprint != want.Fingerprint || got.Counts != want.Counts {
		f.t.Errorf("the run is %s with %+v %s, want it complete with %+v %s", got.Outcome, got.Counts, got.Fingerprint, want.Counts, want.Fingerprint)
	}
	f.checkAttempts(want.Counts.Total())
}

// checkAttempts wants one result to count for each trial, every attempt to be listed
// with what it took, and the ledger to have all of it.
func (f *Farm) checkAttempts(trials int) {
	f.t.Helper()
	ledger, err := f.store.Ledger(f.t.Context(), f.run)
	if err != nil {
		f.t.Fatal(err)
	}
	outcomes := map[eval.AttemptOutcome]int{}
	var cost, uncounted int64
	superseded := 0
	for ordinal := range trials {
		attempts, err := f.store.Attempts(f.t.Context(), f.run, ordinal)
		if err != nil {
			f.t.Fatal(err)
		}
		counting := 0
		for _, a := range attempts {
			outcomes[a.Outcome]++
			if time.Since(a.Started).Abs() > jump/2 {
				f.skewed++
			}
			cost += a.CostMicroUSD
			switch {
			case a.Counts:
				counting++
			case a.Outcome == eval.AttemptDone:
				superseded++
				fallthrough
			default:
				uncounted += a.CostMicroUSD
			}
		}
		if counting != 1 {
			f.t.Errorf("%d attempts at trial %d count, want one: %+v", counting, ordinal, attempts)
		}
	}
	if _, err := f.store.Result(f.t.Context(), f.run, trials); !errors.Is(err, store.ErrNotFound) {
		f.t.Errorf("there is a result of trial %d of %d", trials, trials)
	}
	bill := f.provider.bill()
	known := ledger.Spent.Add(ledger.Charged).MicroUSD
	if known < bill || ledger.Held != (eval.Amount{}) {
		f.t.Errorf("the provider wants %s, and the ledger has %+v; want all of it there, and nothing held", eval.USD(bill), ledger)
	}
	if cost != ledger.Spent.MicroUSD || uncounted != ledger.Uncounted.MicroUSD {
		f.t.Errorf("the attempts took %s, %s of it for nothing; the ledger has %+v, want the same", eval.USD(cost), eval.USD(uncounted), ledger)
	}
	f.t.Logf("attempts %v, %d superseded, %d by a wrong clock; %s for what does not count; the provider wants %s, the ledger has %s and charges %s",
		outcomes, superseded, f.skewed, eval.USD(uncounted), eval.USD(bill), eval.USD(ledger.Spent.MicroUSD), eval.USD(ledger.Charged.MicroUSD))
}

// Felt wants it to show, after Check, that a fault was felt, where it must: in the log
// of a process, or in the times of attempts. Among other faults one may pass unseen.
func (f *Farm) Felt(fault Fault) {
	f.t.Helper()
	if f.jumped.Load() && f.skewed == 0 {
		f.t.Error("nobody felt that a clock had jumped: no attempt was begun by it")
	}
	if fault.felt == nil {
		return
	}
	for _, p := range slices.Concat(f.workers, f.schedulers) {
		content, err := os.ReadFile(p.log)
		if err != nil {
			f.t.Fatal(err)
		}
		if slices.ContainsFunc(fault.felt, func(words string) bool { return strings.Contains(string(content), words) }) {
			return
		}
	}
	f.t.Errorf("nobody felt that %s: no log has any of %q", fault.Name, fault.felt)
}

// left lists the processes that live in the farm's folder, which its servers do.
func (f *Farm) left() []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is sound
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, f.dir) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			found = append(found, filepath.Base(filepath.Dir(link))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
