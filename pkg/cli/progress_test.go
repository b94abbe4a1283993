package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares with a file under testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "progress", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func TestNewProgress(t *testing.T) {
	tty, err := os.Open(os.DevNull) // A file, as a terminal is.
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	type env = map[string]string
	for _, test := range []struct {
		name string
		mode string
		env  ProgressEnv
		want string
	}{
		{"a terminal gets the panel", "auto", ProgressEnv{Stderr: tty, TTY: true}, "*cli.ttyProgress"},
		{"auto is the default", "", ProgressEnv{Stderr: tty, TTY: true}, "*cli.ttyProgress"},
		{"a pipe gets lines", "auto", ProgressEnv{Stderr: tty}, "*cli.plainProgress"},
		{"a dumb terminal gets lines", "auto", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"TERM": "dumb"})}, "*cli.plainProgress"},
		{"CI gets lines", "auto", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"CI": "true"})}, "*cli.plainProgress"},
		{"CI=false is no CI", "auto", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"CI": "false"})}, "*cli.ttyProgress"},
		{"Jenkins gets lines", "auto", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"JENKINS_URL": "http://ci"})}, "*cli.plainProgress"},
		{"a writer that is no file gets lines", "auto", ProgressEnv{Stderr: &bytes.Buffer{}, TTY: true}, "*cli.plainProgress"},
		{"quiet", "auto", ProgressEnv{Stderr: tty, TTY: true, Quiet: true}, "cli.noProgress"},
		{"plain beats a terminal", "plain", ProgressEnv{Stderr: tty, TTY: true}, "*cli.plainProgress"},
		{"plain beats quiet", "plain", ProgressEnv{Stderr: tty, Quiet: true}, "*cli.plainProgress"},
		{"none", "none", ProgressEnv{Stderr: tty, TTY: true}, "cli.noProgress"},
		{"tty beats CI", "tty", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"CI": "true"})}, "*cli.ttyProgress"},
		{"tty needs a terminal", "tty", ProgressEnv{Stderr: tty}, "--progress=tty: standard error is not a terminal; use plain or auto"},
		{"tty needs a cursor", "tty", ProgressEnv{Stderr: tty, TTY: true, Lookup: lookupIn(env{"TERM": "dumb"})}, "--progress=tty: TERM=dumb cannot move the cursor; use plain or auto"},
		{"unknown", "fancy", ProgressEnv{Stderr: tty}, "--progress=fancy: want auto, tty, plain or none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := NewProgress(test.mode, test.env)
			got := fmt.Sprintf("%T", p)
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestNoProgressIsSilent(t *testing.T) {
	var out bytes.Buffer
	p, err := NewProgress("none", ProgressEnv{Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	story(p, &clock{})
	if out.Len() > 0 {
		t.Errorf("got %q, want nothing", out.String())
	}
}

// A clock stands still until it is moved.
type clock struct{ since time.Duration }

func (c *clock) Now() time.Time {
	return time.Date(2026, 11, 30, 2, 0, 31, 0, time.UTC).Add(c.since)
}

// story tells a renderer of a short run with one of everything.
func story(p Progress, c *clock) {
	var s Status
	at := func(second, done int) {
		c.since = time.Duration(second) * time.Second
		s.Elapsed, s.Done = c.since, done
		s.Running = min(4, s.Total-done)
		s.Queued = s.Total - done - s.Running
		s.Counts.Pass = done - s.Counts.Fail - s.Counts.Error - s.Counts.Unjudged - s.Counts.Unfinished
		p.Tick(s)
	}
	s.Total = 400
	p.Start(RunInfo{Run: "r-20261130-ABC234", Suite: "nightly", Queue: "embedded", Cases: 80, Variants: 2, Trials: 400})
	at(0, 0)
	p.Result(Finished{Case: "order/shipped", Variant: "model=fast", Repeat: 1, Verdict: eval.Pass})
	at(4, 30) // Seven percent, but too soon for a line.
	s.Counts.Fail++
	p.Result(Finished{Case: "github/triage-0042", Variant: "loading=eager,model=fast", Repeat: 2, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "state: got \"open\",\n\twant \"closed\""})
	at(6, 40)
	at(20, 50)
	at(29, 59)
	at(37, 59) // Less than five percent, but half a minute.
	s.Counts.Error++
	p.Result(Finished{Case: "fs/write", Variant: "default", Repeat: 4, Verdict: eval.Error, Reason: eval.ReasonStartFailed, Message: "exec: \"node\": not found"})
	p.Note("stopping: 4 trials finishing, Ctrl-C again to abandon")
	s.Counts.Unjudged++
	p.Result(Finished{Case: "essay", Variant: "default", Repeat: 1, Verdict: eval.Unjudged, Message: "the judge refused"})
	s.Counts.Unfinished++
	p.Result(Finished{Case: "late", Variant: "default", Repeat: 1, Verdict: eval.Unfinished, Reason: eval.ReasonCancelled})
	at(532, 400)
	p.Stop()
	p.Stop()
	p.Note("continue: evalfarm resume r-20261130-ABC234")
}

func TestPlain(t *testing.T) {
	for _, test := range []struct {
		name string
		file string
		env  map[string]string
		tint bool
	}{
		{name: "plain", file: "plain.txt"},
		{name: "coloured", file: "plain-color.txt", tint: true},
		{name: "on GitHub Actions", file: "plain-github.txt", env: map[string]string{"GITHUB_ACTIONS": "true"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			var c clock
			p, err := NewProgress("plain", ProgressEnv{Stderr: &out, Lookup: lookupIn(test.env), Now: c.Now, Color: test.tint})
			if err != nil {
				t.Fatal(err)
			}
			story(p, &c)
			golden(t, test.file, out.String())
		})
	}
}

// While a limit pauses everything, its end is told, and no other.
func TestPlainPaused(t *testing.T) {
	var out bytes.Buffer
	var c clock
	p, err := NewProgress("plain", ProgressEnv{Stderr: &out, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	p.Start(RunInfo{Run: "r-1", Suite: "s", Cases: 1, Variants: 1, Trials: 10})
	p.Tick(Status{Total: 10})
	c.since = 30 * time.Second
	p.Tick(Status{Done: 5, Total: 10, Elapsed: c.since, Paused: c.Now().Add(2 * time.Minute), Waits: "waits for $0.06 that other runs hold of the day"})
	want := fmt.Sprintf("0 running  a limit pauses until %s (in 2m00s)  waits for $0.06 that other runs hold of the day\n", c.Now().Add(2*time.Minute).Local().Format(time.TimeOnly))
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
}

func TestPlainResumed(t *testing.T) {
	var out bytes.Buffer
	var c clock
	p, err := NewProgress("plain", ProgressEnv{Stderr: &out, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	p.Start(RunInfo{Run: "r-1", Suite: "s", Cases: 1, Variants: 1, Trials: 1000})
	p.Tick(Status{Done: 900, Total: 1000})
	c.since = 30 * time.Second
	p.Tick(Status{Done: 950, Total: 1000, Elapsed: c.since})
	if got, want := out.String(), "eta 30s\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q: the 900 trials of before took no time now", got, want)
	}
}

func TestAnnotations(t *testing.T) {
	for _, test := range []struct {
		name string
		in   Finished
		want string
	}{
		{
			"a failure",
			Finished{Case: "order/shipped", Variant: "default", Repeat: 1, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "got 1, want 2"},
			"::error title=fail%3A order/shipped #1::mismatch: got 1, want 2",
		},
		{
			"separators in the title",
			Finished{Case: "a", Variant: "model=x,y=z", Repeat: 2, Verdict: eval.Error, Reason: eval.ReasonFarm},
			"::error title=error%3A a #2  model=x%2Cy=z::farm",
		},
		{
			"a message that would be a command of its own",
			Finished{Case: "a", Variant: "default", Repeat: 1, Verdict: eval.Fail, Message: "100%\r\n::add-mask::x ##[error]y"},
			"::error title=fail%3A a #1::100%25 ::add-mask::x ## [error]y",
		},
		{
			"a trace",
			Finished{Case: "a", Variant: "default", Repeat: 1, Verdict: eval.Fail, Message: "no", TraceURL: "https://h/t/4b?x=%2F"},
			"::error title=fail%3A a #1::no%0Ahttps://h/t/4b?x=%252F",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := annotation(test.in); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// An address is never cut: it would lead nowhere.
func TestPlainLinksToTraces(t *testing.T) {
	var out bytes.Buffer
	p, err := NewProgress("plain", ProgressEnv{Stderr: &out, Now: (&clock{}).Now})
	if err != nil {
		t.Fatal(err)
	}
	long := "https://h/" + strings.Repeat("a", 2*maxMessage)
	p.Result(Finished{Case: "a", Repeat: 1, Verdict: eval.Fail, Message: "no", TraceURL: long})
	if got, want := out.String(), "02:00:31  FAIL      a #1  no  "+long+"\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAnnotationsAreFew(t *testing.T) {
	var out bytes.Buffer
	p, err := NewProgress("plain", ProgressEnv{Stderr: &out, Lookup: lookupIn(map[string]string{"GITHUB_ACTIONS": "true"})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		p.Result(Finished{Case: "a", Repeat: i + 1, Verdict: eval.Fail, Message: "##[error]no"})
	}
	if got := strings.Count(out.String(), "\n::error "); got != 10 {
		t.Errorf("got %d annotations, want 10", got)
	}
	if got := strings.Count(out.String(), "  FAIL "); got != 25 {
		t.Errorf("got %d lines, want 25", got)
	}
	if strings.Contains(out.String(), "##[") {
		t.Errorf("got a workflow command that came from a message:\n%s", out.String())
	}
}

// Texts that servers have been seen to send, or could.
func TestHostileText(t *testing.T) {
	for i, text := range []string{
		"\x1b[2J\x1b[H\x1b]8;;http://evil\x07click\x1b]8;;\x07\x1b]52;c;ZXZpbA==\x07",
		"\u009b2J", "a\rb", "a\nb\n::error::forged", "\u202Eevil", "zero\u200bwidth", "nul\x00", "bad \xff\xfe utf-8",
		strings.Repeat("long ", 1_000_000), "",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			var out bytes.Buffer
			p, err := NewProgress("plain", ProgressEnv{Stderr: &out})
			if err != nil {
				t.Fatal(err)
			}
			p.Start(RunInfo{Run: text, Suite: text, Queue: text})
			p.Result(Finished{Case: text, Variant: text, Repeat: 1, Verdict: eval.Fail, Reason: eval.Reason(text), Message: text})
			p.Note(text)
			p.Stop()
			drawn := panel{status: Status{Running: 1, Slowest: []RunningTrial{{Case: text, Variant: text}}}}.view(80, 24, palette{})
			harmless(t, out.String(), 4)
			harmless(t, drawn+"\n", 3)
		})
	}
}

// harmless wants printable lines, so many and none of them endless.
func harmless(t *testing.T, s string, lines int) {
	t.Helper()
	if got := strings.Count(s, "\n"); got != lines {
		t.Errorf("got %d lines, want %d:\n%.2000q", got, lines, s)
	}
	for line := range strings.Lines(s) {
		line = strings.TrimSuffix(line, "\n")
		if len(line) > 8*maxMessage {
			t.Errorf("got a line of %d bytes", len(line))
		}
		for _, r := range line {
			if !unicode.IsPrint(r) {
				t.Errorf("got %U in %.200q, want printable text only", r, line)
			}
		}
	}
}

func TestPlainKeepsLinesWhole(t *testing.T) {
	var out bytes.Buffer
	p, err := NewProgress("plain", ProgressEnv{Stderr: &out})
	if err != nil {
		t.Fatal(err)
	}
	crowd(p)
	if got := strings.Count(out.String(), "\n"); got != 102 {
		t.Errorf("got %d lines, want 100 failures, the start and the end", got)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "FAIL") && !strings.HasSuffix(line, "  mismatch: no\n") {
			t.Errorf("got a torn line %q", line)
		}
	}
}

// crowd feeds a renderer from several goroutines: 100 failures among ticks.
func crowd(p Progress) {
	p.Start(RunInfo{Run: "r-1", Suite: "s", Cases: 100, Variants: 1, Trials: 100})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for j := range 25 {
				p.Result(Finished{Case: fmt.Sprintf("case-%d-%d", i, j), Repeat: 1, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: "no"})
				p.Tick(Status{Total: 1_000_000})
			}
		})
	}
	group.Wait()
	p.Stop()
}
