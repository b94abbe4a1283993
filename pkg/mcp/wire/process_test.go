package wire_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/mcp/wire"
)

// shell starts a process that runs a script.
func shell(t *testing.T, script string, edit func(*wire.Command)) *wire.Process {
	t.Helper()
	c := wire.Command{Args: []string{"/bin/sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Dir: t.TempDir()}
	if edit != nil {
		edit(&c)
	}
	p, err := wire.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(50 * time.Millisecond) })
	return p
}

// ended waits for a process that ends by itself.
func ended(t *testing.T, p *wire.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(time.Minute):
		t.Fatal("the process did not end in 20 s")
	}
}

// lines reads all of a process's messages.
func lines(t *testing.T, p *wire.Process) []string {
	t.Helper()
	var got []string
	in := bufio.NewScanner(p.Stdout())
	in.Buffer(nil, 1<<24)
	for in.Scan() {
		got = append(got, in.Text())
	}
	return got
}

const note = `{"jsonrpc":"2.0","method":"n"}`

func TestProcessLines(t *testing.T) {
	tests := []struct {
		name, script string
		lines        []string
		noise        []string
		exit         string
	}{
		{"messages", `echo '` + note + `'; echo '` + note + `'`, []string{note, note}, nil, "exit status 0"},
		{"noise", `echo hello; echo; echo '` + note + `'; echo '{}'; exit 3`, []string{note}, []string{"hello", "{}"}, "exit status 3"},
		{"line breaks of another system", `printf '` + note + `\r\n'`, []string{note}, nil, "exit status 0"},
		{"half a line", `echo '` + note + `'; printf '{"jsonrpc":"2.0","id":1,"re'; kill -9 $$`, []string{note}, []string{`{"jsonrpc":"2.0","id":1,"re`}, "signal: killed"},
		{"a whole message without its line break", `printf '` + note + `'`, nil, []string{note}, "exit status 0"},
		{"nothing", `:`, nil, nil, "exit status 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := shell(t, tt.script, nil)
			got := lines(t, p)
			ended(t, p)
			if diff := cmp.Diff(tt.lines, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			noise, count := p.Noise()
			if diff := cmp.Diff(tt.noise, noise); diff != "" || count != len(tt.noise) {
				t.Errorf("noise of %d (-want +got):\n%s", count, diff)
			}
			if p.Exit() != tt.exit || p.Err() != nil {
				t.Errorf("got exit %q, %v, want %q", p.Exit(), p.Err(), tt.exit)
			}
		})
	}
}

func TestProcessNoiseIsBounded(t *testing.T) {
	p := shell(t, `i=0; while [ $i -lt 200 ]; do echo $i; i=$((i+1)); done; head -c 100000 /dev/zero | tr '\0' x; echo`, nil)
	lines(t, p)
	ended(t, p)
	if noise, count := p.Noise(); len(noise) != 50 || count != 201 {
		t.Errorf("got %d lines of %d, want 50 of 201", len(noise), count)
	}
}

func TestProcessOversize(t *testing.T) {
	const message = `{"jsonrpc":"2.0","method":"%s"}`
	fits := fmt.Sprintf(message, strings.Repeat("x", 100))
	tests := []struct {
		name  string
		limit int
		want  error
	}{
		{"fits", len(fits) + 1, nil}, // and its line break
		{"one byte over", len(fits), wire.ErrOversize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := shell(t, `echo '`+fits+`'; exec cat`, func(c *wire.Command) { c.FrameLimit = tt.limit })
			if tt.want == nil {
				_ = p.Stdin().Close()
			}
			got := lines(t, p)
			ended(t, p)
			if !errors.Is(p.Err(), tt.want) || tt.want == nil && len(got) != 1 {
				t.Errorf("got %d messages, %v, want %v", len(got), p.Err(), tt.want)
			}
			if tt.want != nil && p.Exit() != "" {
				t.Errorf("got exit %q, want none: we killed it", p.Exit())
			}
		})
	}
}

// TestProcessInheritsNothing: an empty environment is an empty environment.
func TestProcessInheritsNothing(t *testing.T) {
	t.Setenv("WIRE_TEST_SECRET", "s")
	p := shell(t, `/usr/bin/env`, func(c *wire.Command) { c.Env = nil })
	lines(t, p)
	ended(t, p)
	noise, _ := p.Noise()
	for _, line := range noise {
		if name, _, _ := strings.Cut(line, "="); name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" {
			t.Errorf("got %s in the environment, want only what the shell adds itself", line)
		}
	}
}

func TestProcessTap(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	p := shell(t, `read line; echo noise; echo '{"jsonrpc":"2.0","id":1,"result":{}}'; echo '`+note+`'`, func(c *wire.Command) {
		c.Tap = func(_ context.Context, m wire.Message) bool {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprintf("sent %t noise %t %s", m.Sent, m.Noise, m.Raw))
			return !m.Answer()
		}
	})
	if _, err := io.WriteString(p.Stdin(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	got := lines(t, p)
	ended(t, p)
	if diff := cmp.Diff([]string{note}, got); diff != "" {
		t.Errorf("what the tap lets pass (-want +got):\n%s", diff)
	}
	want := []string{
		`sent true noise false {"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`sent false noise true "noise"`,
		`sent false noise false {"jsonrpc":"2.0","id":1,"result":{}}`,
		`sent false noise false ` + note,
	}
	if diff := cmp.Diff(want, heard); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

// TestProcessStop: every rung of the ladder, and the group is gone after it. The
// script says its name, so that it is known to have set its traps.
func TestProcessStop(t *testing.T) {
	tests := []struct{ name, script, exit string }{
		{"goes when stdin closes", `echo ready >&2; read line; exit 4`, ""},
		{"goes at SIGTERM", `trap 'exit 5' TERM; echo ready >&2; while :; do sleep 0.01; done`, ""},
		{"must be killed", `trap '' TERM; echo ready >&2; while :; do sleep 0.01; done`, ""},
		{"leaves a child that holds stdout", `sleep 600 & echo ready >&2; read line`, ""},
		{"has gone before", `sleep 600 & echo ready >&2; exit 6`, "exit status 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := shell(t, `echo $$ >&2; `+tt.script, nil)
			go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }()
			for !strings.Contains(p.Stderr(), "ready") {
				<-time.After(time.Millisecond)
			}
			if tt.exit != "" {
				ended(t, p)
			}
			p.Stop(30 * time.Millisecond)
			p.Stop(30 * time.Millisecond)
			group, err := strconv.Atoi(strings.Fields(p.Stderr())[0])
			if err != nil {
				t.Fatal(err)
			}
			waitForNobody(t, group)
			if p.Exit() != tt.exit {
				t.Errorf("got exit %q, want %q", p.Exit(), tt.exit)
			}
		})
	}
}

// waitForNobody waits until a process group has no living member. Whoever was
// killed may still be a zombie until init reaps it.
func waitForNobody(t *testing.T, group int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		living := 0
		entries, err := os.ReadDir("/proc")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
			if err != nil {
				continue
			}
			_, after, _ := strings.Cut(string(stat), ") ")
			fields := strings.Fields(after)
			if len(fields) > 2 && fields[0] != "Z" && fields[2] == strconv.Itoa(group) {
				living++
			}
		}
		if living == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d living processes of group %d, want none", living, group)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// TestProcessEscaped: a child that leaves the group and holds the pipes open
// cannot keep Stop waiting, and dies too if the tree is marked.
func TestProcessEscaped(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	for _, owner := range []string{"", "escape-test"} {
		p := shell(t, `setsid sh -c 'echo $$ >&2; exec sleep 600' & read line`, func(c *wire.Command) { c.Owner = owner })
		go func() { _, _ = io.Copy(io.Discard, p.Stdout()) }()
		for !strings.Contains(p.Stderr(), "\n") {
			<-time.After(time.Millisecond)
		}
		p.Stop(50 * time.Millisecond)
		pid, err := strconv.Atoi(strings.TrimSpace(p.Stderr()))
		if err != nil {
			t.Fatal(err)
		}
		if owner != "" {
			waitForNobody(t, pid) // it leads a group of its own
		} else if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Errorf("got %v, want to find the escaped child", err)
		}
	}
}

func TestProcessStartFails(t *testing.T) {
	for name, c := range map[string]wire.Command{
		"no such command": {Args: []string{"/no/such/command"}},
		"no such folder":  {Args: []string{"/bin/sh"}, Dir: "/no/such/folder"},
		"no such guard":   {Args: []string{"/bin/sh"}, Guard: wire.NewGuard([]string{"/no/such/guard"})},
	} {
		if p, err := wire.Start(c); err == nil {
			p.Stop(0)
			t.Errorf("%s: got a process, want an error", name)
		}
	}
}

func TestRunGuard(t *testing.T) {
	victim := exec.Command("/bin/sleep", "600")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- wire.RunGuard(r, victim.Process.Pid) }()
	spared := exec.Command("/bin/sleep", "600")
	spared.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := spared.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = spared.Wait() }()
	defer func() { _ = spared.Process.Kill() }()
	if _, err := fmt.Fprintf(w, "+%d\n-%d\n", spared.Process.Pid, spared.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := victim.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("with a living owner got %v, want a living process", err)
	}
	_ = w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := victim.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("got %v, want signal: killed", err)
	}
	if err := spared.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("got %v, want a group that was taken out to live", err)
	}
	if err := wire.RunGuard(strings.NewReader(""), victim.Process.Pid); err != nil {
		t.Errorf("for a group that is gone got %v, want nil", err)
	}
	for _, group := range []int{-5, 0, 1} {
		if err := wire.RunGuard(strings.NewReader(""), group); err == nil {
			t.Errorf("got no error for group %d, want one", group)
		}
	}
	for _, line := range []string{"+1", "+0", "+-7", "++7", "x", "+7x", ""} {
		if err := wire.RunGuard(strings.NewReader(line+"\n"), victim.Process.Pid); err == nil {
			t.Errorf("got no error for the line %q, want one", line)
		}
	}
}
