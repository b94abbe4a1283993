package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/pgtest"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Options of a farm. All are required but those that say so.
type Options struct {
	// Command is the path of evalfarm. Skewable says that BuildSkewed has built it.
	Command  string
	Skewable bool
	// Postgres has the store; nil is SQLite.
	Postgres *pgtest.Server
	// Workers with so many Slots each, and Schedulers.
	Workers, Slots, Schedulers int
	// Lease of workers, and Term of leaders.
	Lease, Term time.Duration
	// Outage is how long Redis is away at least; zero is somewhat more than a lease.
	Outage time.Duration
}

// A Farm is one run's farm of real processes.
type Farm struct {
	t        testing.TB
	o        Options
	dir      string
	env      []string
	redis    *redistest.Server
	provider *provider
	store    store.Store // as we look into it

	workers, schedulers []*process
	clocks              []clock // of the workers
	lines               []*line // of the schedulers
	spools              []*disk // of the workers
	storeDisk           *disk
	network             *network
	// Why there are none of these.
	noDisks, noNetwork string

	redisBusy, storeBusy, linesBusy, cableBusy sync.Mutex

	// jumped says that the clock of a worker has, and skewed how many attempts that
	// clock has begun.
	jumped atomic.Bool
	skewed int

	run string
}

func (f *Farm) worker(s Step) *process    { return f.workers[s.Victim%len(f.workers)] }
func (f *Farm) scheduler(s Step) *process { return f.schedulers[s.Victim%len(f.schedulers)] }

// Start starts a farm that ends with the test.
func Start(tb testing.TB, o Options) *Farm {
	tb.Helper()
	f := &Farm{t: tb, o: o, dir: tb.TempDir()}
	f.env = environment(f.dir, o.Command)
	here := "127.0.0.1"
	if f.network, f.noNetwork = lay(tb); f.network != nil {
		here = f.network.here
	}
	port := freePort(tb)
	f.redis = redistest.StartWith(tb, "--bind", here, "--port", port, "--protected-mode", "no")
	f.provider = provide(tb, here)
	f.layDisks()
	f.openStore()
	f.write("suite.yaml", f.provider.suite())

	var joinAt []string
	for i := range o.Schedulers {
		l := &line{to: strings.TrimPrefix(f.redis.URL(), "unix://")}
		socket := filepath.Join(filepath.Dir(l.to), fmt.Sprintf("line%d.sock", i))
		at, err := net.Listen("unix", socket)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = at.Close() })
		go l.serve(at)
		f.lines = append(f.lines, l)
		address := net.JoinHostPort(here, freePort(tb))
		joinAt = append(joinAt, "http://"+address)
		f.schedulers = append(f.schedulers, f.keep(fmt.Sprint("scheduler-", i), func() *exec.Cmd {
			return f.command("scheduler", "--redis", "unix://"+socket, "--listen", address, "--lease", o.Lease.String(), "--leader-lease", o.Term.String(), "-v")
		}))
	}
	for i := range o.Workers {
		c := clock{f.write(fmt.Sprint("clock-", i), "")}
		if err := c.set(0); err != nil {
			tb.Fatal(err)
		}
		f.clocks = append(f.clocks, c)
		f.workers = append(f.workers, f.keep(fmt.Sprint("worker-", i), func() *exec.Cmd {
			cmd := f.command("worker", "--redis", "redis://"+net.JoinHostPort(here, port), "--blobs", joinAt[i%len(joinAt)],
				"-j", fmt.Sprint(o.Slots), "--spool", filepath.Join(f.spoolOf(i), "records"), "-v")
			cmd.Env = append(cmd.Env, clockVariable+"="+c.path)
			if i == 0 && f.network != nil {
				return f.network.inside(cmd)
			}
			return cmd
		}))
	}
	return f
}

func (f *Farm) spoolOf(worker int) string { return filepath.Join(f.dir, fmt.Sprint("spool-", worker)) }

// layDisks gives the store and each spool a disk of its own.
func (f *Farm) layDisks() {
	f.t.Helper()
	if f.storeDisk, f.noDisks = mount(f.t, filepath.Join(f.dir, "disk"), "256m"); f.noDisks != "" {
		return
	}
	for i := range f.o.Workers {
		d, refused := mount(f.t, f.spoolOf(i), "1m")
		if f.noDisks = refused; refused != "" {
			return
		}
		f.spools = append(f.spools, d)
	}
}

// openStore makes a store on its disk.
func (f *Farm) openStore() {
	f.t.Helper()
	home := filepath.Join(f.dir, "home")
	at := filepath.Join(f.dir, "disk", "evalfarm.db")
	if f.o.Postgres != nil {
		database := fmt.Sprintf("chaos%d", time.Now().UnixNano())
		f.o.Postgres.CreateIn(f.t, database, filepath.Join(f.dir, "disk"))
		at = f.o.Postgres.URL(database)
	}
	f.env = append(f.env, "EVALFARM_STORE="+at)
	var err error
	if f.store, err = (app.Config{Home: home, Store: at}).OpenStore(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = f.store.Close() })
}

// environment of the commands of a farm.
func environment(dir, command string) []string {
	return []string{
		"EVALFARM_HOME=" + filepath.Join(dir, "home"), "PATH=" + filepath.Dir(command) + ":" + os.Getenv("PATH"), "HOME=" + dir,
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "EVALFARM_TOKEN=a token for tests",
	}
}

func (f *Farm) write(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *Farm) command(args ...string) *exec.Cmd {
	cmd := exec.Command(f.o.Command, args...)
	cmd.Dir, cmd.Env = f.dir, slices.Clone(f.env)
	return cmd
}

// keep starts a process, and keeps it until the test ends.
func (f *Farm) keep(name string, command func() *exec.Cmd) *process {
	f.t.Helper()
	p := &process{name: name, command: command, log: filepath.Join(f.dir, name+".log")}
	if err := p.start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		p.kill()
		if f.t.Failed() {
			content, _ := os.ReadFile(p.log)
			f.t.Logf("%s:\n%s", name, content[max(0, len(content)-20_000):])
		}
	})
	return p
}

// Enqueue leaves a run of so many trials to the farm. They must be a multiple of 20.
// Its budget is ample, so that no trial goes without.
func (f *Farm) Enqueue(trials int) {
	f.t.Helper()
	cmd := f.command("enqueue", "suite.yaml", "--seed", seedOfRuns, "-n", fmt.Sprint(trials/cells), "--budget-usd", fmt.Sprint(trials/10))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("enqueue: %v\n%s", err, errs.String())
	}
	f.run = strings.TrimSpace(string(out))
}

// Undisturbed carries out the same run in one process, and gives its summary.
func Undisturbed(tb testing.TB, command string, trials int) eval.Summary {
	tb.Helper()
	dir := tb.TempDir()
	path := filepath.Join(dir, "suite.yaml")
	if err := os.WriteFile(path, []byte(provide(tb, "127.0.0.1").suite()), 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(command, "run", path, "--seed", seedOfRuns, "-n", fmt.Sprint(trials/cells), "-j", "24", "--json", "--progress", "none")
	cmd.Dir, cmd.Env = dir, environment(dir, command)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	var summary eval.Summary
	if _, ended := errors.AsType[*exec.ExitError](err); err == nil || ended { // some cases fail
		err = json.Unmarshal(out, &summary)
	}
	if err != nil || summary.Counts.Total() != trials || summary.Counts.Pass == 0 || summary.Counts.Fail == 0 || summary.Counts.Error != 0 {
		tb.Fatalf("the undisturbed run: %v, %+v\n%s", err, summary.Counts, errs.String())
	}
	return summary
}

// seedOfRuns is the seed of all runs, so that their trials are the same.
const seedOfRuns = "7"

// Disturb lets the steps of a plan befall the farm, and waits until the run that was
// enqueued is done and all faults are over. It takes patience at most.
func (f *Farm) Disturb(trials int, patience time.Duration, plan ...Step) {
	f.t.Helper()
	f.t.Logf("the plan: %s", list(plan))
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	var faults sync.WaitGroup
	next, begun := 0, time.Now()
	for {
		run, err := f.store.Run(ctx, f.run)
		counts, errOfCounts := f.store.Counts(ctx, f.run)
		if ctx.Err() != nil {
			f.t.Errorf("the run is %s with %d of %d results after %s", run.State, counts.Total(), trials, patience)
			break
		}
		if err == nil && run.State == eval.RunDone {
			break
		}
		for ; err == nil && errOfCounts == nil && next < len(plan) && counts.Total() >= int(plan[next].At*float64(trials)); next++ {
			step := plan[next]
			f.t.Logf("%5.1f s, %d results: %s", time.Since(begun).Seconds(), counts.Total(), step)
			faults.Go(func() {
				pass(ctx, step.After)
				if err := step.Fault.befall(ctx, f, step); err != nil {
					f.t.Errorf("%s: %v", step, err)
				}
			})
		}
		pass(ctx, 50*time.Millisecond)
	}
	f.t.Logf("%5.1f s: the run is done", time.Since(begun).Seconds())
	cancel()
	faults.Wait()
	if next < len(plan) {
		f.t.Errorf("these never happened: %s", list(plan[next:]))
	}
}

func freePort(tb testing.TB) string {
	tb.Helper()
	port, err := freeport.Hold(tb.Cleanup)
	if err != nil {
		tb.Fatal(err)
	}
	return port
}
