package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A pty is a real terminal whose other end the test holds.
type pty struct {
	tty   *os.File
	other *os.File
	read  sync.WaitGroup
	out   bytes.Buffer
}

// openPTY makes a terminal of 24 lines.
func openPTY(t *testing.T, width uint16) *pty {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	fd := int(other.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	p := &pty{tty: tty, other: other}
	p.read.Go(func() { _, _ = io.Copy(&p.out, other) })
	return p
}

// screen closes the terminal and gives all that was written to it.
func (p *pty) screen() string {
	_ = p.tty.Close() // The other end then reads an error and ends.
	p.read.Wait()
	_ = p.other.Close()
	return p.out.String()
}

func (p *pty) progress(t *testing.T) Progress {
	t.Helper()
	progress, err := NewProgress("auto", ProgressEnv{Stderr: p.tty, TTY: true, Lookup: lookupIn(map[string]string{"TERM": "xterm-256color"})})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := progress.(*ttyProgress); !ok {
		t.Fatalf("got %T, want the panel", progress)
	}
	return progress
}

func TestTTY(t *testing.T) {
	defer goleak.VerifyNone(t)
	terminal := openPTY(t, 60)
	p := terminal.progress(t)
	before, err := unix.IoctlGetTermios(int(terminal.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	p.Start(RunInfo{Run: "r-1", Suite: "nightly", Cases: 2, Variants: 1, Trials: 40})
	p.Result(Finished{Case: "order/shipped", Repeat: 1, Verdict: eval.Fail, Reason: eval.ReasonMismatch, Message: strings.Repeat("much ", 50)})
	p.Result(Finished{Case: "order/passed", Repeat: 1, Verdict: eval.Pass})
	during, err := unix.IoctlGetTermios(int(terminal.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	p.Tick(Status{Done: 39, Total: 40, Running: 1})
	p.Note("a note")
	p.Stop()
	p.Stop()
	p.Note("continue: evalfarm resume r-1")
	got := terminal.screen()

	if *before != *during {
		t.Errorf("the terminal's settings changed, so that Ctrl-C may be no signal any more:\nbefore %+v\nduring %+v", before, during)
	}
	for _, want := range []string{"nightly  r-1  2 cases  40 trials", "0/40", "✗ order/shipped #1  mismatch: much much", "…", "a note", "continue: evalfarm resume r-1\r\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
	if strings.Contains(got, "order/passed") {
		t.Errorf("got a line for a trial that passed: %q", got)
	}
	if strings.Index(got, "0/40") > strings.Index(got, "✗ order/shipped") {
		t.Errorf("got a failure printed above a panel that was not drawn yet: %q", got)
	}
	for name, query := range map[string]string{
		"cursor position": "\x1b[6n", "device attributes": "\x1b[c", "mode": "$p", "keyboard": "\x1b[?u", "background": "\x1b]11;?",
		"alternate screen": "\x1b[?1049h", "bracketed paste": "\x1b[?2004h", "mouse": "\x1b[?1000h",
	} {
		if strings.Contains(got, query) {
			t.Errorf("got the sequence for %s in %q", name, got)
		}
	}
	end := got[strings.LastIndex(got, "a note"):]
	if !strings.Contains(end, "\x1b[J") || !strings.Contains(end, "\x1b[?25h") {
		t.Errorf("got %q at the end, want the panel erased and the cursor shown", end)
	}
}

func TestTTYStoppedWithoutStart(t *testing.T) {
	defer goleak.VerifyNone(t)
	terminal := openPTY(t, 60)
	p := terminal.progress(t)
	p.Tick(Status{Total: 1})
	p.Stop()
	p.Note("nothing ran")
	if got, want := terminal.screen(), "nothing ran\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTTYInACrowd(t *testing.T) {
	defer goleak.VerifyNone(t)
	terminal := openPTY(t, 80)
	crowd(terminal.progress(t))
	if got := strings.Count(terminal.screen(), "  mismatch: no"); got != 100 {
		t.Errorf("got %d failures printed, want 100", got)
	}
}

// A terminal that goes away must not stop the run.
func TestTTYGone(t *testing.T) {
	defer goleak.VerifyNone(t)
	terminal := openPTY(t, 80)
	p := terminal.progress(t)
	p.Start(RunInfo{Run: "r-1", Suite: "s", Cases: 1, Variants: 1, Trials: 1})
	terminal.screen()
	for range 100 {
		p.Result(Finished{Case: "a", Repeat: 1, Verdict: eval.Fail})
		p.Tick(Status{Total: 1})
	}
	p.Stop()
}
