package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A watching turns what the farm tells into progress.
type watching struct {
	progress Progress
	snap     eval.Snapshot
	run      string // that is watched
	traces   eval.TraceURL
	quit     chan struct{}
	ticked   sync.WaitGroup
	unhook   func() bool // from the end of the command's context

	mu      sync.Mutex // guards the following fields
	order   *eval.Order
	total   int
	counts  eval.VerdictCounts
	running map[string]RunningTrial
	began   time.Time
	// doing has what trials do, by their ordinals; limits and spent are as in Status.
	doing  map[string]string
	limits [][]string
	spent  string
	waits  string
	paused time.Time
	// afar says that other processes carry the run out, so that the store alone tells
	// what runs.
	afar bool
}

// refresh is how often the panel is redrawn. Faster than a person reads is only
// flicker.
const refresh = 200 * time.Millisecond

// shownSlowest is how many running trials are told: as many as a tall terminal shows.
const shownSlowest = 100

// newProgress chooses how to show progress.
func (c *command) newProgress(f *showing) (Progress, error) {
	p, err := NewProgress(f.progress, ProgressEnv{
		Stderr: c.env.Stderr, TTY: c.env.StderrTTY, Width: c.env.Width(), Lookup: c.env.Lookup,
		Color: c.colored(c.env.StderrTTY), Quiet: f.quiet,
	})
	if err != nil {
		return nil, usage("", "%s", err)
	}
	return p, nil
}

// watchOver begins to show the progress of a run whose jobs a queue carries. note is
// shown when ctx ends.
func (c *command) watchOver(ctx context.Context, f *showing, queue, note string, s reader, run eval.Run) (*watching, error) {
	p, err := c.newProgress(f)
	if err != nil {
		return nil, err
	}
	w := &watching{progress: p, traces: c.traces, quit: make(chan struct{}), total: run.Trials, running: map[string]RunningTrial{}, began: time.Now()}
	if err := blob.LoadJSON(ctx, s, run.Header, &w.snap); err != nil {
		return nil, err
	}
	of := cmp.Or(run.Parent, run.ID)
	if w.counts, err = s.Counts(ctx, of); err != nil {
		return nil, err
	}
	w.order, w.run = eval.NewOrder(w.snap.Plan), of
	cases := map[int]bool{}
	for _, cell := range w.snap.Plan.Cells {
		cases[cell.Case] = true
	}
	p.Start(RunInfo{Run: of, Suite: run.Suite, Queue: queue, Cases: len(cases), Variants: len(w.snap.Variants), Trials: run.Trials})
	restore := p.Stop
	c.restore.Store(&restore)
	w.ticked.Go(w.tick)
	w.ticked.Go(func() { w.look(ctx, s, of) })
	w.unhook = context.AfterFunc(ctx, func() { p.Note(note) })
	return w, nil
}

func (w *watching) observer() app.Observer {
	return app.Observer{
		Began: func(uid string, t eval.Trial) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.running[uid] = RunningTrial{Case: t.Case.ID, Variant: t.Variant.ID, Repeat: t.Repeat, Since: time.Now()}
		},
		Ended: func(uid string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.running, uid)
		},
		Stored: w.stored,
	}
}

func (w *watching) stored(st store.Stored) {
	if !st.Final || st.Run != w.run && st.Parent != w.run {
		return // what confirms the run is not among its trials
	}
	w.mu.Lock()
	if st.Was != "" {
		w.counts.Add(st.Was, -1)
	}
	w.counts.Add(st.Result.Verdict, 1)
	cell, repeat, err := w.order.At(st.Ordinal)
	w.mu.Unlock()
	if err != nil || st.Parent == "" && st.Result.AwaitsJudge() {
		return // it is told once it is judged
	}
	at := w.snap.Plan.Cells[cell]
	w.progress.Result(Finished{
		Case: w.snap.Cases[at.Case].ID, Variant: w.snap.Variants[at.Variant].ID, Repeat: repeat,
		Verdict: st.Result.Verdict, Reason: st.Result.Reason, Message: st.Result.Message,
		TraceURL: w.traces.Of(st.TraceID),
	})
}

func (w *watching) tick() {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
			w.progress.Tick(w.status())
		}
	}
}

// look reads once a second what the run is doing and what it has spent.
func (w *watching) look(ctx context.Context, s reader, run string) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
		}
		live, err := s.Live(ctx, run)
		if err != nil {
			continue // nobody has said anything yet
		}
		of, err := s.Run(ctx, run)
		if err != nil {
			continue
		}
		ledger, err := s.Ledger(ctx, run)
		if err != nil {
			continue
		}
		now := time.Now()
		says := map[string]string{}
		running := map[string]RunningTrial{}
		for _, a := range live.Running {
			name := trialName(a.Case, a.Variant, a.Repeat)
			says[name] = doing(a, now)
			running[name] = RunningTrial{Case: a.Case, Variant: a.Variant, Repeat: a.Repeat, Since: a.Since}
		}
		var limits [][]string
		var paused time.Time
		for _, l := range live.Limits {
			lines := []string{limitLine(l, now)}
			if h := history(l); h != "" {
				lines = append(lines, h)
			}
			limits = append(limits, lines)
			if l.PausedUntil.After(now) && l.PausedUntil.After(paused) {
				paused = l.PausedUntil
			}
		}
		w.mu.Lock()
		w.doing, w.limits, w.paused, w.waits = says, limits, paused, waits(live)
		w.planned(of)
		if w.afar {
			w.running = running
		}
		w.spent = spending(eval.Run{Budget: of.Budget, State: eval.RunDone}, ledger)
		w.mu.Unlock()
	}
}

// planned follows how many trials the run has: fewer, once it is decided. The caller
// holds the mutex.
func (w *watching) planned(of eval.Run) { w.total = min(w.total, of.Trials) }

func (w *watching) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	slowest := slices.SortedFunc(maps.Values(w.running), func(a, b RunningTrial) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Case, b.Case))
	})
	slowest = slowest[:min(len(slowest), shownSlowest)]
	for i, t := range slowest {
		slowest[i].Doing = w.doing[trialName(t.Case, t.Variant, t.Repeat)]
	}
	done := w.counts.Total()
	return Status{
		Done: done, Total: w.total, Running: len(w.running), Queued: max(0, w.total-done-len(w.running)),
		Counts: w.counts, Elapsed: time.Since(w.began), Slowest: slowest, Limits: w.limits, Spent: w.spent, Waits: w.waits, Paused: w.paused,
	}
}

func (w *watching) done() int { return w.status().Done }

// ended tells what the run came to, before the progress stops.
func (w *watching) ended(s eval.Summary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total = min(w.total, s.Trials)
}

func (w *watching) stop() {
	w.unhook()
	close(w.quit)
	w.ticked.Wait()
	w.progress.Tick(w.status())
	w.progress.Stop()
}
