package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/enginetest"
	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/pkg/cli"
)

// TestMain makes this binary the evalfarm command when it runs under that name,
// which is how tests start, signal and kill real processes of it, and how those
// start their servers and guards.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "docker" {
		enginetest.Main()
	}
	self, err := os.Executable()
	if err == nil && filepath.Base(self) == commandtest.Name {
		commandtest.Exit(cli.Main(cli.World()))
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		// Else a command that reached us under another name would run the tests,
		// which start commands, without end.
		panic("the test binary was started as a command: " + strings.Join(os.Args, " "))
	}
	testscript.Main(m, map[string]func(){
		"evalfarm": func() { commandtest.Exit(cli.Main(cli.World())) },
	})
}

// TestScripts runs the transcripts of testdata/script: each is a session at the
// command line, with a real farm and real server processes.
func TestScripts(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("SUITES", filepath.Join(root, "suites"))
			e.Setenv("GOLDEN", filepath.Join(root, "internal/demo/testdata/golden"))
			e.Setenv("EVALFARM_HOME", filepath.Join(e.WorkDir, "home"))
			port, err := freeport.Hold(e.Defer)
			e.Setenv("PORT", port)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"alike":    alike,
			"ask":      ask,
			"engine":   engine,
			"exits":    wantExit,
			"receive":  receive,
			"waitport": waitPort,
		},
	})
}

// wantExit runs a command and wants its exit code: "exits CODE COMMAND…".
func wantExit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENT...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// waitPort waits until something listens on $PORT.
func waitPort(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: waitport")
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+ts.Getenv("PORT"))
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("nothing listens: %v", err)
		}
	}
}

// A shop is a place to run the command in: a folder and a state of its own.
type shop struct {
	t    testing.TB
	dir  string
	self string // the command
	env  []string
}

func newShop(tb testing.TB) *shop {
	tb.Helper()
	dir := tb.TempDir()
	return &shop{t: tb, dir: dir, self: commandtest.Link(tb), env: []string{
		"EVALFARM_HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "HOME=" + dir,
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR"), "EVALFARM_TOKEN=a token for tests",
	}}
}

func (s *shop) file(name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

func (s *shop) command(args ...string) *exec.Cmd {
	s.t.Helper()
	cmd := exec.Command(s.self, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// shell runs a line of shell, with the command on PATH.
func (s *shop) shell(line string) (string, error) {
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(s.env, "PATH="+filepath.Dir(s.self)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run runs a command to its end and gives what it printed and its exit code.
func (s *shop) run(args ...string) (stdout string, code int) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		s.t.Fatalf("evalfarm %s: %v", strings.Join(args, " "), err)
	}
	if errs.Len() > 0 {
		s.t.Logf("evalfarm %s: exit %d\n%s", strings.Join(args, " "), code, errs.String())
	}
	return out.String(), code
}

// json runs a command that prints a JSON document, and wants an exit code.
func (s *shop) json(into any, want int, args ...string) {
	s.t.Helper()
	out, code := s.run(args...)
	if code != want {
		s.t.Fatalf("evalfarm %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("evalfarm %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// start starts a command in the background. It is killed with the test.
func (s *shop) start(args ...string) *process {
	s.t.Helper()
	p := &process{t: s.t, cmd: s.command(args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { p.err = p.cmd.Wait(); close(p.done) }()
	s.t.Cleanup(p.kill)
	return p
}

// A process is a command in the background.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	out  buffer
	errs buffer
	done chan struct{}
	err  error
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// wait waits for the end and gives the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(3 * time.Minute):
		p.t.Fatalf("%v does not end\n%s", p.cmd.Args[1:], p.errs.String())
		return 0
	}
}

// eventually waits for a condition; its deadline only bounds a failing test.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("never happened: %s", what)
		}
	}
}

// left lists the processes whose working directory is the shop's, which those of
// its servers are.
func (s *shop) left() []string {
	var found []string
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if dir, err := os.Readlink(link); err == nil && dir == s.dir {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			found = append(found, filepath.Base(filepath.Dir(link))+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
