package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// A heartbeat line is printed when one of these is reached: some time, since
// silence looks like a hang and some build servers end a silent job; or some
// percents, but not so often that a short run floods its log.
const (
	heartbeatEvery   = 30 * time.Second
	heartbeatPercent = 5
	heartbeatAtMost  = 5 * time.Second
)

// plainProgress prints one line per event that a log should keep.
type plainProgress struct {
	env   ProgressEnv
	paint palette
	// annotate is true in a job of GitHub Actions.
	annotate bool

	mu      sync.Mutex // guards what follows and keeps lines whole
	pace    pace
	last    Status
	beat    time.Time // of the last heartbeat, or of the start
	beatAt  int       // percent
	notes   int       // annotations written
	running bool
}

func newPlainProgress(env ProgressEnv) *plainProgress {
	return &plainProgress{env: env, paint: newPalette(env.Color), annotate: env.on("GITHUB_ACTIONS")}
}

func (p *plainProgress) Start(r RunInfo) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running, p.beat = true, p.env.Now()
	p.last = Status{Total: r.Trials}
	p.line("start", strings.Join(append([]string{clean(r.Run), "suite " + clean(r.Suite)}, sizes(r)...), "  "))
}

func (p *plainProgress) Result(f Finished) {
	if !notable(f.Verdict) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	word := p.paint.verdict(f.Verdict, fmt.Sprintf("%-8s", strings.ToUpper(string(f.Verdict))))
	text := trialName(f.Case, f.Variant, f.Repeat) + "  " + explain(f)
	if f.TraceURL != "" {
		text += "  " + address(f.TraceURL)
	}
	p.line(word, text)
	if p.annotate && p.notes < maxAnnotations {
		p.notes++
		fmt.Fprintln(p.env.Stderr, annotation(f))
	}
}

func (p *plainProgress) Tick(s Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = s
	eta, known := p.pace.eta(s)
	now, at := p.env.Now(), percent(s.Done, s.Total)
	since := now.Sub(p.beat)
	due := since >= heartbeatEvery || since >= heartbeatAtMost && at >= p.beatAt+heartbeatPercent
	if !due || s.Done >= s.Total { // The end has a line of its own.
		return
	}
	p.beat, p.beatAt = now, at
	text := fmt.Sprintf("%s  %s  %d running", p.tally(), p.counts(), s.Running)
	if known {
		text += "  eta " + short(eta)
	}
	if !s.Paused.IsZero() {
		text += "  a limit pauses" + strings.TrimPrefix(until(s.Paused, now), ",")
	}
	if s.Waits != "" {
		text += "  " + s.Waits
	}
	p.line(fmt.Sprintf("%d %%", at), text)
}

func (p *plainProgress) Note(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("note", clean(s))
}

func (p *plainProgress) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running {
		return
	}
	p.running = false
	p.line("end", fmt.Sprintf("%s  %s  in %s", p.tally(), p.counts(), short(p.last.Elapsed)))
}

// tally says how many trials are done, in a column of one width.
func (p *plainProgress) tally() string {
	total := fmt.Sprint(p.last.Total)
	return fmt.Sprintf("%*d/%s", len(total), p.last.Done, total)
}

func (p *plainProgress) counts() string {
	var parts []string
	for _, v := range shown(p.last.Counts) {
		parts = append(parts, fmt.Sprintf("%s %d", v, p.last.Counts.Of(v)))
	}
	return strings.Join(parts, "  ")
}

func (p *plainProgress) line(word, text string) {
	if p.annotate {
		text = defuse(text)
	}
	fmt.Fprintf(p.env.Stderr, "%s  %-8s  %s\n", p.env.Now().Format(time.TimeOnly), word, text)
}
